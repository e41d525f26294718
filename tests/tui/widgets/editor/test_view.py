"""What the editor looks like: border, texts in it, scrolling, placeholder, prompt, cursor, linear mode."""

from hypothesis import given
from hypothesis import strategies as st

from tau.tui.component import CURSOR_MARKER, CommitBoundary
from tau.tui.input.bindings import Keymap
from tau.tui.style import StyleSpec, Theme
from tau.tui.text.width import visible_width
from tau.tui.widgets.editor.editor import Editor
from tests.tui.widgets.editor.editor_rig import (
    KEYS,
    ODD_TEXTS,
    editor,
    paste,
    plain_rows,
    press,
    text_rows,
    typed,
)

COLOURED = Theme(
    {"cursor": StyleSpec(inverse=True), "border": StyleSpec(fg="blue"), "shell": StyleSpec(fg="green")},
    depth="16",
)


def test_empty_editor_is_a_row_between_two_borders_with_its_placeholder() -> None:
    edited = editor(placeholder="Say what to do", prompt="> ")
    assert plain_rows(edited, 20) == ["─" * 20, "> |Say what to do", "─" * 20]
    typed(edited, "x")
    assert text_rows(edited, 20) == ["> x|"]


def test_prompt_precedes_the_first_row_and_the_others_are_indented() -> None:
    edited = editor("one\ntwo three", prompt="> ")
    assert text_rows(edited, 11) == ["> one", "  two ", "  three|"]
    assert text_rows(edited, 5)[0] == "one"


def test_border_texts_are_in_the_upper_border_and_the_right_one_is_dropped_first() -> None:
    edited = editor()
    edited.set_border_text("model", "50%")
    assert plain_rows(edited, 24)[0] == "─ model ────────── 50% ─"
    assert plain_rows(edited, 14)[0] == "─ model ──────"
    assert plain_rows(edited, 8)[0] == "─ mod… ─"
    assert plain_rows(edited, 4)[0] == "────"
    edited.set_border_text("\x1b[31mred\x1b[2J\nline\x1b]0;title\x07")
    assert plain_rows(edited, 24)[0] == "─ red line " + "─" * 13


def test_border_takes_the_given_style() -> None:
    edited = editor(theme=COLOURED)
    blue = edited.render(10)[0]
    edited.border_token = "shell"
    green = edited.render(10)[0]
    assert blue != green
    assert COLOURED["shell"].open in green


def test_editor_grows_to_its_limit_and_then_scrolls_with_marks() -> None:
    limit = [3]
    edited = editor("\n".join("abc"), max_rows=lambda: limit[0])
    assert plain_rows(edited, 12) == ["─" * 12, "a", "b", "c|", "─" * 12]
    press(edited, "shift+enter")
    typed(edited, "d")
    assert plain_rows(edited, 12) == ["─" * 6 + " ↑ 1 ─", "b", "c", "d|", "─" * 12]
    press(edited, "ctrl+home")
    assert plain_rows(edited, 12) == ["─" * 12, "|a", "b", "c", "─" * 6 + " ↓ 1 ─"]
    limit[0] = 10
    assert len(plain_rows(edited, 12)) == 6


def test_view_scrolls_no_more_than_needed() -> None:
    edited = editor("\n".join(map(str, range(10))), max_rows=4)
    assert text_rows(edited) == ["6", "7", "8", "9|"]
    press(edited, "up", "up")
    assert text_rows(edited)[0] == "6"
    press(edited, "up", "up")
    assert text_rows(edited) == ["5|", "6", "7", "8"]
    press(edited, "ctrl+k", "ctrl+k", "down", "down", "ctrl+k")
    assert len(text_rows(edited)) == 4


def test_rows_of_one_long_line_scroll_too() -> None:
    edited = editor("0123456789" * 20, max_rows=3)
    assert len(text_rows(edited, 11)) == 3
    press(edited, "ctrl+home")
    assert text_rows(edited, 11)[0] == "|0123456789"
    assert plain_rows(edited, 11)[-1] == "───── ↓ 1 ─"


def test_cursor_is_drawn_only_on_request() -> None:
    plain, drawn = editor("ab", COLOURED), editor("ab", COLOURED, draw_cursor=True)
    style = COLOURED["cursor"]
    assert style.open
    assert plain.render(10)[1] == f"ab{CURSOR_MARKER}"
    assert drawn.render(10)[1] == f"ab{CURSOR_MARKER}{style(' ')}"
    press(drawn, "left")
    assert drawn.render(10)[1] == f"a{CURSOR_MARKER}{style('b')}"
    drawn.set_text("日\t!")
    press(drawn, "left", "left")
    assert drawn.render(10)[1] == f"日{CURSOR_MARKER}{style(' ')} !"
    drawn.clear()
    paste(drawn, "x" * 1_001)
    press(drawn, "left")
    assert drawn.render(40)[1].startswith(f"{CURSOR_MARKER}{style('[')}Pasted")


def test_without_focus_there_is_no_cursor() -> None:
    edited = editor("ab", COLOURED, draw_cursor=True)
    edited.focused = False
    assert edited.render(10)[1] == "ab"


def test_linear_mode_has_no_border_and_describes_what_is_out_of_view() -> None:
    linear = Theme({}, linear=True)
    edited = editor("\n".join("abcde"), linear, max_rows=2)
    edited.set_border_text("model", "50%")
    assert plain_rows(edited) == ["model", "50%", "3 more lines above", "d", "e|"]
    press(edited, "ctrl+home")
    assert plain_rows(edited)[2:] == ["|a", "b", "3 more lines below"]


def test_same_rows_object_is_returned_until_something_changes() -> None:
    edited = editor("text")
    rows = edited.render(20)
    assert edited.render(20) is rows
    press(edited, "left")
    assert edited.render(20) is not rows
    rows = edited.render(20)
    edited.invalidate()
    assert edited.render(20) is not rows
    rows = edited.render(20)
    edited.focused = False
    assert edited.render(20) is not rows
    assert edited.render(21) is not rows


def test_returned_rows_do_not_change() -> None:
    edited = editor("text")
    rows = edited.render(20)
    copy = list(rows)
    typed(edited, "more")
    edited.render(20)
    assert rows == copy


def test_no_row_is_final() -> None:
    assert editor("text").commit_boundary() == CommitBoundary(0)


def test_restored_text_is_drawn_even_if_version_and_cursor_match() -> None:
    edited = Editor(Theme({}), Keymap())
    edited.restore({"parts": ["aaa"], "cursor": 3})
    assert edited.render(10)[1] == "aaa"
    edited.restore({"parts": ["bbb"], "cursor": 3})
    assert edited.render(10)[1] == "bbb"


@given(
    ODD_TEXTS,
    st.integers(1, 12),
    st.integers(1, 4),
    st.lists(st.sampled_from(["up", "left", "home", "alt+b", "pageUp", "backspace", "ctrl+k"]), max_size=6),
    st.booleans(),
    st.booleans(),
)
def test_any_text_fits_the_width_without_controls(
    text: str, width: int, max_rows: int, moves: list[str], linear: bool, draw_cursor: bool
) -> None:
    edited = editor(text, Theme({}, linear=linear), max_rows=max_rows, draw_cursor=draw_cursor, prompt="> ")
    edited.set_border_text(text, text)
    paste(edited, text)
    press(edited, *moves)
    rows = edited.render(width)
    whole = "\n".join(rows)
    assert whole.count(CURSOR_MARKER) == 1
    assert all(visible_width(row) <= width for row in rows)
    left = next(row for row in rows if CURSOR_MARKER in row).partition(CURSOR_MARKER)[0]
    assert visible_width(left) < width
    seen = whole.replace(CURSOR_MARKER, "").replace("\n", "")
    assert not any(char < " " or "\x7f" <= char <= "\x9f" or "\ud800" <= char <= "\udfff" for char in seen)
    sent = edited.text.replace("\n", "").replace("\t", "")
    assert not any(char < " " or "\x7f" <= char <= "\x9f" or "\ud800" <= char <= "\udfff" for char in sent)


def test_custom_keys_are_used() -> None:
    keys = Keymap({"tui.editor.cursorLineStart": ["f5"]})
    edited = editor("abc", keys=keys)
    press(edited, "f5")
    assert text_rows(edited) == ["|abc"]
    assert press(edited, "ctrl+a") == [False]
    assert KEYS.keys_of("tui.editor.cursorLineStart") == ("home", "ctrl+a")
