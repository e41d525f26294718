"""The Kitty graphics protocol: pixels are sent once under an id and placed any number of times."""

import os
from binascii import b2a_base64
from itertools import count

from tau.tui.images.marks import ImageSequences

# Ids are shared by all programs of a terminal: ours begin at an offset derived from the process id.
_numbers = count((os.getpid() * 2_654_435_761 & 0xFFFF) << 8 | 1)
_placements = count(1)
_shared: dict[tuple[int, bytes], "Pixels"] = {}
CHUNK_CHARS = 4096
PLACEHOLDER = "\U0010eeee"

# Diacritics that number rows and columns of placeholders, in the protocol's order.
_MARK_RANGES = (
    "305 30D-30E 310 312 33D-33F 346 34A-34C 350-352 357 35B 363-36F 483-487 592-595 597-599 59C-5A1 5A8-5A9 "
    "5AB-5AC 5AF 5C4 610-617 657-65B 65D-65E 6D6-6DC 6DF-6E2 6E4 6E7-6E8 6EB-6EC 730 732-733 735-736 73A 73D "
    "73F-741 743 745 747 749-74A 7EB-7F1 7F3 816-819 81B-823 825-827 829-82D 951 953-954 F82-F83 F86-F87 "
    "135D-135F 17DD 193A 1A17 1A75-1A7C 1B6B 1B6D-1B73 1CD0-1CD2 1CDA-1CDB 1CE0 1DC0-1DC1 1DC3-1DC9 "
    "1DCB-1DCC 1DD1-1DE6 1DFE 20D0-20D1 20D4-20D7 20DB-20DC 20E1 20E7 20E9 20F0 2CEF-2CF1 2DE0-2DFF"
)


def _marks() -> str:
    marks = ""
    for part in _MARK_RANGES.split():
        first, _, last = part.partition("-")
        marks += "".join(map(chr, range(int(first, 16), int(last or first, 16) + 1)))
    return marks


MARKS = _marks()
MAX_PLACEHOLDER_SIDE = len(MARKS)


def transmit(image: int, png: bytes) -> str:
    """Send the pixels without showing them; the terminal does not reply."""
    text = b2a_base64(png, newline=False).decode("ascii")
    chunks = [text[at : at + CHUNK_CHARS] for at in range(0, len(text), CHUNK_CHARS)] or [""]
    last = len(chunks) - 1
    return "".join(
        f"\x1b_G{f'a=t,f=100,i={image},' if number == 0 else ''}q=2,m={int(number < last)};{chunk}\x1b\\"
        for number, chunk in enumerate(chunks)
    )


def place(image: int, placement: int, columns: int, rows: int) -> str:
    """Show it at the cursor, which does not move. Repeating a placement moves it."""
    return f"\x1b_Ga=p,i={image},p={placement},c={columns},r={rows},C=1,q=2\x1b\\"


def place_virtually(image: int, placement: int, columns: int, rows: int) -> str:
    """Show it wherever its placeholders are."""
    return f"\x1b_Ga=p,U=1,i={image},p={placement},c={columns},r={rows},q=2\x1b\\"


def delete(image: int) -> str:
    """Delete the pixels and all placements."""
    return f"\x1b_Ga=d,d=I,i={image},q=2\x1b\\"


def delete_placement(image: int, placement: int) -> str:
    """Delete one placement; the pixels stay."""
    return f"\x1b_Ga=d,d=i,i={image},p={placement},q=2\x1b\\"


def placeholder_rows(image: int, placement: int, columns: int, rows: int) -> list[str]:
    """Return text that the terminal replaces with the image: colors encode ids, diacritics the position.

    Each cell says which one it is, so a row can be cut, covered and scrolled like any other text.
    """
    opening = f"\x1b[38;2;{_bytes(image)}m\x1b[58;2;{_bytes(placement)}m"
    return [
        opening
        + "".join(PLACEHOLDER + MARKS[row] + MARKS[column] for column in range(columns))
        + "\x1b[59;39m"
        for row in range(rows)
    ]


def _bytes(number: int) -> str:
    return f"{number >> 16 & 255};{number >> 8 & 255};{number & 255}"


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
        command = place_virtually(self.number, placement, columns, rows)
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
                self._sequences.send(delete_placement(self.number, placement))
            return
        self._sequences.drop(self.number, delete(self.number))
        _shared.pop((id(self._sequences), self._png), None)

    def _transmission(self) -> str:
        return transmit(self.number, self._png) + "".join(self._virtual.values())


def new_placement() -> int:
    return next(_placements) % 0xFFFFFF + 1


def share_pixels(png: bytes, sequences: ImageSequences) -> Pixels:
    """Return the pixels of these bytes, reusing those the terminal already has."""
    key = (id(sequences), png)
    pixels = _shared.get(key)
    if pixels is None or not sequences.has_pixels(pixels.number):
        pixels = _shared[key] = Pixels(png, sequences)
    return pixels
