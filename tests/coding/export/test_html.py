"""The page in a real browser: it requests nothing, runs only its own script, shows all branches."""

import base64
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tau.ai.wire import ImageContent, TextContent, ThinkingContent, ToolCall, ToolResultMessage, UserMessage
from tau.base.secrets import SecretMask
from tau.coding.export.files import exported
from tau.coding.export.markdown_html import prose
from tau.coding.export.syntax_colors import LANGUAGES, highlight_code, highlight_diff
from tau.coding.session import entries as s
from tau.coding.session.storage.log import SessionLog
from tests.coding.export.chromium import Page
from tests.coding.export.sample import TIME, answer, picture, result, sample_session

NASTY = (
    "<script>window.pwned = 1</script>",
    "</script><script>window.pwned = 1</script>",
    "</style><style>* { display: none }</style><img src=x onerror='window.pwned = 1'>",
    "<img src=http://127.0.0.1:9/pixel.png onerror=window.pwned=1>",
    '"><svg onload="window.pwned = 1">',
    "' onmouseover='window.pwned = 1' x='",
    "<iframe srcdoc='<script>parent.pwned = 1</script>'></iframe>",
    "<!-- <!--> --!> <![CDATA[ ]]> <?php ?> </textarea></title></noscript></details></main></body></html>",
    "![x](http://127.0.0.1:9/a.png) ![y](data:image/svg+xml;base64,PHN2Zy8+) [z](javascript:window.pwned=1)",
    "[a](vbscript:x) [b](data:text/html,<script>window.pwned=1</script>) <javascript:window.pwned=1>",
    "[c](//127.0.0.1:9/x) [d](file:///etc/passwd) [e]: http://127.0.0.1:9/ \"t\"\n\n[e]",
    "```html\n<script>window.pwned = 1</script>\n```\n~~~\"><script>window.pwned = 1</script>\nx\n~~~",
    "&lt;script&gt;window.pwned = 1&lt;/script&gt; &#60;script&#62; &amp;lt;",
    "| a | b |\n|---|:-:|\n| <script>window.pwned = 1</script> | `</td>` |",
    "\x00\x01\x1b[31mred\x1b]8;;http://127.0.0.1:9/\x07link\x1b]8;;\x07\x7f\x9b\u2028\u2029\ufeff\ud800",
    "\u202egnp.exe\u202c \u2066isolated\u2069 \u200f",
    "<base href=http://127.0.0.1:9/><meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>",
    "<link rel=stylesheet href=http://127.0.0.1:9/x.css><form action=http://127.0.0.1:9/><button>",
    "{{7*7}} ${7*7} <%= 7 %> %3Cscript%3E \\u003cscript\\u003e \\x3cscript",
    "@import url(http://127.0.0.1:9/x.css); background: url(http://127.0.0.1:9/x.png)",
    "x" * 5_000 + "<script>" * 200,
    "> " * 300 + "deep", "- " * 300 + "deep", "[" * 3_000, "`" * 3_001, "*" * 3_001,
)  # fmt: skip


def html_of(log: SessionLog, masker: SecretMask | None = None) -> str:
    return b"".join(exported(log, "html", masker)).decode()


def nasty_session() -> SessionLog:
    """Every piece of the corpus in every place that text can reach."""
    log = SessionLog.new(None, Path("/tmp/<script>window.pwned=1</script>"), title=NASTY[0])
    for number, text in enumerate(NASTY):
        shown = text.encode("utf-8", "replace").decode()
        log.append_message(
            UserMessage([TextContent(shown), ImageContent('"><script>', 'x" onerror="')], TIME)
        )
        log.append_message(
            answer(
                ThinkingContent(shown),
                shown,
                ToolCall(f"c{number}", shown[:300], {"path": shown, shown[:100]: [shown], "command": shown}),
                ToolCall(f"d{number}", "edit", {"path": f"a.py{shown[:50]}", "content": shown}),
                ToolCall(
                    f"e{number}", "eval", {"cells": [{"language": shown[:9], "code": shown, "title": shown}]}
                ),
                model=shown[:200],
                stop="toolUse",
            )
        )
        log.append_message(result(f"c{number}", shown[:300], shown, is_error=True))
        log.append_message(
            result(f"d{number}", "edit", shown, details={"path": shown, "diff": f"+{shown}\n-{shown}"})
        )
        log.append_message(ToolResultMessage(shown[:50], shown[:50], [TextContent(shown)], False, TIME))
        last = log.append_message(answer(stop="error", error_message=shown))
        log.append(s.LabelEntry(target_id=last, label=shown[:80]))
        log.append(s.CustomMessageEntry(custom_type=shown[:100], content=shown))
        log.append(s.CompactionEntry(summary=shown, first_kept_entry_id=last))
        log.append(s.ModelChange(provider=shown[:50], model_id=shown[:50]))
        log.append(s.ModeChange(mode=shown[:50]))
    log.append(s.SessionInfo(name=NASTY[1]))
    return log


def opened(page: Page, folder: Path, text: str) -> Page:
    file = folder / "page.html"
    file.write_bytes(text.encode())
    page.open(file.as_uri())
    return page


def test_hostile_content_runs_nothing_and_loads_nothing(fresh: Page, tmp_path: Path) -> None:
    text = html_of(nasty_session())
    page = opened(fresh, tmp_path, text)
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    page.settle()
    assert [url for url in page.requests if not url.startswith("data:")] == [
        (tmp_path / "page.html").as_uri()
    ]
    assert page.console == []
    assert page.evaluate("window.pwned === undefined") is True
    assert page.evaluate("document.querySelectorAll('script').length") == 1
    assert page.evaluate("document.querySelectorAll('style').length") == 1
    allowed = [
        "html",
        "head",
        "meta",
        "link",
        "title",
        "style",
        "script",
        "body",
        "main",
        "header",
        "h1",
        "p",
        "dl",
        "div",
        "dt",
        "dd",
        "small",
        "details",
        "summary",
    ]
    allowed += [
        "button",
        "section",
        "article",
        "b",
        "time",
        "span",
        "a",
        "pre",
        "code",
        "nav",
        "footer",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "img",
    ]
    allowed += ["h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "em", "strong", "s", "blockquote", "hr", "br"]
    names = page.evaluate("[...new Set([...document.querySelectorAll('*')].map(e => e.localName))]")
    assert set(names) <= set(allowed)
    attributes = page.evaluate(
        "[...new Set([...document.querySelectorAll('*')].flatMap(e => [...e.attributes].map(a => a.name)))]"
    )
    assert not [name for name in attributes if name.startswith("on") or name in ("style", "srcdoc", "action")]
    targets = page.evaluate("[...document.querySelectorAll('a[href]')].map(a => a.getAttribute('href'))")
    assert all(target.startswith(("#", "http://", "https://", "mailto:")) for target in targets)
    # The page is intact: no content has closed one of its elements.
    assert page.evaluate("document.querySelectorAll('body > main').length") == 1
    assert page.evaluate("document.querySelectorAll('main > section article').length") > len(NASTY) * 5
    assert page.evaluate("document.querySelectorAll('body > nav.outline a').length") >= len(NASTY)


def test_text_cannot_use_bidi_overrides_or_control_characters() -> None:
    log = SessionLog.new(None, Path("/"))
    log.append_message(UserMessage("open \u202egnp.exe\u202c \x1b[31mnow\x07 \x00", TIME))
    text = html_of(log)
    assert "open &lt;U+202E&gt;gnp.exe&lt;U+202C&gt; now" in text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


def test_injected_script_would_not_run(fresh: Page, tmp_path: Path) -> None:
    """The page names its script by hash, so even unescaped content cannot run another one."""
    text = html_of(sample_session(None)).replace("</main>", "<script>window.pwned = 1</script></main>")
    page = opened(fresh, tmp_path, text)
    page.settle()
    assert page.evaluate("window.pwned === undefined") is True
    assert any("Content Security Policy" in line for line in page.console)


def test_ordinary_page_logs_and_requests_nothing(fresh: Page, tmp_path: Path) -> None:
    for dark in (False, True):
        fresh.look(dark=dark)
        opened(fresh, tmp_path, html_of(sample_session(None), SecretMask()))
        fresh.settle()
    assert {url for url in fresh.requests if not url.startswith("data:image/png")} <= {
        (tmp_path / "page.html").as_uri(),
        "data:,",
    }
    assert fresh.console == []
    assert fresh.evaluate("document.querySelector('.user img').naturalWidth") == 240


def luminance(page: Page, query: str, part: str) -> float:
    expression = f"getComputedStyle(document.querySelector('{query}')).{part}"
    red, green, blue = (
        float(number) / 255 for number in re.findall(r"[\d.]+", page.evaluate(expression))[:3]
    )
    return 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2


def test_light_and_dark_follow_the_reader_and_are_legible(fresh: Page, tmp_path: Path) -> None:
    for dark in (False, True):
        fresh.look(dark=dark)
        opened(fresh, tmp_path, html_of(sample_session(None)))
        paper = luminance(fresh, "body", "backgroundColor")
        assert (paper < 0.05) if dark else (paper > 0.9)
        for query in (
            "body",
            ".facts dt",
            ".user .typed",
            "pre .k",
            "pre .s, pre .c",
            ".diff .a",
            ".diff .d",
            "footer",
        ):
            ink = luminance(fresh, query, "color")
            bright, dim = max(ink, paper), min(ink, paper)
            assert (bright + 0.05) / (dim + 0.05) > 4.5, (query, dark)
    before = luminance(fresh, "body", "backgroundColor")
    fresh.evaluate("document.querySelectorAll('.tools button')[1].click()")
    assert luminance(fresh, "body", "backgroundColor") > 0.9 > before


def shown_words(page: Page) -> str:
    text: str = page.evaluate("document.querySelector('main').innerText")
    return text


def test_active_branch_is_shown_first_and_others_on_click(fresh: Page, tmp_path: Path) -> None:
    page = opened(fresh, tmp_path, html_of(sample_session(None)))
    assert "Leave the rounding to the till" in shown_words(page)
    assert "bankers' rounding" not in shown_words(page)
    page.evaluate(
        "[...document.querySelectorAll('.outline a')].find(a => a.textContent.includes('bankers')).click()"
    )
    page.settle()
    assert "Now round to cents with bankers' rounding." in shown_words(page)
    assert "The server is overloaded (529)." in shown_words(page)
    assert "Leave the rounding to the till" not in shown_words(page)
    assert "The cart's total is wrong" in shown_words(page)
    page.evaluate("document.querySelector('.segment:not([hidden]) .fork a:not([aria-current])').click()")
    page.settle()
    assert "Leave the rounding to the till" in shown_words(page)
    assert "bankers' rounding" not in shown_words(page)


def test_without_javascript_the_active_branch_shows_and_links_reach_others(
    fresh: Page, tmp_path: Path
) -> None:
    text = html_of(sample_session(None)).replace(
        '"use strict";', "throw new Error();", 1
    )  # its hash is wrong now
    page = opened(fresh, tmp_path, text)
    assert "Leave the rounding to the till" in shown_words(page)
    assert "bankers' rounding" not in shown_words(page)
    assert page.evaluate("document.querySelector('.tools').hidden") is True
    page.evaluate(
        "[...document.querySelectorAll('.outline a')].find(a => a.textContent.includes('bankers')).click()"
    )
    page.settle()
    assert "bankers' rounding" in shown_words(page)


def test_calls_thinking_and_summaries_open_and_close(fresh: Page, tmp_path: Path) -> None:
    page = opened(fresh, tmp_path, html_of(sample_session(None)))
    assert "1 failed, 40 passed" not in shown_words(page)
    page.evaluate("document.querySelector('.tools button').click()")
    for words in (
        "1 failed, 40 passed",
        "The total sums price only.",
        "Rounding to cents was tried, and left again.",
    ):
        assert words in shown_words(page)
    page.evaluate("document.querySelector('.tools button').click()")
    assert "1 failed, 40 passed" not in shown_words(page)


def test_no_horizontal_scrolling_on_a_phone(fresh: Page, tmp_path: Path) -> None:
    fresh.look(width=390, height=844)
    for text in (html_of(sample_session(None)), html_of(nasty_session())):
        page = opened(fresh, tmp_path, text)
        page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


class Outline(HTMLParser):
    """Checks that every element is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "link", "img", "br", "hr"):
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ("hr", "br")

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag


@pytest.mark.parametrize("make", [sample_session, lambda _: nasty_session()])
def test_every_element_is_closed(make: Any) -> None:
    parser = Outline()
    parser.feed(html_of(make(None)))
    parser.close()
    assert parser.stack == []


def test_empty_session_is_a_valid_page() -> None:
    assert "This session is empty." in html_of(SessionLog.new(None, Path("/")))


def test_foreign_entries_are_named_not_lost(tmp_path: Path) -> None:
    log = sample_session(tmp_path)
    assert log.path is not None
    log.close()
    with log.path.open("ab") as file:
        file.write(
            b'{"type":"message","id":"zz","parentId":"%s","message":{"role":"alien"}}\n' % log.leaf.encode()
        )  # type: ignore[union-attr]
    again = SessionLog.open(log.path, read_only=True)
    assert "An entry of type message, unknown to this version" in html_of(again)
    again.close()


def test_dangerous_image_types_are_not_shown() -> None:
    log = SessionLog.new(None, Path("/"))
    svg = base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg' onload='x()'/>").decode()
    log.append_message(UserMessage([ImageContent(svg, "image/svg+xml"), picture(4, 4)], TIME))
    text = html_of(log)
    assert "An image of the type image/svg+xml is not shown." in text
    assert text.count("<img ") == 1


def test_hidden_notes_are_left_out() -> None:
    log = SessionLog.new(None, Path("/"))
    log.append_message(UserMessage("hello", TIME))
    log.append(s.CustomMessageEntry(custom_type="reminder", content="internal words", display=False))
    log.append(s.CustomMessageEntry(custom_type="reminder", content="public words"))
    text = html_of(log)
    assert "public words" in text
    assert "internal words" not in text


@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        ({"agent": "explore", "tasks": [{"id": "A", "description": "Read"}, {"id": "B"}]}, "Read, B"),
        ({"action": "diagnostics", "file": "a.py"}, "diagnostics a.py"),
        ({"city": "Bern"}, "Bern"),
        ({"ids": ["a"]}, '{"ids":["a"]}'),
        ({"tasks": [{"id": 1}]}, '{"tasks":[{"id":1}]}'),
        ({}, ""),
    ],
)
def test_card_says_what_a_call_does(arguments: dict[str, Any], title: str) -> None:
    log = SessionLog.new(None, Path("/"))
    log.append_message(UserMessage("go", TIME))
    log.append_message(answer(ToolCall("c", "some", arguments), stop="toolUse"))
    assert f'<b>some</b> <span class="what">{title}</span>' in html_of(log)


def test_result_of_a_job_keeps_its_lines() -> None:
    log = SessionLog.new(None, Path("/"))
    log.append_message(UserMessage("go", TIME))
    log.append(s.CustomMessageEntry(custom_type="job", content="[Job ended]\n<b>one</b>\n# two"))
    assert '<div class="typed">[Job ended]\n&lt;b&gt;one&lt;/b&gt;\n# two</div>' in html_of(log)


@pytest.mark.parametrize("language", [*LANGUAGES, "", "diff"])
def test_highlighting_does_not_change_the_code(language: str) -> None:
    samples = [
        *NASTY,
        (Path(__file__).read_text()),
        'a = """x\ny""" # c\n/* b */ // d\n-- e\n<a href="x">&amp;</a>',
    ]
    for text in samples:
        shown = highlight_diff(text) if language == "diff" else highlight_code(text, language)
        bare = re.sub(r'<span class="\w+">|</span>', "", shown)
        assert "<" not in bare and ">" not in bare
        if language != "diff":
            assert bare.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == text


def test_code_is_highlighted() -> None:
    shown = highlight_code("def f(x):  # why\n    return 'a' + str(1)\n", "python")
    for part in ('<span class="k">def</span>', '<span class="c"># why</span>', '<span class="n">1</span>'):
        assert part in shown


def test_markdown_becomes_html_without_raw_markup() -> None:
    shown = prose(
        "# Title\n\n**bold** `code` <b>raw</b>\n\n- [ok](https://x.test/?a=1&b=2)\n- [no](javascript:x)\n"
    )
    assert "<h3>Title</h3>" in shown
    assert "<strong>bold</strong>" in shown
    assert "&lt;b&gt;raw&lt;/b&gt;" in shown
    assert 'href="https://x.test/?a=1&amp;b=2" rel="noopener noreferrer"' in shown
    assert "javascript:" not in re.sub(r">[^<]*<", "><", shown)
