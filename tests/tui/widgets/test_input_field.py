"""The single-line field: horizontal scrolling, hiding, validation, and the same keys as the editor."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tau.tui.component import CURSOR_MARKER, CommitBoundary
from tau.tui.style import StyleSpec, Theme
from tau.tui.text.width import visible_width
from tau.tui.widgets.input_field import MAX_CHARS, InputField
from tests.tui.widgets.editor.editor_rig import KEYS, ODD_TEXTS, PLAIN, paste, plain_rows, press, typed


def field(text: str = "", theme: Theme = PLAIN, **options: Any) -> InputField:
    made = InputField(theme, KEYS, text, **options)
    made.focused = True
    return made


def test_shows_its_text_with_the_prompt_and_the_cursor() -> None:
    made = field("abc", prompt="Name: ")
    assert plain_rows(made, 20) == ["Name: abc|"]
    press(made, "left")
    assert plain_rows(made, 20) == ["Name: ab|c"]
    assert plain_rows(made, 8) == ["ab|c"]


def test_long_text_scrolls_with_the_cursor() -> None:
    made = field("0123456789")
    assert plain_rows(made, 6) == ["56789|"]
    press(made, *["left"] * 7)
    assert plain_rows(made, 6) == ["|345678"]
    press(made, "home")
    assert plain_rows(made, 6) == ["|012345"]
    press(made, "end", *["backspace"] * 7)
    assert plain_rows(made, 6) == ["012|"]


def test_wide_characters_are_never_split() -> None:
    made = field("日本語テキスト")
    assert plain_rows(made, 6) == [" スト|"]
    press(made, "home")
    assert plain_rows(made, 5) == ["|日本 "]
    assert plain_rows(made, 1) == ["| "]


def test_hidden_text_shows_only_dots() -> None:
    made = field("sk-secret key", mask=True)
    assert plain_rows(made, 20) == ["•" * 13 + "|"]
    press(made, "alt+b")
    assert plain_rows(made, 20) == ["|" + "•" * 13]
    press(made, "alt+d")
    assert made.text == ""
    made.set_text("e\u0301日")
    assert plain_rows(made, 20) == ["••|"]
    assert press(made, "ctrl+]") == [False]


def test_enter_submits_valid_input() -> None:
    sent: list[str] = []
    made = field(validate=lambda text: None if text else "Type a name first.", on_submit=sent.append)
    press(made, "enter")
    assert plain_rows(made, 30) == ["|", "Type a name first."]
    assert (sent, made.message) == ([], "Type a name first.")
    typed(made, "x")
    assert plain_rows(made, 30) == ["x|"]
    press(made, "enter")
    assert sent == ["x"]
    assert made.text == "x"


def test_escape_cancels() -> None:
    cancelled: list[bool] = []
    made = field("x", on_cancel=lambda: cancelled.append(True))
    press(made, "escape")
    assert cancelled == [True]
    assert press(field("x"), "escape", "enter") == [False, False]


def test_changes_are_reported() -> None:
    seen: list[str] = []
    made = field(on_change=seen.append)
    typed(made, "ab")
    press(made, "left", "backspace", "ctrl+-")
    assert seen == ["a", "ab", "b", "ab"]


def test_paste_becomes_one_clean_line() -> None:
    made = field()
    paste(made, "key\x1b[31m\r\nwith\tmore\n")
    assert made.text == "key with more"


def test_field_is_bounded_and_says_so() -> None:
    made = field()
    paste(made, "x" * (MAX_CHARS + 1))
    assert len(made.text) == MAX_CHARS
    assert made.message == "A field holds at most 100,000 characters; the rest was dropped."
    press(made, "backspace")
    assert made.message == ""


def test_editor_keys_work() -> None:
    made = field("one two three")
    press(made, "ctrl+w", "ctrl+w", "ctrl+y")
    assert made.text == "one two three"
    press(made, "ctrl+a", "alt+f", "ctrl+k")
    assert made.text == "one"
    press(made, "ctrl+y", "ctrl+a", "ctrl+]")
    typed(made, "w")
    assert plain_rows(made, 30) == ["one t|wo three"]


def test_placeholder_and_drawn_cursor() -> None:
    theme = Theme({"cursor": StyleSpec(inverse=True)}, depth="16")
    style = theme["cursor"]
    made = field(theme=theme, placeholder="a name", draw_cursor=True)
    assert made.render(20) == [f"{CURSOR_MARKER}{style('a')} name"]
    made.set_text("日x")
    assert made.render(20) == [f"日x{CURSOR_MARKER}{style(' ')}"]
    press(made, "home")
    assert made.render(20) == [f"{CURSOR_MARKER}{style('日')}x"]
    made.focused = False
    assert made.render(20) == ["日x"]


def test_same_rows_are_returned_until_something_changes() -> None:
    made = field("x")
    rows = made.render(10)
    assert made.render(10) is rows
    made.set_message("Wrong.")
    assert made.render(10) is not rows
    assert made.commit_boundary() == CommitBoundary(0)


@given(
    ODD_TEXTS,
    st.integers(1, 15),
    st.lists(st.sampled_from(["left", "right", "home", "alt+b", "backspace"]), max_size=8),
    st.booleans(),
    st.booleans(),
)
def test_any_text_fits_and_has_its_cursor(
    text: str, width: int, keys: list[str], mask: bool, draw_cursor: bool
) -> None:
    made = field(text, mask=mask, draw_cursor=draw_cursor, prompt="> ")
    made.render(width)
    press(made, *keys)
    made.set_message(text)
    rows = made.render(width)
    assert all(visible_width(row) <= width for row in rows)
    assert "".join(rows).count(CURSOR_MARKER) == 1
    left = rows[0].partition(CURSOR_MARKER)[0]
    assert visible_width(left) < width
    assert not any(
        char < " " or "\x7f" <= char <= "\x9f" for char in "".join(rows).replace(CURSOR_MARKER, "")
    )
