"""What the web page costs: first paint of a session of 10,000 messages to one of 10. A ratio.

.venv/bin/python bench/serve_page.py [--json]
"""

import json
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Page, sync_playwright  # noqa: E402

from tests.coding.export.chromium import program  # noqa: E402
from tests.e2e.program import Program  # noqa: E402
from tests.modes.serve.page.page_site import Site, long_session  # noqa: E402
from tests.support.fake_server import FakeServer  # noqa: E402

TIMES = 5
SHOWN = """() => new Promise((resolve) => {
  const shown = () => requestAnimationFrame(() => resolve(performance.now()));
  const look = () => (document.querySelector('.item .assistant') ? shown() : setTimeout(look));
  look();
})"""


def main() -> None:
    found = program()
    assert found is not None, "Chromium is not installed"
    with tempfile.TemporaryDirectory() as folder, FakeServer() as server, sync_playwright() as playwright:
        os.environ["TAU_HOME"] = f"{folder}/home"
        site = Site(Program(server, Path(folder)), Path(folder))
        try:
            page = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"]).new_page()
            page.goto(site.address)
            page.wait_for_selector("#new-session")
            sessions = {pairs: long_session(site, pairs) for pairs in (5, 5_000)}
            paints = {
                pairs: [_paint_ms(page, site, id) for _ in range(TIMES)] for pairs, id in sessions.items()
            }
            elements = page.evaluate("document.querySelectorAll('*').length")
        finally:
            site.close()
    results = {
        "first paint of 10,000 messages to 10 (1.5)": min(paints[5_000]) / min(paints[5]),
        "the same, first time it is opened": paints[5_000][0] / paints[5][0],
        "elements in the page": elements,
    }
    if "--json" in sys.argv:
        print(json.dumps(results, indent=2))
        return
    for name, value in results.items():
        print(f"{name:48} {value:9.2f}")


def _paint_ms(page: Page, site: Site, session: str) -> float:
    page.goto("about:blank")
    page.goto(f"{site.base}/#/s/{session}")
    shown: float = page.evaluate(SHOWN)
    return shown


if __name__ == "__main__":
    main()
