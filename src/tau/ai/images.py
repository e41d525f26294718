"""Images for models: types, size limits, encoding."""

from binascii import b2a_base64

from tau.ai.wire import ImageContent
from tau.base.sizes import MIB

IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
MAX_IMAGE_CHARS = 5 * MIB  # of base64: the smallest limit of any server
MAX_IMAGE_BYTES = MAX_IMAGE_CHARS * 3 // 4


def image_content(data: bytes, mime_type: str) -> ImageContent:
    return ImageContent(b2a_base64(data, newline=False).decode("ascii"), mime_type)
