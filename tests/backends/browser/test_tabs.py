"""browser: tabs by name, what ends them, and what a call refuses, with a real Chromium."""

from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tau.ai.faux import Use
from tests.backends.browser.browser_rig import browse, needs_chromium, open_page, run
from tests.backends.web.pages_server import PagesServer

pytestmark = needs_chromium

STUBBORN = (
    "import time\nwhile True:\n    try:\n        time.sleep(9)\n    except BaseException:\n        pass"
)
PAGE = "data:text/html,<title>One</title><h1>One</h1>"
CONFIRM = "data:text/html,<script>document.title = confirm('Sure?')</script>"
DOWNLOAD = """await page.set_content('<a download="a.csv" href="data:text/csv,1,2">get</a>')
async with page.expect_download():
    await tab.click('text/get')"""


def close(**more: object) -> Use:
    return Use("browser", action="close", **more)


def test_tabs_are_reused_and_changed_and_closed(tmp_path: Path) -> None:
    first, again, sized, shot, confirm, told, done, missing, dead = browse(
        tmp_path,
        [
            open_page(PAGE),
            open_page(),
            open_page(viewport={"width": 400, "height": 300, "scale": 2}),
            run("await tab.screenshot(save='shots/one.png')\nawait tab.screenshot({'silent': True})"),
            open_page(CONFIRM, dialogs="accept"),
            run("return await tab.title(), await tab.console()"),
            close(),
            close(name="other"),
            run("1"),
        ],
    )
    assert first.text.startswith('Opened tab "main" in a headless browser\nURL: data:text/html')
    assert first.details.viewport == {"width": 1365, "height": 768, "scale": 1.25}
    assert "Title: One" in first.text and "Chromium's own sandbox is off" in first.text
    assert again.text.startswith('Reused tab "main"') and "Title: One" in again.text
    assert "Title: One" in sized.text  # another pixel ratio makes a new tab of the same page
    assert sized.details.viewport == {"width": 400, "height": 300, "scale": 2}
    picture = tmp_path / "shots" / "one.png"
    saved, kept = shot.details.screenshots
    assert (saved.dest, saved.width, saved.height) == (str(picture), 800, 600)
    assert picture.stat().st_size == saved.bytes and len(shot.images) == 1
    assert (
        Path(kept.dest).name.endswith(".browser.png")
        and shot.text == f"Screenshot 800x600, saved to {picture}"
    )
    assert confirm.text.startswith('Opened tab "main"')  # another policy for dialogs makes a new tab
    assert '"true"' in told.text and "confirm: Sure?" in told.text
    assert done.text == 'Closed tab "main"' and missing.text == 'No tab named "other"'
    assert dead.is_error and dead.text == 'Tab "main" is not alive. Reopen it.'


def test_a_hung_tab_is_ended_and_another_continues(tmp_path: Path) -> None:
    results = browse(
        tmp_path,
        [
            open_page(PAGE),
            open_page(PAGE, name="other"),
            open_page(name="third"),
            run("while True: pass", timeout=1),
            run("await tab.title()"),
            run(STUBBORN, timeout=1),
            run("1"),
            run("await tab.title()", name="other"),
            run("await page.goto('chrome://crash')", name="other", timeout=3),
            open_page(PAGE, name="other"),
            run("import os\nos._exit(3)", name="other"),
            close(all=True),
        ],
        {"browser.maxTabs": 2},
    )
    texts = [result.text for result in results[2:]]
    assert texts[0] == "2 tabs are open, which is the limit (browser.maxTabs); close one first."
    assert texts[1] == "Browser code execution timed out after 1000ms"
    assert texts[2] == "One"
    assert texts[3] == "Browser code execution hung past grace; tab killed"
    assert texts[4] == 'Tab "main" is not alive. Reopen it.'
    assert texts[5] == "One"
    assert "crash" in texts[6].lower()
    assert texts[7].startswith('Reused tab "other"') and "Title: One" in texts[7]
    assert texts[8] == 'The process of tab "other" ended: it exited with code 3. Reopen it.'
    assert texts[9] == "No tabs are open."


def test_files_of_a_page_become_artifacts(tmp_path: Path) -> None:
    _, download, printed = browse(
        tmp_path,
        [open_page(PAGE), run(DOWNLOAD), run("return (await tab.pdf())['bytes'] > 500")],
    )
    assert download.text.startswith("[File a.csv, 3 bytes: ")
    assert printed.text.startswith("[File page.pdf, ") and "true" in printed.text


def test_cookies_stay_with_a_persistent_tab_only(tmp_path: Path) -> None:
    cookie = "{'name': 'a', 'value': '1', 'url': 'http://a.example', 'expires': 4e9}"
    keep = f"await page.context.add_cookies([{cookie}])"
    look = "return len(await page.context.cookies('http://a.example'))"
    found = browse(
        tmp_path,
        [
            *(open_page(name="own", persist=True), run(keep, name="own"), close(name="own")),
            *(open_page(name="own", persist=True), run(look, name="own"), open_page(), run(look)),
        ],
    )
    assert [found[4].text, found[6].text] == ["1", "0"]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (open_page("ftp://a.example/"), "ftp://a.example/ cannot be opened; use http, https or file."),
        (open_page("javascript:alert(1)"), "javascript:alert(1) cannot be opened; use http, https or file."),
        (open_page("http://a b/"), "http://a b/ has no valid host."),
        (run("  "), "Missing required parameter 'code' for action 'run'."),
        (open_page(app={"path": "missing"}), "There is no program "),
        (
            open_page(app={"cdp_url": "nonsense"}),
            "nonsense is not the address of a browser; use http://HOST:PORT.",
        ),
        (
            open_page(app={"cdp_url": "http://127.0.0.1:9/"}),
            "Attaching to the browser at 127.0.0.1:9 was not approved; the user can set browser.cdpUrl.",
        ),
    ],
)
def test_calls_are_refused_with_a_reason(call: Use, text: str, tmp_path: Path) -> None:
    (result,) = browse(tmp_path, [call])
    assert result.is_error and text in result.text


def test_a_page_that_was_just_changed_is_fetched_again(tmp_path: Path) -> None:
    """A server that only tells the second of the change let Chromium show what it had."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        asked.append(handler.headers.get("if-modified-since"))
        body = f"<title>{len(asked)}</title>".encode()
        handler.send_response(200 if asked[-1] is None else 304)
        handler.send_header("last-modified", "Wed, 21 Oct 2015 07:28:00 GMT")
        handler.send_header("cache-control", "max-age=60")
        handler.send_header("content-length", str(len(body) if asked[-1] is None else 0))
        handler.end_headers()
        handler.wfile.write(body if asked[-1] is None else b"")

    asked: list[str | None] = []
    with PagesServer({"/": answer}) as server:
        opened = [open_page(server.url), open_page(server.url)]
        first, second = browse(tmp_path, opened, {"fetch.allowPrivate": [f"127.0.0.1:{server.port}"]})
    assert "Title: 1" in first.text and "Title: 2" in second.text
    assert asked == [None, None]
