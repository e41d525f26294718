"""MEDIA tokens, file checks, chunks, templates."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.base.errors import UsageError
from tau.relay.chunks import split_text, utf16_length
from tau.relay.media import MediaGuard, split_media
from tau.relay.template import fill
from tests.support.soak import examples


@pytest.mark.parametrize(
    ("text", "rest", "media"),
    [
        ("look\nMEDIA:/a.jpg", "look", ["/a.jpg"]),
        ("MEDIA:/a b.jpg", "b.jpg", ["/a"]),
        ("MEDIA:~/x.png", "", ["~/x.png"]),
        ("see MEDIA:foo.jpg ok", "see", []),
        ("MEDIA: `https://x/y.png`.", "", ["https://x/y.png"]),
        ("MEDIA:`./y.png`", "", ["./y.png"]),
        ("XMEDIA:/a", "XMEDIA:/a", []),
        ("MEDIA:\nThis line stays.", "MEDIA:\nThis line stays.", []),
        ("MEDIA:file:///a.png", "", ["/a.png"]),
        ("a  b\n\n\nc\nmedia:/d", "a b\nc", ["/d"]),
    ],
)
def test_media_tokens_are_taken_out(text: str, rest: str, media: list[str]) -> None:
    assert split_media(text) == (rest, media)


def test_only_plain_visible_files_of_the_agent_are_sent(tmp_path: Path) -> None:
    cwd, other = tmp_path / "cwd", tmp_path / "other"
    cwd.mkdir()
    other.mkdir()
    (cwd / "ok.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 20)
    (cwd / ".env").write_text("KEY")
    (other / "shared.txt").write_text("x")
    (other / "secret").write_text("x")
    (cwd / "link").symlink_to(other / "secret")
    (cwd / "big.txt").write_bytes(b"x" * 2_000_000)
    os.mkfifo(cwd / "fifo")
    os.link(other / "secret", cwd / "hard.png")
    guard = MediaGuard([], 1)
    assert guard.read("./ok.png", cwd)[1] == "image/png"
    for name in (
        "/etc/passwd",
        "./../other/secret",
        "./link",
        "./.env",
        "./fifo",
        "./hard.png",
        "./big.txt",
        "./missing",
        "./",
    ):
        with pytest.raises(UsageError, match="was not sent"):
            guard.read(name, cwd)
    assert MediaGuard([other], 1).read(str(other / "shared.txt"), cwd) == (b"x", "text/plain")


def picture(width: int, height: int, *, noise: bool = True) -> bytes:
    from io import BytesIO

    from PIL import Image

    data = os.urandom(width * height * 3) if noise else bytes(width * height * 3)
    out = BytesIO()
    Image.frombytes("RGB", (width, height), data).save(out, "PNG")
    return out.getvalue()


def test_a_picture_that_is_too_large_is_made_smaller_and_a_small_one_is_left_alone(tmp_path: Path) -> None:
    large, small = picture(700, 700), picture(20, 20)
    (tmp_path / "large.png").write_bytes(large)
    (tmp_path / "small.png").write_bytes(small)
    guard = MediaGuard([], 1)
    data, type = guard.read("./large.png", tmp_path)
    assert (type, data[:2]) == ("image/jpeg", b"\xff\xd8")
    assert len(data) <= 1024 * 1024 < len(large)
    assert guard.read("./small.png", tmp_path) == (small, "image/png")


def test_a_picture_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    from struct import pack
    from zlib import compress, crc32

    def chunk(name: bytes, data: bytes) -> bytes:
        return pack(">I", len(data)) + name + data + pack(">I", crc32(name + data))

    head = chunk(b"IHDR", pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0))
    junk = chunk(b"tEXt", b"x\0" + b"y" * 1_100_000)
    bomb = b"\x89PNG\r\n\x1a\n" + head + junk + chunk(b"IDAT", compress(bytes(1000))) + chunk(b"IEND", b"")
    (tmp_path / "bomb.png").write_bytes(bomb)
    with pytest.raises(UsageError, match="pixels"):
        MediaGuard([], 1).read("./bomb.png", tmp_path)


@pytest.mark.parametrize(
    ("text", "limit", "parts"),
    [
        ("aaa bbb\nccc ddd", 10, ["aaa bbb", "ccc ddd"]),
        ("short", 10, ["short"]),
        ("x" * 100, 60, ["x" * 56, "x" * 44]),
        ("", 10, []),
    ],
)
def test_text_is_split_at_lines_and_spaces(text: str, limit: int, parts: list[str]) -> None:
    assert split_text(text, limit) == parts


def test_a_cut_fence_is_closed_and_opened_again() -> None:
    code = "\n".join(f"line {number}" for number in range(40))
    parts = split_text(f"```py\n{code}\n```", 120)
    assert all(part.startswith("```py\n") and part.rstrip().endswith("```") for part in parts)


@examples(60)
@given(st.text(st.sampled_from("ab \n👩‍👩‍👧é"), max_size=400), st.integers(60, 120))
def test_chunks_keep_within_the_limit_and_lose_only_space(text: str, limit: int) -> None:
    parts = split_text(text, limit)
    assert all(utf16_length(part) <= limit for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


def test_values_of_templates_are_not_templates() -> None:
    assert fill("{{ Body }}-{{No}}", {"Body": "{{SessionId}}", "SessionId": "S"}) == "{{SessionId}}-"
