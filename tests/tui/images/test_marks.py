"""Image sequences in the renderer: which are ours, and what to send beside a frame."""

from tau.tui.images import iterm_sixel, kitty
from tau.tui.images.marks import ImageSequences

PLACE = kitty.place(7, 1, 10, 4)
UPWARDS = iterm_sixel.paint_upwards(iterm_sixel.encode_iterm2(b"data", 10, 4), 4)


def test_only_registered_strings_pass() -> None:
    sequences = ImageSequences()
    assert not sequences.is_image_row(PLACE)
    sequences.add(PLACE)
    assert sequences.is_image_row(PLACE)
    assert sequences.is_image_row(f"| {PLACE}  |")
    assert not sequences.is_image_row("plain text")
    assert not sequences.is_image_row(kitty.place(7, 1, 11, 4))
    assert not sequences.is_image_row(PLACE[:-2])
    sequences.forget(PLACE)
    assert not sequences.is_image_row(PLACE)


def test_row_with_a_foreign_sequence_beside_ours_does_not_pass() -> None:
    sequences = ImageSequences()
    sequences.add(PLACE)
    for strange in ("\x1b_Ga=d\x1b\\", "\x1b]1337;File=:AA\x07", "\x1bPq#0\x1b\\"):
        assert not sequences.is_image_row(PLACE + strange)
        assert not sequences.is_image_row(strange + PLACE)


def test_row_is_split_into_our_sequences_and_text() -> None:
    sequences = ImageSequences()
    sequences.add(PLACE)
    sequences.add(UPWARDS, 3)
    assert sequences.parts(f"a{PLACE}b{UPWARDS}") == [
        (False, "a"),
        (True, PLACE),
        (False, "b"),
        (True, UPWARDS),
    ]
    assert sequences.parts("\x1b[31mred\x1b[39m") == [(False, "\x1b[31mred\x1b[39m")]
    assert sequences.without_images(f"a{PLACE}b{UPWARDS}c") == "abc"
    assert sequences.parts("") == []


def test_picture_that_starts_above_the_screen_is_left_out() -> None:
    sequences = ImageSequences()
    sequences.add(PLACE)
    sequences.add(UPWARDS, 3)
    assert sequences.fit_row(f"x{UPWARDS}", 3) == f"x{UPWARDS}"
    assert sequences.fit_row(f"x{UPWARDS}", 2) == "x"
    assert sequences.fit_row(PLACE, 0) == PLACE
    assert sequences.fit_row("text", 0) == "text"


def test_oldest_sequences_are_forgotten() -> None:
    sequences = ImageSequences(max_sequences=2)
    rows = [sequences.add(kitty.place(number, 1, 1, 1)) for number in (1, 2, 3)]
    assert [sequences.is_image_row(row) for row in rows] == [False, True, True]
    small = ImageSequences(max_chars=len(rows[0]) + 3)
    assert [small.is_image_row(small.add(row)) for row in rows] == [True, True, True]
    assert [small.is_image_row(row) for row in rows] == [False, False, True]


def test_pixels_are_sent_once_and_again_after_the_screen_was_cleared() -> None:
    sequences = ImageSequences()
    sequences.send_pixels(7, lambda: "<7>")
    sequences.send_pixels(8, lambda: "<8>")
    sequences.send("<place>")
    assert not sequences.was_sent(7)
    assert sequences.take_pending() == "<7><8><place>"
    assert sequences.take_pending() == ""
    assert sequences.was_sent(7)
    sequences.drop(8, "<delete 8>")
    assert sequences.take_pending() == "<delete 8>"
    sequences.screen_cleared()
    assert sequences.take_pending() == "<7>"


def test_unsent_pixels_need_no_deletion() -> None:
    sequences = ImageSequences()
    sequences.send_pixels(7, lambda: "<7>")
    sequences.drop(7, "<delete 7>")
    sequences.drop(9, "<delete 9>")
    assert sequences.take_pending() == ""
