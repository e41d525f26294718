"""Where the history ends in a frame of another width."""

from tau.tui.render.audit import find_rewrapped_start, wrapped_heights


def wrapped(text: str, width: int) -> list[str]:
    return [text[at : at + width] for at in range(0, len(text), width)]


def test_wrapped_text_is_found_again() -> None:
    text = "".join(chr(97 + at % 26) for at in range(200))
    old, new = wrapped(text, 20), wrapped(text, 10)
    assert find_rewrapped_start(old[6:], new, len(new)) == 12


def test_cut_rows_are_counted_as_rows() -> None:
    old = ["a" * 10] * 10
    assert find_rewrapped_start(old[4:], ["a" * 30] * 10, 10) == 4
    assert find_rewrapped_start(old[4:], ["a" * 5] * 10, 10) == 0


def test_empty_pending_rows_start_at_the_end() -> None:
    assert find_rewrapped_start([], ["a", "b"], 2) == 2


def test_rows_wrapped_by_the_terminal_take_more_rows() -> None:
    assert sum(wrapped_heights(["", "\x1b[1mabc\x1b[22m", "abcdefg"], 3)) == 1 + 1 + 3


def test_text_that_grew_with_the_change_is_searched_above() -> None:
    new = ["before", "the first row", "that was pending", "much more text than there was before", "end"]
    assert find_rewrapped_start(["the first row that was pending", "end"], new, len(new)) == 1
