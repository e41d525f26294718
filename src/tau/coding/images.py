"""Images for models: header facts, and a copy small enough to send."""

from io import BytesIO
from typing import TypeAlias

from msgspec import Struct

from tau.ai.images import MAX_IMAGE_BYTES, image_content
from tau.ai.wire import ImageContent
from tau.base.errors import ToolError
from tau.base.image_header import ImageInfo, read_header
from tau.base.late import late
from tau.base.sizes import KIB, MIB, format_bytes

image_metadata = late("tau.base.image_metadata")
pillow = late("PIL.Image")
pillow_ops = late("PIL.ImageOps")

Image: TypeAlias = "pillow.Image"

MAX_INPUT_BYTES = 20 * MIB
# Providers reject anything larger, and once in the history it would break every later request.
MAX_SENT_PIXELS = 8_000  # per side
MAX_DECODED_PIXELS = 80_000_000  # width times height
MAX_JPEG_SCANS = 200  # each scan is a pass over the whole image; real files have a dozen
QUALITIES = (70, 60, 50, 40)
SCALES = (1.0, 0.75, 0.5, 0.35, 0.25)
MIN_SIDE = 100
FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
BROKEN = "The image cannot be shown: it could not be decoded ({}). Save it again."
INSTALL = "pip install 'tau-agent[images]'"


class ImageError(ToolError):
    """An image cannot be sent; `str(error)` says why and what to do."""


class ImageLimits(Struct, frozen=True, kw_only=True):
    """Images within these limits are not resized; below a quarter of the bytes, they are sent as they are."""

    max_width: int = 1568
    max_height: int = 1568
    max_bytes: int = 500 * KIB
    quality: int = 75


DEFAULT_LIMITS = ImageLimits()


class LoadedImage(Struct, frozen=True, kw_only=True):
    """The image to send. `note` describes it for the model.

    `width` and `height` are 0 if the header lacks them.
    """

    data: bytes
    mime_type: str
    note: str
    width: int
    height: int

    def content(self) -> ImageContent:
        return image_content(self.data, self.mime_type)


class _Encoded(Struct, frozen=True):
    data: bytes
    mime_type: str
    width: int
    height: int


def describe(info: ImageInfo, size_bytes: int) -> str:
    """Describe an image: kind, size, dimensions, channels, transparency."""
    parts = [info.mime_type]
    if info.width and info.height:
        parts.append(f"{info.width}x{info.height}")
    parts.append(format_bytes(size_bytes))
    if info.channels:
        parts.append(f"{info.channels} channel{'s' if info.channels > 1 else ''}")
    if info.alpha is not None:
        parts.append("with transparency" if info.alpha else "no transparency")
    if info.animated:
        parts.append("animated")
    return ", ".join(parts)


def check_size(size_bytes: int) -> None:
    """Refuse a file that is too large before it is read."""
    if size_bytes > MAX_INPUT_BYTES:
        raise ImageError(
            f"Image file too large: {format_bytes(size_bytes)} exceeds the limit of "
            f"{format_bytes(MAX_INPUT_BYTES)}."
        )


def load_image(data: bytes, *, auto_resize: bool = True, limits: ImageLimits = DEFAULT_LIMITS) -> LoadedImage:
    """Prepare an image for sending. Raises ImageError. Decoding is slow: call it on a thread."""
    check_size(len(data))
    data = image_metadata.strip_texts(data)
    info = read_header(data)
    if info is None:
        raise ImageError("Only PNG, JPEG, GIF and WEBP images can be shown (judged by content).")
    fits = 0 < info.width <= limits.max_width and 0 < info.height <= limits.max_height
    unchanged = not auto_resize or (fits and len(data) <= limits.max_bytes // 4)
    if unchanged and not _may_be_sent(data, info):
        return _send_unchanged(data, info)
    _check_cost(data, info)
    try:
        if unchanged:
            _decode(data)
            return _send_unchanged(data, info)
        shown, rotated, frames = _shrink(data, limits)
    except ImportError:
        _check_end(data, info)
        return _send_unchanged(data, info, hint=f"to resize it: {INSTALL}")
    except ImageError:
        raise
    except Exception as error:  # decoders raise anything on a broken file
        reason = "damaged header" if type(error).__name__ == "UnidentifiedImageError" else str(error)
        raise ImageError(BROKEN.format(reason or type(error).__name__)) from error
    if fits and not rotated and frames == 1 and len(data) <= min(len(shown.data), limits.max_bytes):
        return _send_unchanged(data, info)
    return LoadedImage(
        data=shown.data,
        mime_type=shown.mime_type,
        note=_note(info, len(data), shown, rotated, frames),
        width=shown.width,
        height=shown.height,
    )


def _may_be_sent(data: bytes, info: ImageInfo) -> bool:
    return len(data) <= MAX_IMAGE_BYTES and max(info.width, info.height) <= MAX_SENT_PIXELS


def _send_unchanged(data: bytes, info: ImageInfo, *, hint: str = "") -> LoadedImage:
    """The original, if providers accept it."""
    if not _may_be_sent(data, info):
        most = f"{format_bytes(MAX_IMAGE_BYTES)} and {MAX_SENT_PIXELS} pixels a side"
        how = f" {hint[0].upper()}{hint[1:]}." if hint else " Make a smaller copy and show that."
        what = describe(info, len(data))
        raise ImageError(f"The image ({what}) is too large to send unchanged: at most {most}.{how}")
    note = f"[{describe(info, len(data))}]"
    return LoadedImage(data=data, mime_type=info.mime_type, note=note, width=info.width, height=info.height)


def _decode(data: bytes) -> None:
    """Raise if the image is damaged. Servers refuse it, and in the history it would break every request."""
    with pillow.open(BytesIO(data), formats=FORMATS) as opened:
        opened.verify()
    with pillow.open(BytesIO(data), formats=FORMATS) as opened:
        opened.load()


def _check_end(data: bytes, info: ImageInfo) -> None:
    """Raise ImageError if the image is cut off: all that can be checked without decoding it."""
    is_cut = {
        "image/png": b"IEND" not in data[-64 * KIB :],
        "image/jpeg": b"\xff\xd9" not in data[-64 * KIB :],
        "image/gif": not data.rstrip(b"\0").endswith(b"\x3b"),
        "image/webp": len(data) < int.from_bytes(data[4:8], "little") + 8,
    }[info.mime_type]
    if is_cut or not info.width or not info.height:
        raise ImageError(BROKEN.format("it is incomplete"))


def _check_cost(data: bytes, info: ImageInfo) -> None:
    """Refuse images that would take too much memory or time to decode."""
    pixels = info.width * info.height
    if pixels > MAX_DECODED_PIXELS:
        most = f"{MAX_DECODED_PIXELS // 1_000_000} million"
        raise ImageError(
            f"The image has {info.width}x{info.height} pixels, more than the {most} that are decoded here; "
            "make a smaller copy and show that."
        )
    if info.mime_type == "image/jpeg" and data.count(b"\xff\xda") > MAX_JPEG_SCANS:
        raise ImageError(f"The JPEG image has more than {MAX_JPEG_SCANS} scans; save it again to show it.")


def _shrink(data: bytes, limits: ImageLimits) -> tuple[_Encoded, bool, int]:
    """The image within the limits, whether it was rotated upright, and its number of frames."""
    with pillow.open(BytesIO(data), formats=FORMATS) as opened:
        if opened.width * opened.height > MAX_DECODED_PIXELS:
            raise ImageError(f"The image has {opened.width}x{opened.height} pixels, which is too much.")
        frames = getattr(opened, "n_frames", 1)
        side = max(limits.max_width, limits.max_height)
        opened.draft(None, (side, side))  # a much larger JPEG is decoded at a reduced size
        opened.load()
        upright = pillow_ops.exif_transpose(opened)
        rotated = upright.size != opened.size or opened.getexif().get(0x0112, 1) != 1
        image = _plain_mode(upright)
    image.info = {}  # drop profiles and comments
    return _smallest(image, limits), rotated, frames


def _plain_mode(image: Image) -> Image:
    """The image as grayscale, RGB or RGBA, which every encoder here accepts."""
    mode = image.mode
    if mode.startswith(("I", "F")):  # 16 bits and more: keep the high bits; converting would clip
        peak = image.getextrema()[1]
        shift = 256 if not isinstance(peak, tuple) and peak > 255 else 1  # a tuple only for several bands
        return image.convert("I").point(lambda value: value * (1 / shift)).convert("L")
    if mode in ("LA", "PA", "La", "RGBa", "RGBA") or "transparency" in image.info:
        return image.convert("RGBA")
    return image if mode in ("L", "RGB") else image.convert("L" if mode == "1" else "RGB")


def _smallest(image: Image, limits: ImageLimits) -> _Encoded:
    """Try every format at full quality, then lower quality, then fewer pixels, until it fits."""
    scale = min(limits.max_width / image.width, limits.max_height / image.height, 1.0)
    width, height = max(round(image.width * scale), 1), max(round(image.height * scale), 1)
    fitted = _resized(image, width, height)
    best = _encode(fitted, ("PNG", "JPEG", "WEBP"), limits.quality)
    if len(best.data) <= limits.max_bytes:
        return best
    for factor in SCALES:
        size = max(round(width * factor), 1), max(round(height * factor), 1)
        if factor < 1 and min(size) < MIN_SIDE:
            break
        scaled = _resized(fitted, *size)
        for quality in QUALITIES:
            tried = _encode(scaled, ("JPEG", "WEBP"), quality)
            best = min(best, tried, key=lambda each: len(each.data))
            if len(best.data) <= limits.max_bytes:
                return best
    return best


def _resized(image: Image, width: int, height: int) -> Image:
    if image.size == (width, height):
        return image
    return image.resize((width, height), pillow.Resampling.LANCZOS, reducing_gap=3.0)


def _encode(image: Image, formats: tuple[str, ...], quality: int) -> _Encoded:
    made = [each for name in formats if (each := _encode_as(image, name, quality)) is not None]
    name, data = min(made, key=lambda each: len(each[1]))
    return _Encoded(data, f"image/{name.lower()}", image.width, image.height)


def _encode_as(image: Image, name: str, quality: int) -> tuple[str, bytes] | None:
    """None if Pillow was built without this format."""
    if name == "JPEG" and image.mode == "RGBA":
        paper = pillow.new("RGB", image.size, "white")
        paper.paste(image, mask=image.getchannel("A"))
        image = paper
    file = BytesIO()
    try:
        image.save(file, name, **({} if name == "PNG" else {"quality": quality}))
    except KeyError:
        return None
    return name, file.getvalue()


def _note(info: ImageInfo, size_bytes: int, shown: _Encoded, rotated: bool, frames: int) -> str:
    parts = [
        f"{describe(info, size_bytes)}; sent as {shown.mime_type}, {shown.width}x{shown.height}, "
        f"{format_bytes(len(shown.data))}"
    ]
    factor = max(info.width, info.height) / max(shown.width, shown.height)
    if factor > 1.005:
        parts.append(f"multiply its coordinates by {factor:.2f} to get those of the original")
    if rotated:
        parts.append("rotated upright")
    if frames > 1:
        parts.append(f"the first of {frames} frames")
    return f"[{'; '.join(parts)}]"
