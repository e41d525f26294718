"""Pixels in the memory of the terminal: shared, and sent again where they were dropped."""

from tau.tui.images.marks import MAX_PENDING, ImageSequences
from tau.tui.images.pixels import share_pixels


def test_pixels_that_were_dropped_because_of_their_number_are_sent_again() -> None:
    sequences = ImageSequences()
    first = share_pixels(b"first", sequences)
    assert share_pixels(b"first", sequences) is first
    for number in range(MAX_PENDING):
        share_pixels(b"%d" % number, sequences)
    again = share_pixels(b"first", sequences)
    assert again is not first and sequences.keeps(again.number)
    assert f"i={again.number}" in sequences.take_pending()
