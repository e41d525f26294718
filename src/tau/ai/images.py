"""Images for models: types, size limits, conversion from files."""

from binascii import b2a_base64

from tau.ai.wire import ImageContent
from tau.base.sizes import MIB

IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
MAX_IMAGE_CHARS = 5 * MIB  # of base64: the smallest limit of any server
MAX_IMAGE_BYTES = MAX_IMAGE_CHARS * 3 // 4


def image_type(data: bytes) -> str | None:
    """The MIME type of an image by its first bytes; None if it is not an image."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data.startswith(b"RIFF") and data[8:12] == b"WEBP" else None


def image_content(data: bytes, mime_type: str) -> ImageContent:
    return ImageContent(b2a_base64(data, newline=False).decode("ascii"), mime_type)
