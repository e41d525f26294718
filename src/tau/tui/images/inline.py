"""Pictures of iTerm2 and Sixel: the pixels stand in the row itself and are painted from the cursor on.

They move the cursor and scroll at the bottom of the screen. So the last row of a picture carries them, with
all its rows on the screen by then, and the cursor is saved before it goes up and restored afterwards.
"""

import re
from binascii import b2a_base64
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

COLORS = 64
_BAND = 6


def upwards(sequence: str, rows: int) -> str:
    """A sequence that paints `rows` rows, for the last of them."""
    up = f"\x1b[{rows - 1}A" if rows > 1 else ""
    return f"\x1b7{up}{sequence}\x1b8"


def iterm2(data: bytes, columns: int, rows: int) -> str:
    """A file of any format that the terminal knows, scaled to these cells."""
    text = b2a_base64(data, newline=False).decode("ascii")
    return (
        f"\x1b]1337;File=inline=1;size={len(data)};width={columns};height={rows}"
        f";preserveAspectRatio=1:{text}\x07"
    )


def sixel(picture: "Picture") -> str:
    """The pixels in six-row bands; what is see-through keeps the background."""
    width, height = picture.size
    opaque = picture.getchannel("A").point([0] * 128 + [1] * 128).tobytes()
    paletted = picture.convert("RGB").quantize(COLORS)
    # Number 0 stands for "no colour": the palette begins at 1.
    indices = bytes((index + 1) * seen for index, seen in zip(paletted.tobytes(), opaque, strict=True))
    palette = paletted.getpalette() or []
    used = sorted(set(indices) - {0})
    head = "".join(f"#{number};2;{_percent(palette, number - 1)}" for number in used)
    bands = [_band(indices[top * width : (top + _BAND) * width], width) for top in range(0, height, _BAND)]
    return f'\x1bP0;1;0q"1;1;{width};{height}{head}{"-".join(bands)}\x1b\\'


def _percent(palette: list[int], index: int) -> str:
    return ";".join(str(round(value * 100 / 255)) for value in palette[index * 3 : index * 3 + 3])


def _band(pixels: bytes, width: int) -> str:
    """One band: for each colour a row of characters that say which of the six pixels of a column have it."""
    rows = [pixels[at : at + width] for at in range(0, len(pixels), width)]
    blank = int.from_bytes(b"?" * width, "big")
    layers = []
    for color in sorted(set(pixels) - {0}):
        # Whole rows are added as one number: a byte never overflows, since each row has a bit of its own.
        total = blank
        for bit, row in enumerate(rows):
            if color in row:
                table = bytearray(256)
                table[color] = 1 << bit
                total += int.from_bytes(row.translate(table), "big")
        text = total.to_bytes(width, "big").decode("ascii").rstrip("?")
        layers.append(f"#{color}" + re.sub(r"(.)\1{3,}", _repeated, text))
    return "$".join(layers)


def _repeated(run: re.Match[str]) -> str:
    return f"!{run.end() - run.start()}{run[1]}"
