"""Images are scaled to what can be sent; the rest is reported."""

import binascii
import io
import random
import struct
import sys
import zlib
from typing import Any

import pytest

from tau.ai.wire import ImageContent
from tau.base.image_header import image_type
from tau.base.sizes import KIB, MIB
from tau.coding import images
from tau.coding.images import ImageError, ImageLimits, load_image

Image = pytest.importorskip("PIL.Image", reason="Pillow makes the samples; it is in the extra `images`")


def saved(image: Any, format: str, **how: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, format, **how)
    return file.getvalue()


def noise(width: int, height: int, mode: str = "RGB") -> Any:
    """A picture that does not compress."""
    bands = {"L": 1, "RGB": 3, "RGBA": 4, "CMYK": 4}[mode]
    return Image.frombytes(mode, (width, height), random.Random(1).randbytes(width * height * bands))


def opened(data: bytes) -> Any:
    with Image.open(io.BytesIO(data)) as image:
        image.load()
        return image


def without_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setattr(images, "pillow", type(images.pillow)("PIL.Image"))


def png_header(width: int, height: int, rest: bytes = b"") -> bytes:
    def chunk(name: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        )

    start = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + start + chunk(b"IDAT", zlib.compress(rest)) + chunk(b"IEND", b"")


@pytest.mark.parametrize("data", [b"", b"GIF", b"not an image", b"RIFF1234WAVE", b"BM123456", b"<svg/>"])
def test_other_files_are_not_sent(data: bytes) -> None:
    with pytest.raises(ImageError, match="PNG, JPEG, GIF and WEBP"):
        load_image(data)


def test_small_image_is_sent_unchanged() -> None:
    data = saved(Image.new("RGB", (1568, 1568)), "PNG")
    loaded = load_image(data)
    assert loaded.data == data and loaded.mime_type == "image/png"
    assert (
        loaded.note
        == f"[image/png, 1568x1568, {images.format_bytes(len(data))}, 3 channels, no transparency]"
    )
    assert loaded.content() == ImageContent(binascii.b2a_base64(data, newline=False).decode(), "image/png")


def test_large_image_is_scaled_to_fit() -> None:
    data = saved(Image.new("RGB", (3000, 2000), "navy"), "PNG")
    loaded = load_image(data)
    assert (loaded.width, loaded.height) == (1568, 1045) == opened(loaded.data).size
    assert "multiply its coordinates by 1.91" in loaded.note
    assert image_type(loaded.data) == loaded.mime_type


def test_smallest_of_three_formats_is_used() -> None:
    flat = load_image(saved(Image.new("RGB", (2000, 2000), "white"), "PNG"))
    rough = load_image(saved(noise(1600, 400), "PNG"))
    assert {flat.mime_type, rough.mime_type} <= {"image/png", "image/jpeg", "image/webp"}
    assert rough.mime_type != "image/png"


def test_quality_then_size_are_reduced_until_it_fits() -> None:
    data = saved(noise(800, 600), "PNG")
    tight = load_image(data, limits=ImageLimits(max_bytes=25 * KIB))
    assert len(tight.data) <= 25 * KIB
    assert tight.width is not None and 200 <= tight.width < 800
    assert tight.mime_type in ("image/jpeg", "image/webp")


def test_reduction_stops_before_an_image_is_too_small_to_see() -> None:
    loaded = load_image(saved(noise(1200, 300), "PNG"), limits=ImageLimits(max_bytes=1 * KIB))
    assert loaded.height is not None and loaded.height >= 100  # 0.35 of 300; a quarter would be 75
    assert len(loaded.data) > 1 * KIB


def test_reduction_tries_each_step_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[tuple[int, tuple[str, ...], int]] = []
    encode = images._encode

    def noted(image: Any, formats: tuple[str, ...], quality: int) -> Any:
        tried.append((image.width, formats, quality))
        return encode(image, formats, quality)

    monkeypatch.setattr(images, "_encode", noted)
    load_image(saved(noise(800, 800), "PNG"), limits=ImageLimits(max_bytes=100))
    first, *rest = tried
    assert first == (800, ("PNG", "JPEG", "WEBP"), 75)
    assert rest == [
        (width, ("JPEG", "WEBP"), quality)
        for width in (800, 600, 400, 280, 200)
        for quality in (70, 60, 50, 40)
    ]


def test_original_smaller_than_every_copy_is_kept() -> None:
    data = saved(noise(900, 900), "JPEG", quality=30)
    assert len(data) > 125 * KIB
    assert load_image(data).data == data


def test_photo_is_rotated_upright() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    data = saved(noise(2000, 1000), "JPEG", exif=exif)
    loaded = load_image(data)
    assert (loaded.width, loaded.height) == (784, 1568)
    assert "rotated upright" in loaded.note
    assert opened(loaded.data).getexif().get(0x0112, 1) == 1


def test_first_frame_of_an_animation_is_sent() -> None:
    frames = [Image.new("RGB", (1700, 100), color) for color in ("red", "blue", "green")]
    for format in ("GIF", "WEBP"):
        loaded = load_image(saved(frames[0], format, save_all=True, append_images=frames[1:]))
        red, green, blue = opened(loaded.data).convert("RGB").getpixel((5, 5))
        assert red > 240 and green < 15 and blue < 15
        assert "the first of 3 frames" in loaded.note


@pytest.mark.parametrize("mode", ["CMYK", "P", "1", "LA", "I;16", "L"])
def test_every_color_mode_is_converted_to_a_supported_one(mode: str) -> None:
    shade = 255 if mode == "1" else 200  # pure black and white would be dithered
    image = Image.new("L", (1700, 40), shade)
    if mode == "I;16":
        image = Image.frombytes("I;16", (1700, 40), struct.pack("<H", 200 * 256) * (1700 * 40))
    else:
        image = image.convert(mode)
    loaded = load_image(saved(image, "JPEG" if mode == "CMYK" else "PNG"))
    assert loaded.width == 1568
    grey = opened(loaded.data).convert("L").getpixel((800, 20))
    assert abs(grey - shade) < 40


def test_transparency_survives_or_becomes_white() -> None:
    image = Image.new("RGBA", (1700, 200), (0, 0, 0, 0))
    loaded = load_image(saved(image, "PNG"))
    pixel = opened(loaded.data).convert("RGBA").getpixel((5, 5))
    assert pixel[3] == 0 or pixel[:3] == (255, 255, 255)


def test_more_than_20_mib_is_refused_unread() -> None:
    with pytest.raises(ImageError, match="Image file too large: 20 MiB exceeds the limit of 20 MiB"):
        load_image(bytes(20 * MIB + 1))
    images.check_size(20 * MIB)


def test_decompression_bomb_is_refused_before_decoding() -> None:
    with pytest.raises(ImageError, match=r"30000x30000 pixels, more than the 80 million"):
        load_image(png_header(30_000, 30_000))


def test_jpeg_with_endless_scans_is_refused() -> None:
    data = saved(noise(1700, 100), "JPEG", progressive=True)
    with pytest.raises(ImageError, match="more than 200 scans"):
        load_image(data + b"\xff\xda" * 200)


@pytest.mark.parametrize("auto_resize", [True, False])
@pytest.mark.parametrize("size", [(2000, 2000), (20, 20)])
def test_broken_small_picture_was_sent_and_spoiled_the_history(
    size: tuple[int, int], auto_resize: bool
) -> None:
    with pytest.raises(ImageError, match="could not be decoded"):
        load_image(png_header(*size, b"too short"), auto_resize=auto_resize)


@pytest.mark.parametrize("format", images.FORMATS)
def test_picture_that_is_cut_off_is_refused_even_without_pillow(
    format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = saved(noise(40, 40), format)
    with pytest.raises(ImageError, match="could not be decoded"):
        load_image(data[: len(data) // 2])
    without_pillow(monkeypatch)
    assert load_image(data).data == data
    with pytest.raises(ImageError, match="it is incomplete"):
        load_image(data[: len(data) // 2])


def test_undecodable_image_that_is_too_large_is_refused() -> None:
    with pytest.raises(ImageError, match="could not be decoded"):
        load_image(png_header(9000, 10))


def test_without_resizing_the_original_is_sent() -> None:
    data = saved(noise(1700, 300), "PNG")
    loaded = load_image(data, auto_resize=False)
    assert loaded.data == data and loaded.width == 1700


@pytest.mark.parametrize("size", [(9_000, 4), (4, 9_000)])
def test_provider_limits_hold_without_resizing(size: tuple[int, int]) -> None:
    with pytest.raises(ImageError, match="8000 pixels a side"):
        load_image(saved(Image.new("L", size), "PNG"), auto_resize=False)


def test_limit_applies_to_the_encoded_size() -> None:
    small = saved(Image.new("L", (100, 100)), "PNG")
    sent_whole = small + bytes(3 * MIB)
    assert load_image(sent_whole, auto_resize=False).data == sent_whole
    with pytest.raises(ImageError, match=r"at most 3\.7 MiB"):
        load_image(small + bytes(4 * MIB), auto_resize=False)


def test_without_pillow_the_original_is_sent_if_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    data, large = saved(noise(1700, 300), "PNG"), saved(Image.new("L", (9_000, 4)), "PNG")
    without_pillow(monkeypatch)
    assert load_image(data).data == data
    with pytest.raises(ImageError, match=r"pip install 'tau-agent\[images\]'"):
        load_image(large)
