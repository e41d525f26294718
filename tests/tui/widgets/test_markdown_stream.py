"""Streaming Markdown: the same rows in the end, and nothing jumps on the way."""

import random
import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.tui.component import CommitBoundary
from tau.tui.style import StyleSpec, Theme
from tau.tui.text.sgr import strip_escapes
from tau.tui.text.width import visible_width
from tau.tui.widgets import highlight
from tau.tui.widgets.markdown import Markdown, build, document, inline, parse, stable_prefix
from tau.tui.widgets.markdown.document import MarkdownDocument
from tau.tui.widgets.markdown.inline import MarkdownStyle
from tau.tui.widgets.markdown.layout import ShapeLayout
from tests.support.palettes import DARK_TOKENS, PLAIN
from tests.support.soak import examples

CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
THEME = Theme(DARK_TOKENS)
FRAGMENTS = (
    *("# H", "## H2 #", "a", "b c", "para text here", "**bold", "bold**", "*em*", "`code`", "``x", "é漢字"),
    *("[l](http://u)", "[ref]", "[ref]: http://r", "[r2]:\n", "'title", "more'", "&amp;", "\\", "\x1b[31m"),
    *(
        "- ",
        "- item",
        "* item",
        "+ x",
        "1. one",
        "2. two",
        "7) z",
        "  - nested",
        "    - deep",
        "      deeper",
    ),
    *("   three", "    four", "     five", "\tcode", "-   wide", "- - - x", "* * *", "- # h", "  # h", "-\n"),
    *("> q", "> > qq", ">x", "> - l", ">   cont", "> ```", "> | a | b |", ">", "> ", "  > q", "- a\n\n"),
    *("```", "```py", "~~~", "    ```", "  ```", "x = 1 /* c", "*/", "1. ```", "- ```js", "<!-- c", "-->"),
    *("| a | b |", "|---|---|", "| 1 | 2 |", "--|--", "- | a | b |", "  |--|--|", "  | 1 | 2 |", "|", "x|y"),
    *("---", "===", "***", "-", "=", "1", "1.", "  ===", "<div>", "</div>", "<b>", "\r", "\t", "[ ] t"),
    *("- [x] done", "- [ ]"),
)
SPACES = ("\n", "\n", "\n", "\n\n", " ", "\n\n\n", "")

markdown_texts = st.lists(
    st.tuples(
        st.integers(0, 6).map(lambda n: " " * max(n - 3, 0)),
        st.sampled_from(FRAGMENTS),
        st.sampled_from(SPACES),
    ),
    max_size=20,
).map(lambda found: "".join("".join(piece) for piece in found))
junk = st.text(
    st.characters(codec=None) | st.sampled_from("*_`[]()<>#|-=\n\t >\x1b\x9b\r&;~!\\1."), max_size=120
)


def chunks(text: str, seed: int) -> Iterator[str]:
    rng = random.Random(seed)
    at = 0
    while at < len(text):
        size = rng.choice((1, 1, 2, 3, 5, 8, 20, 60))
        yield text[at : at + size]
        at += size


def read_whole(text: str) -> list[str]:
    """The rows of a text parsed in one go, with nothing settled before."""
    definitions: dict[str, object] = {}
    for _ in range(2):
        whole = MarkdownDocument(MarkdownStyle(THEME), definitions, settle_chars=10**9)  # type: ignore[arg-type]
        whole.feed(text)
        shapes = [*whole.settle(), *whole.finish()]
        definitions = dict(whole.definitions)
    return ShapeLayout(THEME, 40).rows(shapes)


def read_streamed(text: str, seed: int, definitions: object = None) -> list[str]:
    """The rows of a streamed text that is settled as early as possible."""
    rng = random.Random(seed)
    growing = MarkdownDocument(MarkdownStyle(THEME), definitions, settle_chars=0)  # type: ignore[arg-type]
    layout = ShapeLayout(THEME, 40)
    rows: list[str] = []
    for chunk in chunks(text, seed):
        growing.feed(chunk)
        if rng.random() < 0.7:
            rows += layout.rows(growing.settle())
            layout.preview(growing.ending())
    rows += layout.rows(growing.settle())
    rows += layout.rows(growing.finish())
    return read_streamed(text, seed, growing.definitions) if growing.has_late_definitions else rows


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits small enough for short texts."""
    small = {"LONG_CHARS": 14, "PARAGRAPH_CHARS": 28, "PIECE_CHARS": 8, "SAMPLE_ROWS": 2, "MAX_LEVEL": 8}
    for module in (build, stable_prefix, document, inline, parse):
        for name, value in small.items():
            if hasattr(module, name):
                monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(highlight, "_MAX_WAITING_LINES", 3)
    monkeypatch.setattr(highlight, "_MAX_CHARS", 60)


@examples(40)
@given(markdown_texts, st.integers(0, 1000))
def test_settling_early_gives_the_rows_of_the_whole(text: str, seed: int) -> None:
    assert read_streamed(text, seed) == read_whole(text)


def test_long_blocks_are_cut_at_the_same_positions_in_any_chunking(small_limits: None) -> None:
    @examples(40)
    @given(markdown_texts, st.integers(0, 1000))
    def check(text: str, seed: int) -> None:
        assert read_streamed(text, seed) == read_whole(text)

    check()


@pytest.mark.parametrize(
    "text",
    [
        "- a\n- | a | b |\n--|--\n\n",
        "- a\n- | a | b |\n    ===\n\n",
        "```py--|--\n\n\n|---|---|\n     */\n",
        "<div>|\nx\ny\n|---|\nz\n",
        "* item\n\n     -   wide\n         - deep\n\n  |--|--| ",
        "- # h\n  [ref]: http://r\n\n  x\n",
        "1. ```\n   three\n\n1. x\n",
        "1. a\n\n   [r]: u\n   'title\n   more'\n   b\n",
        "> ```\n> x\nlazy\n> y\n",
    ],
)
def test_blocks_are_the_same_when_reading_starts_in_the_middle(text: str) -> None:
    for seed in range(20):
        assert read_streamed(text, seed) == read_whole(text)


@examples(30)
@given(
    markdown_texts | junk,
    st.integers(0, 1000),
    st.sampled_from((1, 2, 5, 9, 20, 70)),
    st.booleans(),
    st.booleans(),
)
def test_any_text_in_any_chunking_gives_the_rows_of_the_whole(
    text: str, seed: int, width: int, linear: bool, join_lines: bool
) -> None:
    theme = Theme(DARK_TOKENS, linear=linear)
    markdown = Markdown(theme, join_lines=join_lines)
    settled: list[str] = []
    for chunk in chunks(text, seed):
        markdown.append(chunk)
        rows = markdown.render(width)
        boundary = markdown.commit_boundary()
        assert boundary is not None
        assert list(rows[: len(settled)]) == settled
        settled = list(rows[: boundary.live_start])
    markdown.finish()
    rows = markdown.render(width)
    assert list(rows) == list(Markdown(theme, text, join_lines=join_lines).render(width))
    assert markdown.commit_boundary() is None
    for row in rows:
        assert visible_width(row) <= width
        assert not CONTROLS.search(strip_escapes(row))


def frames(text: str, tokens: dict[str, StyleSpec] | None = None) -> list[list[str]]:
    """The rows after each character, without repetitions."""
    markdown = Markdown(Theme(tokens or PLAIN))
    found: list[list[str]] = [[]]
    for character in text:
        markdown.append(character)
        rows = [strip_escapes(row) if not tokens else row for row in markdown.render(40)]
        if rows != found[-1]:
            found.append(rows)
    return found[1:]


def test_emphasis_is_shown_before_it_is_closed() -> None:
    bold = frames("**ab** c", {"strong": StyleSpec(bold=True)})
    assert bold == [
        ["\x1b[1ma\x1b[22m"],
        ["\x1b[1mab\x1b[22m"],
        ["\x1b[1mab\x1b[22m c"],
    ]


@pytest.mark.parametrize("text", ["`ab`", "*ab*", "_ab_", "~~ab~~", "***ab***", "``ab``", "**a *b***"])
def test_emphasis_and_code_markers_are_never_visible(text: str) -> None:
    for rows in frames(text):
        assert "ab".startswith("".join(rows).replace(" ", ""))


def test_link_url_is_never_visible() -> None:
    assert frames("x [ab](http://e.org/y) z")[-2:] == [["x ab"], ["x ab z"]]


def test_stars_without_emphasis_stay() -> None:
    assert frames("2 * 3 a*b")[-1] == ["2 * 3 a*b"]


def test_line_prefixes_wait_until_they_are_unambiguous() -> None:
    rows = frames("Text\n- a\n- [x] b\n12. c")
    assert ["Text", "", "-"] not in rows
    assert rows[3:] == [
        ["Text"],
        ["Text", "", "• a"],
        ["Text", "", "• a", "☑ b"],
        ["Text", "", "• a", "☑ b", "", "12. c"],
    ]


def test_paragraph_is_not_a_heading_while_a_list_starts_below_it() -> None:
    found = frames("Text\n- a", {"heading": StyleSpec(bold=True)})
    assert not any("\x1b" in row for rows in found for row in rows)


def test_open_fence_is_code_at_once_and_its_end_is_hidden() -> None:
    found = frames("```py\nx = 1\n```\n\nz")
    assert found[0] == ["py"]
    assert found[-2:] == [["py", "  x = 1"], ["py", "  x = 1", "", "z"]]
    assert not any("`" in row for rows in found for row in rows)


def streamed_table(rows: int, long_at: int, width: int = 60) -> tuple[Markdown, list[str]]:
    """A table with one long cell, while it streams."""
    shown = Markdown(THEME)
    shown.append("| name | what it does |\n|---|---|\n")
    for number in range(rows):
        text = "a cell that is much longer than all others" if number == long_at else "short"
        shown.append(f"| item {number} | {text} |\n")
        shown.render(width)
    return shown, [strip_escapes(row) for row in shown.render(width)]


def test_streaming_table_is_laid_out_again_until_it_is_final() -> None:
    shown, rows = streamed_table(30, 29)
    assert rows[-1].endswith("a cell that is much longer than all others")
    assert shown.commit_boundary() == CommitBoundary(0)
    finished = Markdown(THEME, shown.text).render(60)
    shown.finish()
    assert list(shown.render(60)) == list(finished)


def test_rows_of_a_long_table_that_are_final_never_change_and_later_ones_use_the_free_width() -> None:
    shown, rows = streamed_table(90, 80)
    boundary = shown.commit_boundary()
    assert boundary is not None and boundary.live_start > 40
    final = rows[: boundary.live_start]
    assert any(row.endswith("│ a cell that is much longer than all others") for row in rows)
    assert max(map(len, final[:40])) < 40  # the rule does not reach the edge
    shown.append("\nThe end.\n")
    shown.finish()
    assert [strip_escapes(row) for row in shown.render(60)][: len(final)] == final


def test_table_appears_with_its_second_line_and_not_before() -> None:
    found = frames("|a|b|\n|-|-|\n|1|2|\n")
    assert ["|a|b|"] in found
    at = found.index(["a │ b", "──┼──"])
    assert all(len(rows) == 1 for rows in found[:at])
    assert found[-1] == ["a │ b", "──┼──", "1 │ 2"]


def test_link_definitions_are_hidden_while_they_stream() -> None:
    assert frames("a\n\n[x]: http://e.org\n") == [["a"]]


def test_finish_shows_held_back_text() -> None:
    markdown = Markdown(Theme(PLAIN))
    markdown.append("a\n\n**b\n\n-")
    markdown.render(20)
    markdown.finish()
    assert list(markdown.render(20)) == ["a", "", "**b", "", "•"]


def test_text_after_finish_is_appended_normally() -> None:
    markdown = Markdown(Theme(PLAIN), "**a")
    assert list(markdown.render(20)) == ["**a"]
    markdown.append("b**")
    markdown.finish()
    assert list(markdown.render(20)) == list(Markdown(Theme(PLAIN), "**ab**").render(20))
    assert markdown.text == "**ab**"


def test_growing_text_can_be_set_repeatedly() -> None:
    text = "# T\n\n" + "words and words\n\n" * 200
    markdown = Markdown(Theme(PLAIN))
    for end in range(0, len(text), 97):
        markdown.set_text(text[:end], is_finished=False)
        rows = markdown.render(40)
    assert isinstance(rows[0], str)
    markdown.set_text(text)
    assert list(markdown.render(40)) == list(Markdown(Theme(PLAIN), text).render(40))


LONG_TEXTS = {
    "code": "```python\n" + "".join(f"value_{n} = call({n})  # note\n" for n in range(300)),
    "list": "".join(f"- item {n} with *words*\n" for n in range(300)),
    "list in an item": "1. first\n" + "".join(f"   - item {n}\n" for n in range(300)),
    "code in an item": "1. first\n   ```js\n" + "".join(f"   call({n});\n" for n in range(300)),
    "table": "| a | b |\n|---|---|\n" + "".join(f"| row {n} | {n * n} |\n" for n in range(300)),
    "paragraph of one line": "some words of `text` and **more** " * 300,
    "paragraph of lines": "some words of `text` and **more**\n" * 300,
    "quote": "> some words of `text` and **more**\n" * 300,
    "paragraphs": "some words of `text` and **more**\n\n" * 300,
    "html": "<!--\n" + "line of a comment\n" * 300,
    "indented code": "    line of code\n" * 300,
    "definitions": "".join(f"[l{n}]: http://e.org/{n}\n" for n in range(300)),
    "no spaces": "漢字かな" * 2500,
}


@pytest.mark.parametrize("text", LONG_TEXTS.values(), ids=LONG_TEXTS.keys())
def test_only_the_end_of_a_long_text_is_parsed_again(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    parse_blocks = parse.parse_blocks

    def measured(source: str, *place: int) -> object:
        read.append(len(source))
        return parse_blocks(source, *place)

    markdown = Markdown(Theme(PLAIN))
    monkeypatch.setattr(parse, "parse_blocks", measured)
    for at in range(0, len(text), 100):
        markdown.append(text[at : at + 100])
        markdown.render(70)
    assert max(read) < 3500
    markdown.finish()
    monkeypatch.undo()
    assert list(markdown.render(70)) == list(Markdown(Theme(PLAIN), text).render(70))


def test_settled_parts_are_the_same_objects_in_the_next_frame() -> None:
    markdown = Markdown(Theme(PLAIN))
    kept = 0
    before: list[int] = []
    for at in range(300):
        markdown.append(f"paragraph {at} with some words to fill a row or two of the screen\n\n")
        parts = [id(part) for part in markdown.render(40).parts]  # type: ignore[attr-defined]
        kept += parts[: len(before) - 1] == before[:-1]
        before = parts
    assert kept > 250
    assert len(before) < 60
