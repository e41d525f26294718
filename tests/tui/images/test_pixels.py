"""Pixels in the terminal's memory: shared, and sent again after they were dropped."""

from tau.tui.images.kitty import share_pixels
from tau.tui.images.marks import MAX_PENDING, ImageSequences


def test_pixels_dropped_because_of_the_limit_are_sent_again() -> None:
    sequences = ImageSequences()
    first = share_pixels(b"first", sequences)
    assert share_pixels(b"first", sequences) is first
    for number in range(MAX_PENDING):
        share_pixels(b"%d" % number, sequences)
    again = share_pixels(b"first", sequences)
    assert again is not first and sequences.has_pixels(again.number)
    assert f"i={again.number}" in sequences.take_pending()
