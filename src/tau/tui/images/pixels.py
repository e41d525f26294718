"""Pixels that the terminal stores under an id, shared by all images with the same bytes."""

import os
from itertools import count

from tau.tui.images import kitty
from tau.tui.images.marks import ImageSequences

# Ids are shared by all programs of a terminal: ours begin at an offset derived from the process id.
_numbers = count((os.getpid() * 2_654_435_761 & 0xFFFF) << 8 | 1)
_placements = count(1)
_shared: dict[tuple[int, bytes], "Pixels"] = {}


class Pixels:
    """One image in the terminal's memory, and the virtual placements to resend with it."""

    def __init__(self, png: bytes, sequences: ImageSequences) -> None:
        self.number = next(_numbers) % 0xFFFFFF + 1
        self._png = png
        self._sequences = sequences
        self._users: set[int] = set()
        self._virtual: dict[int, str] = {}
        sequences.send_pixels(self.number, self._transmission)

    def place_virtually(self, placement: int, columns: int, rows: int) -> None:
        """Set the size of the image for its placeholders."""
        command = kitty.place_virtually(self.number, placement, columns, rows)
        if self._virtual.get(placement) != command:
            self._virtual[placement] = command
            if self._sequences.was_sent(self.number):
                self._sequences.send(command)

    def use(self, placement: int) -> None:
        self._users.add(placement)

    def release(self, placement: int) -> None:
        """Drop one use; the last one deletes the pixels."""
        self._users.discard(placement)
        self._virtual.pop(placement, None)
        if self._users:
            if self._sequences.was_sent(self.number):
                self._sequences.send(kitty.delete_placement(self.number, placement))
            return
        self._sequences.drop(self.number, kitty.delete(self.number))
        _shared.pop((id(self._sequences), self._png), None)

    def _transmission(self) -> str:
        return kitty.transmit(self.number, self._png) + "".join(self._virtual.values())


def new_placement() -> int:
    """Return a new placement id."""
    return next(_placements) % 0xFFFFFF + 1


def share_pixels(png: bytes, sequences: ImageSequences) -> Pixels:
    """Return the pixels of these bytes, reusing those the terminal already has."""
    key = (id(sequences), png)
    found = _shared.get(key)
    if found is None or not sequences.keeps(found.number):
        found = _shared[key] = Pixels(png, sequences)
    return found
