"""Reads an image's format and size from its first bytes."""

from struct import error as StructError
from struct import unpack_from
from typing import NamedTuple

MAX_SIDE = 65_535
_MAX_JPEG_SEGMENTS = 1_000
_PNG = b"\x89PNG\r\n\x1a\n"
_NOT_FRAMES = {0xC4, 0xC8, 0xCC}


class ImageInfo(NamedTuple):
    """The format name and the size in pixels."""

    format: str
    width: int
    height: int


def image_info(data: bytes) -> ImageInfo | None:
    """Detect PNG, JPEG, GIF or WebP; None for anything else or broken data."""
    try:
        info = _read(data)
    except (IndexError, StructError):
        return None
    if info is None or not (0 < info.width <= MAX_SIDE and 0 < info.height <= MAX_SIDE):
        return None
    return info


def _read(data: bytes) -> ImageInfo | None:
    if data.startswith(_PNG):
        return ImageInfo("PNG", *unpack_from(">II", data, 16)) if data[12:16] == b"IHDR" else None
    if data.startswith((b"GIF87a", b"GIF89a")):
        return ImageInfo("GIF", *unpack_from("<HH", data, 6))
    if data.startswith(b"\xff\xd8\xff"):
        return _jpeg(data)
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return _webp(data)
    return None


def _jpeg(data: bytes) -> ImageInfo | None:
    at = 2
    for _ in range(_MAX_JPEG_SEGMENTS):
        while data[at] != 0xFF:  # a few writers leave bytes between segments
            at = data.index(b"\xff", at) if b"\xff" in data[at : at + 4096] else len(data)
        while data[at] == 0xFF:
            at += 1
        marker = data[at]
        at += 1
        if marker == 0x01 or 0xD0 <= marker <= 0xD8:
            continue
        if marker in (0xD9, 0xDA):
            return None
        if 0xC0 <= marker <= 0xCF and marker not in _NOT_FRAMES:
            height, width = unpack_from(">HH", data, at + 3)
            return ImageInfo("JPEG", width, height)
        (size,) = unpack_from(">H", data, at)
        if size < 2:
            return None
        at += size
    return None


def _webp(data: bytes) -> ImageInfo | None:
    kind = data[12:16]
    if kind == b"VP8X":
        width = int.from_bytes(data[24:27], "little") + 1
        height = int.from_bytes(data[27:30], "little") + 1
        return ImageInfo("WebP", width, height) if len(data) >= 30 else None
    if kind == b"VP8L" and data[20] == 0x2F:
        (bits,) = unpack_from("<I", data, 21)
        return ImageInfo("WebP", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = unpack_from("<HH", data, 26)
        return ImageInfo("WebP", width & 0x3FFF, height & 0x3FFF)
    return None
