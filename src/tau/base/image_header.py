"""Reads type and size from the header of a PNG, JPEG, GIF or WEBP file, without decoding it."""

import struct

from msgspec import Struct

HEADER_BYTES = 256 * 1024


class ImageInfo(Struct, frozen=True, kw_only=True):
    """What the header says; 0 or None is unknown or too far into the file."""

    mime_type: str
    width: int = 0
    height: int = 0
    channels: int | None = None
    alpha: bool | None = None
    animated: bool = False


def image_type(data: bytes) -> str | None:
    """Detect the MIME type of an image by its first bytes; None if it is not one."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data.startswith(b"RIFF") and data[8:12] == b"WEBP" else None


def read_header(data: bytes) -> ImageInfo | None:
    """Parse the header; None if the data is not an image."""
    kind = image_type(data)
    if kind is None:
        return None
    readers = {"image/png": _png, "image/jpeg": _jpeg, "image/gif": _gif, "image/webp": _webp}
    try:
        return readers[kind](data[:HEADER_BYTES])
    except (struct.error, IndexError):  # truncated: only its type is known
        return ImageInfo(mime_type=kind)


def _png(head: bytes) -> ImageInfo:
    if head[12:16] != b"IHDR":
        return ImageInfo(mime_type="image/png")
    width, height, _depth, color = struct.unpack_from(">IIBB", head, 16)
    channels, alpha = {0: (1, False), 2: (3, False), 3: (3, False), 4: (2, True), 6: (4, True)}.get(
        color, (None, None)
    )
    animated = False
    position = 33
    while position + 8 <= len(head):
        length, name = struct.unpack_from(">I4s", head, position)
        if name == b"IDAT":
            break
        animated = animated or name == b"acTL"
        if name == b"tRNS" and not alpha:
            alpha, channels = True, (channels or 3) + 1
        position += length + 12
    return ImageInfo(
        mime_type="image/png", width=width, height=height, channels=channels, alpha=alpha, animated=animated
    )


def _jpeg(head: bytes) -> ImageInfo:
    position = 2
    while position < len(head):
        if head[position] != 0xFF:  # some encoders leave bytes between segments
            position = head.find(b"\xff", position)
            if position < 0:
                break
            continue
        marker = head[position + 1]
        if marker == 0xFF:
            position += 1
        elif marker in (0x01, 0xD8) or 0xD0 <= marker <= 0xD7:
            position += 2
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width, channels = struct.unpack_from(">HHB", head, position + 5)
            return ImageInfo(
                mime_type="image/jpeg", width=width, height=height, channels=channels, alpha=False
            )
        elif marker in (0xD9, 0xDA):
            break
        else:
            position += 2 + max(struct.unpack_from(">H", head, position + 2)[0], 2)
    return ImageInfo(mime_type="image/jpeg")


def _gif(head: bytes) -> ImageInfo:
    width, height, flags = struct.unpack_from("<HHB", head, 6)
    position = 13 + (3 << ((flags & 7) + 1) if flags & 0x80 else 0)
    alpha = False
    frames = 0
    while position + 1 < len(head) and frames < 2:
        kind = head[position]
        if kind == 0x21:
            alpha = alpha or (
                head[position + 1] == 0xF9 and position + 3 < len(head) and bool(head[position + 3] & 1)
            )
            position = _after_blocks(head, position + 2)
        elif kind == 0x2C:
            frames += 1
            local = head[position + 9] if position + 9 < len(head) else 0
            position = _after_blocks(head, position + 11 + (3 << ((local & 7) + 1) if local & 0x80 else 0))
        else:
            break
    return _color_image("image/gif", width, height, alpha, frames > 1)


def _after_blocks(head: bytes, position: int) -> int:
    """Skip a chain of length-prefixed blocks, which ends with an empty one."""
    while position < len(head) and head[position]:
        position += head[position] + 1
    return position + 1


def _webp(head: bytes) -> ImageInfo:
    chunk = head[12:16]
    alpha = animated = False
    if chunk == b"VP8X":
        flags = head[20]
        alpha, animated = bool(flags & 0x10), bool(flags & 0x02)
        width = int.from_bytes(head[24:27], "little") + 1
        height = int.from_bytes(head[27:30], "little") + 1
        if len(head) < 30:
            raise IndexError
    elif chunk == b"VP8L" and head[20] == 0x2F:
        (bits,) = struct.unpack_from("<I", head, 21)
        width, height, alpha = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1, bool(bits >> 28 & 1)
    elif chunk == b"VP8 " and head[23:26] == b"\x9d\x01\x2a":
        width, height = (side & 0x3FFF for side in struct.unpack_from("<HH", head, 26))
    else:
        return ImageInfo(mime_type="image/webp")
    return _color_image("image/webp", width, height, alpha, animated)


def _color_image(mime_type: str, width: int, height: int, alpha: bool, animated: bool) -> ImageInfo:
    return ImageInfo(
        mime_type=mime_type,
        width=width,
        height=height,
        channels=4 if alpha else 3,
        alpha=alpha,
        animated=animated,
    )
