"""No page in the browser reaches a private address that the user has not allowed."""

import json
from pathlib import Path

import pytest

from tests.backends.browser.browser_rig import browse, needs_chromium, open_page, run
from tests.backends.web.pages_server import PagesServer
from tests.backends.web.test_addresses import LOOPBACK
from tests.support.soak import part

pytestmark = needs_chromium

TRY = """import asyncio
addresses = {addresses}
await page.set_content('<p>')
await tab.evaluate('''async list => {{
  const waits = [];
  for (const address of list) {{
    const frame = document.createElement('iframe');
    frame.src = `http://${{address}}/frame`;
    document.body.append(frame);
    waits.push(fetch(`http://${{address}}/fetch`, {{mode: 'no-cors'}}).catch(() => 0));
    waits.push(new Promise(done => {{
      try {{ const s = new WebSocket(`ws://${{address}}/socket`); s.onopen = s.onerror = s.onclose = done; }}
      catch (error) {{ done(); }}
    }}));
    try {{ navigator.sendBeacon(`http://${{address}}/beacon`, 'x'); }} catch (error) {{}}
  }}
  await Promise.race([Promise.all(waits), new Promise(done => setTimeout(done, 4000))]);
}}''', addresses)
for address in addresses:
    try:
        await page.goto(f'http://{{address}}/page', timeout=1000)
    except Exception:
        pass
return 'tried'"""


@pytest.mark.parametrize("mode", ["auto", "off"])
def test_no_spelling_of_a_private_address_is_reached(mode: str, tmp_path: Path) -> None:
    with PagesServer({}) as private, PagesServer({}) as allowed:
        there = f"http://127.0.0.1:{private.port}/redirected"
        allowed.pages["/"] = "<title>Start</title>"
        for status in (301, 302, 303, 307, 308):
            allowed.pages[f"/{status}"] = (status, {"location": there}, "")
        allowed.pages["/meta"] = f'<meta http-equiv="refresh" content="0;url={there}"><title>Meta</title>'
        allowed.pages["/frame"] = f'<iframe src="{there}"></iframe><script src="{there}"></script>'
        paths = [*(f"/{status}" for status in (301, 302, 303, 307, 308)), "/meta", "/frame"]
        follow = "\n".join(
            f"try:\n    await page.goto({allowed.url + path!r}, timeout=2000)\nexcept Exception:\n    pass"
            for path in paths
        )
        hosts = part(LOOPBACK, 0, 8) if mode == "off" else LOOPBACK[::16]
        addresses = json.dumps([f"{host}:{private.port}" for host in hosts])
        opened, tried, followed, at, direct = browse(
            tmp_path,
            [
                open_page(allowed.url),
                run(TRY.format(addresses=addresses), timeout=120),
                run(follow + "\nawait wait(200)"),
                open_page(allowed.url),
                open_page(private.url),
            ],
            {
                "sandbox.mode": mode,
                "fetch.allowPrivate": [f"127.0.0.1:{allowed.port}"],
                "tools.approvalMode": "yolo",
            },
        )
    assert "Title: Start" in opened.text and "Title: Start" in at.text
    assert tried.text.startswith("tried"), tried.text
    assert not followed.is_error
    assert direct.is_error and "fetch.allowPrivate" in direct.text
    assert {request[1] for request in allowed.requests} >= set(paths)
    assert private.requests == []
