"""The type and size of an image from its first bytes, and robustness against broken ones."""

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.base.image_header import ImageInfo, image_type, read_header

Image = pytest.importorskip("PIL.Image", reason="Pillow makes the samples; it is in the extra `images`")


def saved(image: Any, format: str, **how: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, format, **how)
    return file.getvalue()


SAMPLES = {kind: saved(Image.new("RGB", (31, 17)), kind) for kind in ("PNG", "GIF", "JPEG", "WEBP")}


@pytest.mark.parametrize(
    ("mode", "format", "channels", "alpha"),
    [
        ("RGB", "PNG", 3, False),
        ("RGBA", "PNG", 4, True),
        ("L", "PNG", 1, False),
        ("LA", "PNG", 2, True),
        ("P", "PNG", 3, False),
        ("RGB", "JPEG", 3, False),
        ("L", "JPEG", 1, False),
        ("CMYK", "JPEG", 4, False),
        ("P", "GIF", 3, False),
        ("RGB", "WEBP", 3, False),
        ("RGBA", "WEBP", 4, True),
    ],
)
def test_headers_of_real_files(mode: str, format: str, channels: int, alpha: bool) -> None:
    data = saved(Image.new(mode, (37, 23)), format)
    expected = ImageInfo(
        mime_type=f"image/{format.lower()}", width=37, height=23, channels=channels, alpha=alpha
    )
    assert read_header(data) == expected


def test_headers_of_lossless_webp_transparent_gif_and_animations() -> None:
    clear = Image.new("RGBA", (5, 6), (0, 0, 0, 0))
    for data in (saved(clear, "WEBP", lossless=True), saved(clear, "GIF")):
        info = read_header(data)
        assert info is not None and info.alpha is True
    frames = [Image.new("RGB", (5, 6), color) for color in ("red", "blue")]
    for format in ("GIF", "WEBP", "PNG"):
        data = saved(frames[0], format, save_all=True, append_images=frames[1:])
        info = read_header(data)
        assert info is not None and info.animated and (info.width, info.height) == (5, 6)


def test_second_frame_of_a_gif_is_found_behind_a_local_color_table() -> None:
    start = b"GIF89a" + bytes((5, 0, 6, 0, 0, 0, 0))
    frame = b"\x2c" + bytes(8) + b"\x80" + bytes(6) + b"\x02\x01\x00\x00"
    info = read_header(start + frame + frame)
    assert info is not None and info.animated
    for cut in range(1, 10):
        info = read_header(start + frame[:cut])
        assert info is not None and not info.animated


def test_last_chunk_of_a_cut_png_counts() -> None:
    frames = [Image.new("RGB", (5, 6), color) for color in ("red", "blue")]
    data = saved(frames[0], "PNG", save_all=True, append_images=frames[1:])
    end = data.index(b"acTL") + 4
    for cut, animated in ((end, True), (end - 1, False)):
        info = read_header(data[:cut])
        assert info is not None and info.animated is animated


def test_palette_with_transparency_has_an_alpha_channel() -> None:
    data = saved(Image.new("P", (4, 4)), "PNG", transparency=0)
    info = read_header(data)
    assert info is not None and info.alpha and info.channels == 4


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("JPEG", {"progressive": True}),
        ("JPEG", {"comment": b"\xff\xd8" * 50}),
        ("WEBP", {"lossless": True}),
        ("WEBP", {"exif": b"Exif\0\0II*\0\x08\0\0\0\0\0\0\0\0\0"}),
    ],
)
def test_jpeg_and_webp_variants_are_known(kind: str, how: dict[str, Any]) -> None:
    info = read_header(saved(Image.new("RGB", (640, 480)), kind, **how))
    assert info is not None and (info.width, info.height) == (640, 480)


@pytest.mark.parametrize("data", [b"", b"GIF", b"not an image", b"RIFF1234WAVE", b"BM123456", b"<svg/>"])
def test_other_files_are_not_images(data: bytes) -> None:
    assert image_type(data) is None
    assert read_header(data) is None


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP"])
def test_truncated_header_still_has_the_kind(format: str) -> None:
    data = saved(Image.new("RGB", (300, 200)), format)
    for end in range(12, min(len(data), 400)):
        info = read_header(data[:end])
        assert info is not None and info.mime_type == f"image/{format.lower()}"
        assert info.width in (0, 300)


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n" + bytes(40),
        b"\xff\xd8\xff\xda" + bytes(40),
        b"GIF89a" + bytes(40),
        b"RIFF\0\0\0\0WEBPVP8 " + bytes(40),
        b"RIFF\0\0\0\0WEBPVP8L" + bytes(40),
        b"RIFF\0\0\0\0WEBPALPH" + bytes(40),
    ],
)
def test_broken_header_has_no_size(data: bytes) -> None:
    info = read_header(data)
    assert info is not None and (info.width, info.height) == (0, 0)


@given(st.sampled_from(sorted(SAMPLES)), st.data())
def test_cut_and_damaged_files_never_raise(kind: str, data: st.DataObject) -> None:
    sample = bytearray(SAMPLES[kind])
    for _ in range(data.draw(st.integers(0, 4))):
        sample[data.draw(st.integers(0, min(len(sample), 64) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(sample[: data.draw(st.integers(0, len(sample)))])
    info = read_header(cut)
    assert (info.mime_type if info else None) == image_type(cut)


@given(st.binary(max_size=200))
def test_any_bytes_after_a_jpeg_start_are_survived(data: bytes) -> None:
    info = read_header(b"\xff\xd8\xff" + data)
    assert info is not None and info.mime_type == "image/jpeg"
