"""Makes a picture that is too large for a channel smaller, as JPEG."""

import warnings
from io import BytesIO

from PIL import Image, UnidentifiedImageError

SIDES, QUALITIES = (2048, 1536, 1280, 1024, 800), (80, 60, 40)
MAX_PIXELS = 50_000_000  # a small file can unpack to far more


class UnusablePicture(Exception):
    """The text says why, as the end of a sentence."""


def shrink(data: bytes, max_bytes: int) -> bytes:
    """Runs in a thread. Raises UnusablePicture with the reason."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            picture = Image.open(BytesIO(data))
            if picture.width * picture.height > MAX_PIXELS:
                raise UnusablePicture(f"it has {picture.width} x {picture.height} pixels")
            flat = picture.convert("RGB")
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise UnusablePicture("it has too many pixels") from None
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError):
        raise UnusablePicture("it cannot be read as a picture") from None
    for side in SIDES:
        flat.thumbnail((side, side))
        for quality in QUALITIES:
            out = BytesIO()
            flat.save(out, "JPEG", quality=quality)
            if out.tell() <= max_bytes:
                return out.getvalue()
    raise UnusablePicture("it stays too large")
