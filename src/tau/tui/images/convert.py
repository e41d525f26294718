"""Converts images to PNG or a smaller size. Needs Pillow; returns None without it."""

import importlib.util
import warnings
from io import BytesIO
from typing import TYPE_CHECKING

from tau.base.late import late

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

pil_image = late("PIL.Image")
pil_ops = late("PIL.ImageOps")

MAX_PIXELS = 50_000_000
"""Files with more pixels are not opened: they would exhaust memory."""


def can_convert() -> bool:
    """Whether Pillow is installed."""
    return importlib.util.find_spec("PIL") is not None


def open_image(data: bytes, max_width: int, max_height: int) -> "Picture | None":
    """Open the first frame, upright and at most this large; None if it cannot be read."""
    if not can_convert():
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about odd files would be lost here
            picture: Picture = pil_image.open(BytesIO(data))
            if picture.width * picture.height > MAX_PIXELS:
                return None
            picture = pil_ops.exif_transpose(picture).convert("RGBA")
            picture.thumbnail((max(max_width, 1), max(max_height, 1)))
    except Exception:  # decoders raise all kinds of errors on broken files
        return None
    return picture


def as_png(data: bytes, max_width: int, max_height: int) -> bytes | None:
    """Convert to PNG of at most this size."""
    picture = open_image(data, max_width, max_height)
    if picture is None:
        return None
    out = BytesIO()
    picture.save(out, "PNG", compress_level=1)  # four times as fast, a little larger
    return out.getvalue()
