"""Wrapped text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.tui.style import StyleSpec, Theme
from tau.tui.text.width import visible_width
from tau.tui.widgets import text as module
from tau.tui.widgets.text import Text
from tests.support.palettes import DARK_TOKENS
from tests.tui.text.strategies import anything, is_closed

PLAIN = Theme({})
STYLED = Theme({"bold": StyleSpec(bold=True), "back": StyleSpec(bg="red")}, depth="16")


def test_lines_are_wrapped() -> None:
    assert list(Text(PLAIN, "one two three\nfour").render(8)) == ["one two", "three", "four"]
    assert list(Text(PLAIN).render(8)) == []
    assert list(Text(PLAIN, "a\n\nb\n").render(8)) == ["a", "", "b", ""]


def test_keeps_its_rows_until_something_changes() -> None:
    text = Text(PLAIN, "one")
    rows = text.render(8)
    assert text.render(8) is rows
    text.append("")
    assert text.render(8) is rows
    text.append(" two")
    assert list(text.render(8)) == ["one two"]
    assert list(text.render(4)) == ["one", "two"]
    text.set_text("new")
    assert list(text.render(4)) == ["new"]


def test_each_row_is_styled() -> None:
    assert list(Text(STYLED, "a\nb", "bold").render(4)) == ["\x1b[1ma\x1b[22m", "\x1b[1mb\x1b[22m"]


def test_new_palette_is_used_after_invalidate() -> None:
    theme = Theme({"a": StyleSpec(bold=True)})
    text = Text(theme, "x", "a")
    assert list(text.render(5)) == ["\x1b[1mx\x1b[22m"]
    theme.use({"a": StyleSpec(italic=True)})
    text.invalidate()
    assert list(text.render(5)) == ["\x1b[3mx\x1b[23m"]


def test_colors_of_the_text_are_kept_only_on_request_and_if_supported() -> None:
    red = "\x1b[31mred\nmore\x1b[0m"
    assert list(Text(PLAIN, red).render(9)) == ["red", "more"]
    assert list(Text(PLAIN, red, styled=True).render(9)) == ["\x1b[31mred\x1b[39m", "\x1b[31mmore\x1b[39m"]
    assert list(Text(Theme({}, depth="none"), red, styled=True).render(9)) == ["red", "more"]


def test_growing_text_does_not_lay_out_finished_lines_again(monkeypatch: pytest.MonkeyPatch) -> None:
    wrapped: list[str] = []
    real = module.wrap

    def watched(text: str, width: int) -> list[str]:
        wrapped.append(text)
        return real(text, width)

    monkeypatch.setattr(module, "wrap", watched)
    text = Text(PLAIN, "first line\n" * 50)
    text.render(20)
    wrapped.clear()
    text.append("second")
    text.render(20)
    text.append(" line\nthird")
    text.render(20)
    assert "first" not in "".join(wrapped)
    assert list(text.render(20)) == ["first line"] * 50 + ["second line", "third"]


def test_growing_long_line_is_laid_out_only_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    wrapped = 0
    real = module.wrap

    def watched(text: str, width: int) -> list[str]:
        nonlocal wrapped
        wrapped += len(text)
        return real(text, width)

    monkeypatch.setattr(module, "wrap", watched)
    text, whole = Text(PLAIN), ""
    for number in range(2000):
        text.append(f"word{number} ")
        whole += f"word{number} "
        text.render(40)
    assert len(whole) > 8 * module.LONG_LINE_CHARS
    assert wrapped < 2000 * 2 * module.LONG_LINE_CHARS
    assert list(text.render(40)) == real(whole, 40)


pieces = st.lists(anything | st.text("ab \n", max_size=30), max_size=6)


@given(pieces, st.integers(1, 24), st.booleans(), st.booleans(), st.sampled_from([1, 10, 2000]))
def test_chunks_give_the_rows_of_the_whole(
    parts: list[str], width: int, styled: bool, looked_at: bool, long_chars: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LONG_LINE_CHARS", long_chars)
        growing = Text(PLAIN, styled=styled)
        for part in parts:
            growing.append(part)
            if looked_at:
                growing.render(width)
        rows = list(growing.render(width))
    assert rows == list(Text(PLAIN, "".join(parts), styled=styled).render(width))


@given(anything, st.integers(1, 20), st.booleans())
def test_any_text_fits(text: str, width: int, styled: bool) -> None:
    rows = Text(Theme(DARK_TOKENS), text, "accent", styled=styled).render(width)
    assert all(visible_width(row) <= width and is_closed(row) and "\n" not in row for row in rows)
