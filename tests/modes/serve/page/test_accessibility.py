"""No violations of WCAG 2.2 AA as far as axe finds them, and everything by keyboard."""

import pytest
from playwright.sync_api import Page, expect

from tests.modes.serve.page.page_site import Site, send, start_session
from tests.support.fake_answers import Answer, Call, Silence, Text, Thinking
from tests.support.npm_packages import AXE

RICH = """# Title

A [link](https://example.com), `code` and **bold**.

```python
# a comment
def total(self) -> int:
    return sum("a", 41)
```

| case | before |
|---|---:|
| one | 4.50 |

> A quote

```diff
-old
+new
```
"""
TODOS = [{"phase": "Money", "items": ["Find it", "Fix it"]}]
CHECK = """async (tags) => {
  const found = await axe.run(document, { runOnly: tags });
  const where = (node) => node.target + ' ' + node.failureSummary;
  return found.violations.map((one) => `${one.id}: ${one.nodes.map(where).join(' | ')}`);
}"""
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
LOOKS = [("light", 1280), ("dark", 1280), ("light", 360), ("dark", 360)]


@pytest.fixture(scope="module")
def axe() -> str:
    return (AXE.require() / "axe-core" / "axe.min.js").read_text()


def check(page: Page, axe: str) -> None:
    """The policy of the page forbids inline scripts; the debugger may run one anyway."""
    for scheme, width in LOOKS:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate(axe)
        assert page.evaluate(CHECK, TAGS) == [], (scheme, width)


def test_no_violations_while_the_agent_asks_and_in_every_part(page: Page, site: Site, axe: str) -> None:
    start_session(page)
    calls = (
        Call("todo", {"ops": [{"op": "init", "list": TODOS}]}),
        Call("write", {"path": "money.py", "content": "total = 1\n"}),
    )
    site.tau.script(Answer((Thinking("Let me think."), Text(RICH), *calls)), "Done.")
    send(page, "Fix the total")
    expect(page.locator(".question")).to_be_visible()
    page.fill("#prompt", "/")
    expect(page.locator("#completions")).to_be_visible()
    check(page, axe)
    page.fill("#prompt", "")
    page.get_by_role("button", name="Allow once").click()
    expect(page.locator("#stop")).to_be_hidden()
    expect(page.locator("#todos")).to_be_visible()
    page.evaluate("for (const one of document.querySelectorAll('main details')) one.open = true")
    check(page, axe)
    page.click("#panel-button")
    page.click("#files summary")
    expect(page.locator("#files .diff")).to_be_visible()
    check(page, axe)


def test_everything_works_by_keyboard_alone(page: Page, site: Site) -> None:
    page.keyboard.press("Alt+n")
    expect(page.locator("#prompt")).to_be_focused()
    site.tau.script(Answer((Call("bash", {"command": "echo hi"}),)), Silence(after_events=3))
    page.keyboard.type("Run it")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Allow once")).to_be_enabled()
    page.keyboard.press("Alt+a")
    expect(page.locator(".question h2")).to_be_focused()
    page.keyboard.press("y")
    expect(page.locator(".question")).to_have_count(0)
    expect(page.locator("#prompt")).to_be_focused()
    expect(page.locator(".live")).not_to_be_empty()
    page.keyboard.press("Escape")
    expect(page.locator("#stop")).to_be_hidden()
    page.keyboard.press("Alt+c")
    expect(page.locator("#close-panel")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#panel")).to_be_hidden()
    page.keyboard.press("Alt+s")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#prompt")).to_be_focused()
