"""browser: what its code can do on a page, in a session of the product with a real Chromium."""

import pytest

from tests.backends.browser.browser_rig import Result, browse, needs_chromium, open_page, run
from tests.backends.web.pages_server import PagesServer

pytestmark = needs_chromium

PAGE = """<!doctype html><title>Shop</title><h1>Pens</h1>
<form onsubmit="event.preventDefault(); document.title = 'Saved ' + document.querySelector('#name').value">
<label>Name <input id="name" required></label>
<label>Color <select id="color"><option value="r">Red</option><option value="b">Blue</option></select></label>
<label><input type="checkbox" id="gift" checked> Gift</label>
<label>File <input type="file" id="file"></label>
<button>Save</button><button type="button" hidden>Save</button></form>
<my-card></my-card><iframe title="inner"
 srcdoc="<button onclick=&quot;parent.document.title='Inner'&quot;>Inside</button>"></iframe>
<div id="from" style="width:40px;height:40px">A</div><div id="to" style="width:40px;height:40px">B</div>
<a href="/data.csv" download>Data</a><a href="/next">Next</a>
<p style="margin-top:3000px"><button>Far</button></p>
<script>
customElements.define('my-card', class extends HTMLElement { connectedCallback() {
  this.attachShadow({mode: 'open'}).innerHTML = '<button>Shadow</button>'; } });
let dragged = false;
document.querySelector('#from').onmousedown = () => dragged = true;
document.querySelector('#to').onmouseup = () => { if (dragged) document.title = 'Dropped'; };
console.log('hello'); console.error('broken'); setTimeout(() => { throw new Error('lost') });
fetch('/missing').then(() => 0);
</script>"""
LOOK = """seen = await tab.observe()
return [f"{e['role']} {e['name']}" + (' in frame' if 'frame' in e else '') for e in seen['elements']]"""
STALE = """seen = await tab.observe()
far = [e['id'] for e in seen['elements'] if e['name'] == 'Far'][0]
await tab.evaluate("() => document.querySelector('p').remove()")
await tab.id(far)"""
FAR = """near = await tab.observe(viewport_only=True)
return 'Far' in str(near), 'Far' in str(await tab.observe(viewportOnly=False))"""
TEXTS = """seen = await tab.observe({'includeAll': True})
return [e['name'] for e in seen['elements'] if e['role'] == 'heading']"""
STATES = """seen = (await tab.observe())['elements']
named = [e for e in seen if e['name'] in ('Name', 'Color', 'Gift')]
return [(e.get('value'), e.get('checked'), e.get('required')) for e in named]"""
EVENTS = """await page.wait_for_load_state("networkidle")
logged = await tab.console()
asked = [(e['url'][-8:], e.get('status')) for e in await tab.requests() if 'missing' in e['url']]
return [e['text'] for e in logged[:3]], asked[-1:]"""
WAITS = """import asyncio
waiting = asyncio.ensure_future(tab.wait_for_response('/next'))
await asyncio.sleep(0)
await tab.click('text/Next')
response = await waiting
await tab.waitForUrl('**/next')
await tab.waitFor('#end')
return response.status, tab.url().endswith('/next')"""
CASES: dict[str, tuple[str, str]] = {
    "lists elements of frames and shadow roots": (
        LOOK,
        "[ textbox Name, combobox Color, option Red, option Blue, checkbox Gift, button File, button Save,"
        " button Shadow, link Data, link Next, button Far, button Inside in frame ]",
    ),
    "tells values and states": (
        STATES,
        '[ [ null, null, true ], [ "Red", null, null ], [ null, "true", null ] ]',
    ),
    "lists text too if asked": (
        TEXTS,
        '[ "Pens" ]',
    ),
    "lists what is visible": (FAR, "[ false, true ]"),
    "clicks an element of a frame by number": (
        "seen = await tab.observe()\n"
        "await (await tab.id([e['id'] for e in seen['elements'] if e['name'] == 'Inside'][0])).click()\n"
        "await tab.title()",
        "Inner",
    ),
    "fills and submits a form": (
        "await tab.fill('#name', 'pen')\nawait tab.click('text/Save')\nawait tab.title()",
        "Saved pen",
    ),
    "types and presses keys": (
        "await tab.fill('#name', '')\nawait tab.type('#name', 'ink')\n"
        "await tab.press('Enter', selector='#name')\n"
        "return await tab.title()",
        "Saved ink",
    ),
    "finds by name and xpath": (
        "await tab.click('aria/Gift')\nawait tab.click('p-xpath///button[1]')\n"
        "return await page.is_checked('#gift')",
        "false",
    ),
    "selects": ("return await tab.select('#color', 'b')", '[ "b" ]'),
    "uploads a file": (
        "await tab.uploadFile('#file', 'a.txt')\n"
        "return await tab.evaluate(\"() => document.querySelector('#file').files[0].name\")",
        "a.txt",
    ),
    "drags": ("await tab.drag('#from', '#to')\nreturn await tab.title()", "Dropped"),
    "scrolls": (
        "await tab.scroll(0, 500)\nawait wait(100)\nreturn (await tab.evaluate('scrollY')) > 0",
        "true",
    ),
    "evaluates with arguments": ("return await tab.evaluate('(a, b) => a + b', 1, 2)", "3"),
    "waits for a response and an address": (
        WAITS,
        "[ 200, true ]",
    ),
    "knows console and requests": (
        EVENTS,
        '[ [ "hello", "broken", "lost" ], [ [ "/missing", 404 ] ] ]',
    ),
    "extracts Markdown": ("return await tab.extract()", "# Pens"),
    "keeps what it prints in order": ("print('a')\ndisplay({'b': 1})\nreturn 'c'", 'a { "b": 1 } c'),
    "says that nothing was shown": ("pass", 'Ran code on tab "main"'),
    "stops with an assertion": ("assert 1 == 2, 'no'", "Line 1: AssertionError: no"),
    "names the line of an error": ("\n\n1/0", "Line 3: ZeroDivisionError: division by zero"),
    "refuses what is no Python": ("return (", "SyntaxError in line 1: '(' was never closed"),
    "refuses unknown prefixes": (
        "await tab.click('p-css/x')",
        'The selector prefix "p-css/" is not supported; use text, xpath, pierce or aria.',
    ),
    "refuses stale elements": (STALE, "is stale or unknown: the page changed. Call tab.observe() again."),
    "refuses unknown elements": ("await tab.id(99)", "Element 99 is stale or unknown"),
    "refuses missing files": ("await tab.upload_file('#file', 'b.txt')", "No such file: "),
    "refuses to upload elsewhere": (
        "await tab.upload_file('#name', 'a.txt')",
        '"#name" is not a file input.',
    ),
    "refuses to select elsewhere": ("await tab.select('#name', 'x')", '"#name" is not a <select>'),
    "refuses to drag nothing": ("await tab.drag('#from', 1)", "drag takes a selector or a point"),
    "refuses pictures of nothing": (
        "await tab.screenshot(selector='#none')",
        'Nothing matches "#none", so there is no screenshot.',
    ),
    "refuses to leave for a file": (
        "await tab.goto('file:///etc/passwd')",
        'Open file:///etc/passwd with the action "open", so that it can be approved.',
    ),
    "says what an unknown name is": ("await tab.clikc('x')", "tab has no clikc"),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    """All cases in one tab of one session: each starts on the page."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "a.txt").write_text("a")
    with PagesServer({"/": PAGE, "/next": "<title>Next</title><p id=end>End</p>"}) as server:
        calls = [open_page(server.url)]
        for code, _ in CASES.values():
            calls += [run(f"await page.goto({server.url!r})", timeout=5), run(code, timeout=5)]
        found = browse(folder, calls, {"fetch.allowPrivate": [f"127.0.0.1:{server.port}"]})
    assert not found[0].is_error, found[0].text
    return dict(zip(CASES, found[2::2], strict=True))


@pytest.mark.parametrize("name", CASES)
def test_code_on_a_page(name: str, results: dict[str, Result]) -> None:
    _, wanted = CASES[name]
    text = results[name].text
    assert wanted in " ".join(text.replace('"', "").split()) or wanted in " ".join(text.split())
    assert results[name].is_error == (
        name.split()[0] in ("refuses", "stops", "names", "says") and "Ran" not in text
    )
