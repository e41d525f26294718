"""Pixels in the memory of the terminal: shared, and sent again where they were dropped."""

from tau.tui.images.marks import MAX_PENDING, ImageSequences
from tau.tui.images.pixels import pixels_of


def test_pixels_that_were_dropped_because_of_their_number_are_sent_again() -> None:
    sequences = ImageSequences()
    first = pixels_of(b"first", sequences)
    assert pixels_of(b"first", sequences) is first
    for number in range(MAX_PENDING):
        pixels_of(b"%d" % number, sequences)
    again = pixels_of(b"first", sequences)
    assert again is not first and sequences.keeps(again.number)
    assert f"i={again.number}" in sequences.take_pending()
