"""Small pictures of every format, made by hand or by Pillow."""

import struct
import zlib
from io import BytesIO

from PIL import Image as Pillow


def png(width: int, height: int, color: tuple[int, int, int] = (200, 30, 30)) -> bytes:
    """A PNG of one color."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes(color) * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def made(kind: str, width: int, height: int, **options: object) -> bytes:
    """A picture with a few colors, in a format Pillow writes."""
    picture = Pillow.new("RGB", (width, height), (10, 20, 30))
    picture.paste((250, 200, 0), (0, 0, width // 2, height // 2))
    picture.paste((0, 90, 200), (width // 2, height // 2, width, height))
    out = BytesIO()
    picture.save(out, kind, **options)  # type: ignore[arg-type]
    return out.getvalue()
