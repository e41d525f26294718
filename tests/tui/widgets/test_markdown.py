"""How each element of Markdown looks when the text is complete."""

import pytest

from tau.tui.rows import Rows
from tau.tui.style import ASCII, StyleSpec, Theme
from tau.tui.text.sgr import strip_escapes
from tau.tui.text.width import visible_width
from tau.tui.widgets.markdown import Markdown, preload
from tests.support.palettes import DARK_TOKENS, PLAIN

SIGNS = {
    "strong": StyleSpec(bold=True),
    "emphasis": StyleSpec(italic=True),
    "strike": StyleSpec(strike=True),
    "code": StyleSpec(inverse=True),
    "link": StyleSpec(underline=True),
}


def shown(text: str, width: int = 60, theme: Theme | None = None, **options: bool) -> list[str]:
    """The rows without styles."""
    rows = Markdown(theme or Theme(PLAIN), text, **options).render(width)
    return [strip_escapes(row).rstrip() for row in rows]


def styled(text: str, width: int = 60) -> list[str]:
    """The rows with short marks for the styles."""
    rows = Markdown(Theme(SIGNS), text, hyperlinks=False).render(width)
    signs = {"1": "<b>", "22": "</b>", "3": "<i>", "23": "</i>", "4": "<u>", "24": "</u>"}
    signs |= {"7": "<c>", "27": "</c>", "9": "<s>", "29": "</s>"}
    out = []
    for row in rows:
        for number, sign in signs.items():
            row = row.replace(f"\x1b[{number}m", sign)
        assert "\x1b" not in row
        out.append(row)
    return out


def test_paragraphs_are_separated_by_one_blank_row() -> None:
    assert shown("one\n\n\n\ntwo\n\n") == ["one", "", "two"]


def test_long_text_is_wrapped_at_words() -> None:
    assert shown("alpha beta gamma", 11) == ["alpha beta", "gamma"]


def test_line_of_a_paragraph_starts_a_row_unless_lines_are_joined() -> None:
    assert shown("one\ntwo") == ["one", "two"]
    assert shown("one\ntwo", join_lines=True) == ["one two"]


@pytest.mark.parametrize("text", ["one  \ntwo", "one\\\ntwo", "one<br>two", "one<br/>two"])
def test_hard_breaks_always_end_the_row(text: str) -> None:
    assert shown(text, join_lines=True) == ["one", "two"]


def test_emphasis_nests() -> None:
    assert styled("a *b **c** d* ~~e~~") == ["a <i>b </i><i><b>c</b></i><i> d</i> <s>e</s>"]


def test_inline_code_keeps_its_characters() -> None:
    assert styled("`a *b* <c>`") == ["<c>a *b* <c></c>"]


def test_link_is_an_osc_8_sequence() -> None:
    row = Markdown(Theme(PLAIN), "[text](https://e.org/x)").render(60)[0]
    assert row == "\x1b]8;;https://e.org/x\x1b\\text\x1b]8;;\x1b\\"


def test_url_follows_the_text_where_links_are_unsupported() -> None:
    assert shown("[text](https://e.org/x)", hyperlinks=False) == ["text (https://e.org/x)"]
    assert shown("[text](https://e.org/x)", show_urls=True) == ["text (https://e.org/x)"]
    assert shown("<https://e.org/x>", hyperlinks=False) == ["https://e.org/x"]


def test_unsafe_url_is_text() -> None:
    row = Markdown(Theme(PLAIN), "[file](src/a.py)").render(60)[0]
    assert row == "file (src/a.py)"
    assert "\x1b" not in Markdown(Theme(PLAIN), "[x](foo:bar)").render(60)[0]


def test_bare_urls_are_links_without_trailing_punctuation() -> None:
    row = Markdown(Theme(PLAIN), "see (https://e.org/a_(b)).").render(60)[0]
    assert "\x1b]8;;https://e.org/a_(b)\x1b\\" in row
    assert strip_escapes(row) == "see (https://e.org/a_(b))."


def test_reference_links_resolve_wherever_the_definition_is() -> None:
    text = "first [ref]\n\n- item\n\n" + "filler text\n\n" * 100 + "[ref]: https://e.org/late"
    rows = Markdown(Theme(PLAIN), text).render(60)
    assert "https://e.org/late" in rows[0]
    assert shown(text)[-1] == "filler text"


def test_images_are_links_with_their_description() -> None:
    row = Markdown(Theme(PLAIN), "![A cat](https://e.org/c.png)").render(60)[0]
    assert "\x1b]8;;https://e.org/c.png" in row
    assert strip_escapes(row) == "A cat"


def test_headings_of_both_kinds() -> None:
    assert shown("# One #\nTwo\n---\n### Three") == ["One", "", "Two", "", "### Three"]


def test_ordered_lists_count_from_their_first_number() -> None:
    assert shown("3. a\n3. b\n9. c") == ["3. a", "4. b", "5. c"]


def test_nested_lists_and_blank_lines_follow_the_source() -> None:
    text = "- a\n  - b\n    1) c\n\n- d\n\n  more"
    assert shown(text) == ["• a", "  • b", "    1) c", "", "• d", "", "  more"]


def test_wrapped_items_are_indented() -> None:
    assert shown("10. alpha beta gamma", 16) == ["10. alpha beta", "    gamma"]


def test_task_lists() -> None:
    assert shown("- [ ] open\n- [x] done\n- [y] text") == ["☐ open", "☑ done", "• [y] text"]


def test_quotes_nest_and_hold_blocks() -> None:
    text = "> a\nlazy\n> > b\n>\n> - c"
    assert shown(text) == ["│ a", "│ lazy", "│", "│ │ b", "│", "│ • c"]


def test_rules_are_as_wide_as_the_text() -> None:
    assert shown("a\n\n***", 5) == ["a", "", "─────"]


def test_fenced_and_indented_code_with_its_language() -> None:
    text = "```python title=x\nif x:\n\ty = 1\n```\n\n    plain\n\n      code"
    expected = ["python", "  if x:", "      y = 1", "", "  plain", "", "    code"]
    assert shown(text) == expected


def test_long_code_lines_are_wrapped_not_cut() -> None:
    assert shown("```\nabcdefghijklmnop\n```", 12) == ["  abcdefghij", "  klmnop"]


def test_html_and_entities_are_text() -> None:
    assert shown("<div>\n<p>x</p>\n</div>\n\na <i>b</i> &amp; &lt;c&gt; &#x41;") == [
        "<div>",
        "<p>x</p>",
        "</div>",
        "",
        "a <i>b</i> & <c> A",
    ]


def test_tables_are_aligned() -> None:
    text = "| name | n | mid |\n|:--|--:|:-:|\n| a | 1 | x |\n| long name | 22 | **y** |"
    assert shown(text) == [
        "name      │  n │ mid",
        "──────────┼────┼────",
        "a         │  1 │  x",
        "long name │ 22 │  y",
    ]


def test_wide_tables_shrink_and_wrap_their_cells() -> None:
    text = "| id | what |\n|--|--|\n| 1 | some words that need more room |\n| 2 | b |"
    assert shown(text, 22) == [
        "id │ what",
        "───┼──────────────────",
        "1  │ some words that",
        "   │ need more room",
        "───┼──────────────────",
        "2  │ b",
    ]


def test_tables_that_do_not_fit_become_records() -> None:
    text = "|alpha column|beta column|gamma column|delta column|\n|-|-|-|-|\n"
    text += "|first value|second one|third one|4|"
    assert shown(text, 30) == [
        "alpha column: first value",
        "beta column: second one",
        "gamma column: third one",
        "delta column: 4",
    ]


def test_cells_with_wide_characters_are_measured_in_columns() -> None:
    rows = shown("| 漢字 | b |\n|--|--|\n| a | 1 |")
    assert rows == ["漢字 │ b", "─────┼──", "a    │ 1"]


def test_ascii_symbols() -> None:
    text = "- a\n- [x] b\n\n> q\n\n|a|b|\n|-|-|\n|1|2|"
    rows = shown(text, theme=Theme(PLAIN, symbols=ASCII))
    assert rows == ["* a", "[x] b", "", "| q", "", "a | b", "--+--", "1 | 2"]


def test_screen_reader_gets_words_and_no_borders() -> None:
    text = "## T\n\n- [x] b\n- c\n\n> q\n\n```py\nx\n```\n\n|a|b|\n|-|-|\n|1|2|\n\n---"
    assert shown(text, theme=Theme(PLAIN, linear=True)) == [
        "Heading 2: T",
        "",
        "Done: b",
        "- c",
        "",
        "Quote:",
        "q",
        "",
        "Code, py:",
        "x",
        "End of code.",
        "",
        "Table with 2 columns: a, b",
        "Row 1: a: 1; b: 2",
        "",
        "(section break)",
    ]


def test_foreign_control_sequences_never_reach_the_rows() -> None:
    text = "a\x1b[31mb\x07 \x9b2J `\x1b]0;t\x07c` [\x1b[1mx](https://e.org/\x1b) &#27;[2J"
    text += "\n\n```\n\x1b[2Jz\r\n```"
    rows = Markdown(Theme(PLAIN), text, hyperlinks=False).render(60)
    assert all(row.isprintable() for row in rows)
    assert "ab" in rows[0]


def test_padding_precedes_text_only() -> None:
    rows = Markdown(Theme(PLAIN), "alpha beta\n\nc", 2).render(9)
    assert list(rows) == ["  alpha", "  beta", "", "  c"]


@pytest.mark.parametrize("width", [1, 2, 3, 7])
def test_narrow_screens_hold_every_element(width: int) -> None:
    text = (
        "# H\n\n- a **漢字** b\n  - c\n    > d\n\n|a|b|\n|-|-|\n|1|2|\n\n```py\nabcdef\n```\n\n12. x\n\n---"
    )
    rows = Markdown(Theme(DARK_TOKENS), text, 2).render(width)
    assert rows
    assert all(visible_width(row) <= width for row in rows)


def test_deep_nesting_stays_readable_and_keeps_its_text() -> None:
    rows = shown(">" * 300 + " deep\n\nafter", 30)
    assert any("deep" in row for row in rows)
    assert rows[-1] == "after"
    assert "last" in " ".join(shown("\n".join("  " * n + "- x" for n in range(60)) + "\n\nlast", 40))


def test_empty_text_has_no_rows() -> None:
    markdown = Markdown(Theme(PLAIN))
    assert list(markdown.render(20)) == []
    markdown.set_text("   \n\n")
    assert list(markdown.render(20)) == []


def test_rows_are_the_same_object_until_something_changes() -> None:
    markdown = Markdown(Theme(PLAIN), "a\n\nb")
    rows = markdown.render(20)
    assert isinstance(rows, Rows)
    assert markdown.render(20) is rows
    markdown.set_text("a\n\nb")
    assert markdown.render(20) is rows
    assert markdown.render(10) is not rows
    markdown.set_text("c")
    assert list(markdown.render(20)) == ["c"]


def test_new_palette_is_used_after_invalidate() -> None:
    theme = Theme(PLAIN)
    markdown = Markdown(theme, "# a")
    assert list(markdown.render(20)) == ["a"]
    theme.use({"heading": StyleSpec(bold=True)})
    markdown.invalidate()
    assert list(markdown.render(20)) == ["\x1b[1ma\x1b[22m"]


def test_preload_needs_no_text() -> None:
    preload()
    assert shown("x") == ["x"]


def test_overlong_headings_are_text() -> None:
    rows = shown("# " + "word " * 500 + "\n\nend", 80)
    assert rows[0].startswith("# word")
    assert rows[-1] == "end"


def test_failing_parser_leaves_the_text_readable(monkeypatch: pytest.MonkeyPatch) -> None:
    from tau.tui.widgets.markdown import parse

    def fail(*_: object) -> None:
        raise RuntimeError("bug")

    monkeypatch.setattr(parse, "parse_inline", fail)
    assert shown("a **b**") == ["a **b**"]
    monkeypatch.setattr(parse, "parse_blocks", fail)
    assert shown("# a\n\nb") == ["# a", "", "b"]
