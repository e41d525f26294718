"""Removes text from image files: comments and descriptions can hold anything, and nobody sees them."""

import struct

from tau.base.image_header import image_type

_PNG_HEAD = 8
_PNG_TEXTS = (b"tEXt", b"zTXt", b"iTXt")
_JPEG_TEXTS = (0xED, 0xFE)  # APP13 and comments
_APP1, _SCAN = 0xE1, 0xDA
_EXIF = b"Exif\0\0"
_ORIENTATION = 0x0112
_MAX_EXIF_ENTRIES = 200


def strip_texts(data: bytes) -> bytes:
    """The image without its texts; a JPEG keeps its orientation. Broken files and other kinds stay."""
    strippers = {"image/png": _strip_png, "image/jpeg": _strip_jpeg}
    strip = strippers.get(image_type(data) or "")
    if strip is None:
        return data
    try:
        return strip(data)
    except (struct.error, IndexError):
        return data


def _strip_png(data: bytes) -> bytes:
    kept = [data[:_PNG_HEAD]]
    at = _PNG_HEAD
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        end = at + 12 + size
        if kind not in _PNG_TEXTS:
            kept.append(data[at:end])
        at = end
    return b"".join(kept)


def _strip_jpeg(data: bytes) -> bytes:
    kept = [data[:2]]
    at = 2
    while at < len(data) and data[at] == 0xFF and data[at + 1] != _SCAN:
        (size,) = struct.unpack_from(">H", data, at + 2)
        end = at + 2 + size
        if data[at + 1] == _APP1:
            kept.append(_orientation_only(data[at + 4 : end]))
        elif data[at + 1] not in _JPEG_TEXTS:
            kept.append(data[at:end])
        at = end
    return b"".join((*kept, data[at:]))


def _orientation_only(exif: bytes) -> bytes:
    """An Exif segment with nothing but the orientation; empty if there is none."""
    tiff = exif.removeprefix(_EXIF)
    order = {b"II": "<", b"MM": ">"}.get(tiff[:2])
    if tiff is exif or order is None:
        return b""
    (first,) = struct.unpack_from(f"{order}I", tiff, 4)
    (count,) = struct.unpack_from(f"{order}H", tiff, first)
    for number in range(min(count, _MAX_EXIF_ENTRIES)):
        tag, _, _, value = struct.unpack_from(f"{order}HHIH", tiff, first + 2 + 12 * number)
        if tag == _ORIENTATION and 1 < value <= 8:
            entry = struct.pack(">HHIHH", _ORIENTATION, 3, 1, value, 0)
            made = _EXIF + b"MM\0*" + struct.pack(">IH", 8, 1) + entry + b"\0" * 4
            return b"\xff\xe1" + struct.pack(">H", len(made) + 2) + made
    return b""
