"""Pixels that the terminal keeps under a number, shared by all pictures made of the same bytes."""

import os
from itertools import count

from tau.tui.images import kitty
from tau.tui.images.marks import ImageSequences

# Numbers are shared by all programs of a terminal: ours begin at a place of our own among the 24 bits.
_numbers = count((os.getpid() * 2_654_435_761 & 0xFFFF) << 8 | 1)
_placements = count(1)
_shared: dict[tuple[int, bytes], "Pixels"] = {}


class Pixels:
    """One picture in the terminal's memory, and the virtual places that must be told again with it."""

    def __init__(self, png: bytes, sequences: ImageSequences) -> None:
        self.number = next(_numbers) % 0xFFFFFF + 1
        self._png = png
        self._sequences = sequences
        self._users: set[int] = set()
        self._virtual: dict[int, str] = {}
        sequences.send_pixels(self.number, self._transmission)

    def place_virtually(self, placement: int, columns: int, rows: int) -> None:
        """Say how large the picture is where placeholders stand for it."""
        command = kitty.place_virtually(self.number, placement, columns, rows)
        if self._virtual.get(placement) != command:
            self._virtual[placement] = command
            if self._sequences.was_sent(self.number):
                self._sequences.send(command)

    def use(self, placement: int) -> None:
        self._users.add(placement)

    def release(self, placement: int) -> None:
        """A picture needs them no more; with the last one they are deleted."""
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
    """A number for one place of a picture."""
    return next(_placements) % 0xFFFFFF + 1


def pixels_of(png: bytes, sequences: ImageSequences) -> Pixels:
    """The pixels of these bytes: known ones if the terminal has them already."""
    key = (id(sequences), png)
    found = _shared.get(key)
    if found is None or not sequences.keeps(found.number):
        found = _shared[key] = Pixels(png, sequences)
    return found
