"""The pieces of Markdown that all converters share."""

from hypothesis import given
from hypothesis import strategies as st

from tau.coding.readers.documents import markdown
from tau.coding.readers.documents.markdown import MarkdownWriter, TextRun


def test_emphasis_marks_hug_the_words() -> None:
    spans = [
        TextRun("a"),
        TextRun(" bold ", bold=True),
        TextRun("both", bold=True, italic=True),
        TextRun(" "),
        TextRun("x", code=True),
    ]
    assert markdown.inline(spans) == "a **bold** ***both*** `x`"


def test_equally_styled_spans_share_their_marks() -> None:
    assert (
        markdown.inline([TextRun("a", bold=True), TextRun("", italic=True), TextRun("b", bold=True)])
        == "**ab**"
    )


def test_code_containing_backticks() -> None:
    assert markdown.inline([TextRun("a`b", code=True)]) == "``a`b``"
    assert markdown.inline([TextRun("`", code=True)]) == "`` ` ``"
    assert markdown.fenced("```\nx") == "````\n```\nx\n````"


def test_table_keeps_its_columns() -> None:
    assert markdown.table([["a|b"], ["c\n\nd", "e"]]) == "| a\\|b |  |\n| --- | --- |\n| c<br>d | e |"
    assert markdown.table([]) == ""


def test_list_items_are_adjacent_and_blocks_separated() -> None:
    out = MarkdownWriter()
    out.item(0, "-", "one\nmore")
    out.item(1, "1.", "two")
    out.add("")
    out.item(0, "-", "three")
    out.add("text")
    assert out.text() == "- one\n  more\n   1. two\n- three\n\ntext\n"


def test_paragraph_of_very_many_spans_stays_small() -> None:
    spans = [TextRun("a", bold=bool(index % 2)) for index in range(markdown.MAX_SPANS)]
    before = markdown.inline(spans)
    markdown.pack(spans)
    assert len(spans) == 1 and markdown.inline(spans) == before


def test_links_that_need_brackets() -> None:
    assert markdown.link("x", "a b") == "[x](<a b>)"
    assert markdown.link("", "http://a") == "[http://a](http://a)"
    assert markdown.link("x", "") == "x"


@given(st.lists(st.lists(st.text(max_size=8), max_size=4), min_size=1, max_size=4))
def test_table_of_any_text_has_one_line_per_row(rows: list[list[str]]) -> None:
    cleaned = [[markdown.clean(text) for text in row] for row in rows]
    text = markdown.table(cleaned)
    assert not text or text.count("\n") == len(rows)


@given(st.text())
def test_clean_text_holds_no_control_characters(text: str) -> None:
    cleaned = markdown.clean(text)
    assert all(letter in "\n\t" or (letter >= " " and not "\x7f" <= letter <= "\x9f") for letter in cleaned)
