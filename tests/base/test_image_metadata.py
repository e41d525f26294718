"""Texts leave image files; pictures, colors and orientation stay."""

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageOps, PngImagePlugin

from tau.base.image_metadata import strip_texts


def png() -> bytes:
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Comment", "planted-text")
    texts.add_text("Zipped", "planted-text", zip=True)
    texts.add_itxt("Title", "planted-text")
    out = BytesIO()
    Image.new("RGB", (4, 2), "red").save(out, "PNG", pnginfo=texts)
    return out.getvalue()


def jpeg(orientation: int) -> bytes:
    exif = Image.Exif()
    exif[0x010E] = "planted-text"
    exif[0x0112] = orientation
    out = BytesIO()
    Image.new("RGB", (4, 2), "red").save(out, "JPEG", exif=exif, comment=b"planted-text")
    return out.getvalue()


def test_png_texts_go_and_the_picture_stays() -> None:
    data = png()
    stripped = strip_texts(data)
    assert b"planted" in data
    assert b"planted" not in stripped
    assert b"zTXt" not in stripped
    assert Image.open(BytesIO(stripped)).tobytes() == Image.open(BytesIO(data)).tobytes()


@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_jpeg_texts_go_and_the_orientation_stays(orientation: int) -> None:
    data = jpeg(orientation)
    stripped = strip_texts(data)
    assert b"planted" in data
    assert b"planted" not in stripped
    before, after = (ImageOps.exif_transpose(Image.open(BytesIO(one))) for one in (data, stripped))
    assert before.size == after.size
    assert before.tobytes() == after.tobytes()


@given(st.binary(max_size=200), st.sampled_from([b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe1", b"GIF89a", b""]))
def test_broken_files_do_no_harm(data: bytes, head: bytes) -> None:
    assert isinstance(strip_texts(head + data), bytes)
