"""The size of a picture from its first bytes, and no surprise with broken ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.tui.images.header import ImageInfo, image_info
from tests.tui.images.pictures import made, png

SAMPLES = {
    "PNG": png(31, 17),
    "GIF": made("GIF", 31, 17),
    "JPEG": made("JPEG", 31, 17),
    "WebP": made("WEBP", 31, 17),
}


@pytest.mark.parametrize("kind", SAMPLES)
def test_every_format_tells_its_size(kind: str) -> None:
    assert image_info(SAMPLES[kind]) == ImageInfo(kind, 31, 17)


def test_variants_of_jpeg_and_webp_are_known() -> None:
    assert image_info(made("JPEG", 640, 480, progressive=True)) == ImageInfo("JPEG", 640, 480)
    assert image_info(made("JPEG", 64, 48, comment=b"\xff\xd8" * 50)) == ImageInfo("JPEG", 64, 48)
    assert image_info(made("WEBP", 700, 500, lossless=True)) == ImageInfo("WebP", 700, 500)
    extended = made("WEBP", 123, 45, exif=b"Exif\0\0II*\0\x08\0\0\0\0\0\0\0\0\0")
    assert image_info(extended) == ImageInfo("WebP", 123, 45)


def test_what_is_no_picture_is_nothing() -> None:
    for data in (b"", b"hello", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF\0\0\0\0WEBP", b"GIF89a"):
        assert image_info(data) is None
    assert image_info(png(31, 17)[:16] + b"\0" * 40) is None


@given(st.sampled_from(sorted(SAMPLES)), st.data())
def test_cut_and_damaged_files_never_raise(kind: str, data: st.DataObject) -> None:
    sample = bytearray(SAMPLES[kind])
    for _ in range(data.draw(st.integers(0, 4))):
        sample[data.draw(st.integers(0, min(len(sample), 64) - 1))] = data.draw(st.integers(0, 255))
    found = image_info(bytes(sample[: data.draw(st.integers(0, len(sample)))]))
    assert found is None or (found.width > 0 and found.height > 0)


@given(st.binary(max_size=200))
def test_any_bytes_after_a_jpeg_start_are_survived(data: bytes) -> None:
    found = image_info(b"\xff\xd8\xff" + data)
    assert found is None or found.format == "JPEG"
