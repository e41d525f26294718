"""Makes the pictures of docs/export.md: a session and some usage, as pages, by day and by night.

Needs Chromium: `python tools/screenshots.py [FOLDER]`; without a folder, docs/images is written.
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tau.coding.export.files import exported  # noqa: E402
from tau.coding.export.secrets import Masker  # noqa: E402
from tau.coding.usage.chart import chart_page  # noqa: E402
from tests.coding.export.chromium import browser, program  # noqa: E402
from tests.coding.export.sample import sample_session, sample_usage  # noqa: E402

SIZES = {"": (1280, 1000), "-phone": (390, 844)}


def main() -> int:
    if program() is None:
        print("Chromium is not there; apt-get install chromium brings it.")
        return 1
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        log = sample_session(place)
        pages = {
            "export": b"".join(exported(log, "html", Masker())),
            "stats": "".join(chart_page(sample_usage())).encode(),
        }
        log.close()
        with browser(place) as page:
            for title, content in pages.items():
                file = place / f"{title}.html"
                file.write_bytes(content)
                for suffix, (width, height) in SIZES.items():
                    if suffix and len(sys.argv) == 1:
                        continue
                    for dark in (False, True):
                        page.look(width=width, height=height, dark=dark)
                        page.open(file.as_uri())
                        page.screenshot(folder / f"{title}{suffix}-{'dark' if dark else 'light'}.png")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
