"""What the model, a tool or a repository says never runs in the page."""

from playwright.sync_api import Browser, Page, expect

from tests.modes.serve.page.page_site import Site, send, start_session
from tests.support.fake_answers import Answer, Call, Silence, Text

HIT = "window.hit=1"
EVENTS = (
    "onload",
    "onerror",
    "onclick",
    "onmouseover",
    "onfocus",
    "ontoggle",
    "onanimationstart",
    "onpointerover",
)
TAGS = (
    "img src=x",
    "svg",
    "body",
    "details open",
    "input autofocus",
    "video src=x",
    "iframe src=x",
    "marquee",
)
SCHEMES = ("javascript:", "JaVaScRiPt:", "java\tscript:", "&#106;avascript:", "vbscript:", "data:text/html,")
PAYLOADS = (
    *(f"<{tag} {event}={HIT}>" for tag, event in zip(TAGS, EVENTS, strict=True)),
    *(f"<img src=x {event}='{HIT}'>" for event in EVENTS),
    *(f"[click]({scheme}{HIT})" for scheme in SCHEMES),
    *(f"<{scheme}{HIT}>" for scheme in SCHEMES),
    *(f"![image]({scheme}{HIT})" for scheme in SCHEMES),
    f"<script>{HIT}</script>",
    f"</code></pre><script>{HIT}</script>",
    f"```\n</code></pre><script>{HIT}</script>\n```",
    f'```"><script>{HIT}</script>\ncode\n```',
    f"`<script>{HIT}</script>`",
    f"<svg><script>{HIT}</script></svg>",
    f"<svg><a xlink:href='javascript:{HIT}'><text>x</text></a></svg>",
    f"<math><mtext><script>{HIT}</script></mtext></math>",
    f"<iframe srcdoc='<script>parent.{HIT}</script>'></iframe>",
    f"<object data='javascript:{HIT}'></object>",
    f"<embed src='javascript:{HIT}'>",
    f"<base href='javascript:{HIT}//'>",
    f"<form action='javascript:{HIT}'><button>x</button></form>",
    f"<meta http-equiv=refresh content='0;url=javascript:{HIT}'>",
    "<link rel=stylesheet href='data:text/css,*{color:red}'><style>*{display:none}</style>",
    "<style>@import 'http://example.com/x.css'</style>",
    "<div style='position:fixed;inset:0;background:url(http://example.com/x)'>x</div>",
    "![remote](http://example.com/x.png)",
    f"<noscript><p title='</noscript><img src=x onerror={HIT}>'>",
    f"<template><script>{HIT}</script></template>",
    f"[a]: javascript:{HIT}\n\n[link][a]",
    f"| a |\n|---|\n| <img src=x onerror={HIT}> |",
    f"<!--><img src=x onerror={HIT}>-->",
    f"\u202e<script>{HIT}</script>\u2028<img src=x onerror={HIT}>",
)
FORBIDDEN = (
    "script, style, iframe, object, embed, base, meta, link, form:not(#composer, .why), template, math"
)
FOUND = """(forbidden) => {
  const shown = document.querySelector('main');
  const bad = [...shown.querySelectorAll(forbidden)].map((one) => one.outerHTML);
  const attributes = [...shown.querySelectorAll('*')].flatMap((one) => [...one.attributes]);
  const isHandler = ({ name }) => name.startsWith('on') || name === 'style' || name === 'srcdoc';
  const links = attributes.filter(({ name }) => name === 'href' || name === 'src' || name === 'xlink:href');
  const isSafe = ({ value }) => /^(https?:|mailto:|#|data:image|blob:|\\/)/.test(value);
  const handlers = attributes.filter(isHandler).map(({ name }) => name);
  const schemes = links.filter((link) => !isSafe(link)).map(({ value }) => value);
  return { hit: window.hit, bad, handlers, schemes };
}"""
NOTHING = {"hit": None, "bad": [], "handlers": [], "schemes": []}


def test_at_least_fifty_payloads_are_tried() -> None:
    assert len(set(PAYLOADS)) >= 50


def test_no_payload_runs_anywhere_in_the_page(page: Page, site: Site) -> None:
    start_session(page)
    text = "\n\n".join(PAYLOADS)
    name = f"<img src=x onerror={HIT}>.txt"
    todos = [{"phase": PAYLOADS[0], "items": list(PAYLOADS[:30])}]
    site.tau.script(
        Answer((Text(text, deltas=30), Call("todo", {"ops": [{"op": "init", "list": todos}]}))),
        Answer((Text("x"), Call("write", {"path": name, "content": text}))),
        Answer((Call(PAYLOADS[1], {PAYLOADS[2]: text}), Call("ask", {"questions": [question(text)]}))),
        Silence(after_events=28, of=Answer((Text(text, deltas=30),))),
    )
    send(page, text)
    expect(page.locator(".question")).to_be_visible()
    expect(page.locator("#todos")).to_be_visible()
    assert page.evaluate(FOUND, FORBIDDEN) == NOTHING
    page.locator(".request").evaluate("box => box.scrollTop = box.scrollHeight")
    page.get_by_role("button", name="Allow once").click()
    expect(page.locator(".question h2")).to_contain_text("Which")
    page.evaluate("for (const one of document.querySelectorAll('main details')) one.open = true")
    assert page.evaluate(FOUND, FORBIDDEN) == NOTHING
    page.locator(".question .answers button").first.click()
    expect(page.locator(".live .prose")).to_be_visible()
    assert page.evaluate(FOUND, FORBIDDEN) == NOTHING
    page.press("#prompt", "Escape")
    expect(page.locator("#stop")).to_be_hidden()
    page.click("#panel-button")
    page.click("#files summary")
    expect(page.locator("#files .diff")).to_be_visible()
    site.command(page, "set_session_name", name=PAYLOADS[0])
    expect(page.locator("#session-title")).to_contain_text("<img")
    page.reload()
    expect(page.locator(".item").first).to_be_visible()
    assert page.evaluate(FOUND, FORBIDDEN) == NOTHING


def question(text: str) -> dict[str, object]:
    options = [{"label": payload} for payload in PAYLOADS[:3]]
    return {"id": "one", "question": f"Which?\n{text[:2000]}", "options": options}


def test_policy_forbids_markup_that_the_server_has_not_rendered(browser: Browser, site: Site) -> None:
    page = browser.new_page()
    page.goto(site.address)
    blocked = page.evaluate(
        """() => {
          try {
            document.createElement('div').innerHTML = '<img src=x onerror=window.hit=1>';
            return 'set';
          } catch (error) {
            return error.name;
          }
        }"""
    )
    assert blocked == "TypeError"
    assert page.evaluate("window.hit") is None
    page.close()
