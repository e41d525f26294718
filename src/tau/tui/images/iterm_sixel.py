"""iTerm2 and Sixel images: the pixels are part of the row and are painted starting at the cursor.

They move the cursor and scroll at the bottom of the screen. So the last row of an image carries them, when
all its rows are on the screen, and the cursor is saved before moving up and restored afterwards.
"""

import re
from binascii import b2a_base64
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

COLORS = 64
_BAND = 6


def paint_upwards(sequence: str, rows: int) -> str:
    """Wrap a sequence that paints `rows` rows, for use in the last of them."""
    up = f"\x1b[{rows - 1}A" if rows > 1 else ""
    return f"\x1b7{up}{sequence}\x1b8"


def encode_iterm2(data: bytes, columns: int, rows: int) -> str:
    """Return the sequence for a file of any format the terminal supports, scaled to these cells."""
    text = b2a_base64(data, newline=False).decode("ascii")
    return (
        f"\x1b]1337;File=inline=1;size={len(data)};width={columns};height={rows}"
        f";preserveAspectRatio=1:{text}\x07"
    )


def encode_sixel(picture: "Picture") -> str:
    """Encode the pixels in six-row bands; transparent pixels keep the background."""
    width, height = picture.size
    opaque = picture.getchannel("A").point([0] * 128 + [1] * 128).tobytes()
    paletted = picture.convert("RGB").quantize(COLORS)
    # Index 0 means "no color": the palette begins at 1.
    indices = bytes((index + 1) * seen for index, seen in zip(paletted.tobytes(), opaque, strict=True))
    palette = paletted.getpalette() or []
    used = sorted(set(indices) - {0})
    head = "".join(f"#{number};2;{_percent(palette, number - 1)}" for number in used)
    bands = [_band(indices[top * width : (top + _BAND) * width], width) for top in range(0, height, _BAND)]
    return f'\x1bP0;1;0q"1;1;{width};{height}{head}{"-".join(bands)}\x1b\\'


def _percent(palette: list[int], index: int) -> str:
    return ";".join(str(round(value * 100 / 255)) for value in palette[index * 3 : index * 3 + 3])


def _band(pixels: bytes, width: int) -> str:
    """Encode one band: for each color, characters for which of a column's six pixels have it."""
    rows = [pixels[at : at + width] for at in range(0, len(pixels), width)]
    blank = int.from_bytes(b"?" * width, "big")
    layers = []
    for color in sorted(set(pixels) - {0}):
        # Whole rows are added as one number: bytes never overflow, since each row has its own bit.
        total = blank
        for bit, row in enumerate(rows):
            if color in row:
                table = bytearray(256)
                table[color] = 1 << bit
                total += int.from_bytes(row.translate(table), "big")
        text = total.to_bytes(width, "big").decode("ascii").rstrip("?")
        layers.append(f"#{color}" + re.sub(r"(.)\1{3,}", lambda run: f"!{len(run[0])}{run[1]}", text))
    return "$".join(layers)
