"""Image types from the first bytes."""

import pytest

from tau.ai.images import image_content
from tau.ai.wire import ImageContent
from tau.base.image_header import image_type


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n...", "image/png"),
        (b"\xff\xd8\xff\xe0...", "image/jpeg"),
        (b"GIF87a...", "image/gif"),
        (b"GIF89a...", "image/gif"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"RIFF\x10\x00\x00\x00WAVEfmt ", None),
        (b"....\x10\x00\x00\x00WEBPVP8 ", None),
        (b"\x89PNG", None),
        (b"", None),
    ],
)
def test_image_type_follows_the_content(data: bytes, kind: str | None) -> None:
    assert image_type(data) == kind


def test_image_is_sent_as_base64_on_one_line() -> None:
    assert image_content(b"x" * 100, "image/png") == ImageContent("eHh4" * 33 + "eA==", "image/png")
