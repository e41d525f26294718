"""Prompts from the words of a command line, its @files and what is piped in."""

import base64
from pathlib import Path

import pytest

from tau.base.errors import UsageError
from tau.cli.prompts import MAX_TEXT_BYTES, build_prompts

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def texts(words: list[str], piped: str = "") -> list[str]:
    return [prompt.text for prompt in build_prompts(words, piped)]


def test_several_messages_are_several_prompts() -> None:
    assert texts(["one", "two words"]) == ["one", "two words"]


def test_piped_text_alone_is_the_prompt() -> None:
    assert texts([], "what is this?\n") == ["what is this?\n"]
    assert texts(["-"], "hello") == ["hello"]


def test_piped_text_comes_first_then_files_then_the_message(folder: Path) -> None:
    (folder / "a.txt").write_text("alpha\n")
    assert texts(["why?", "@a.txt", "and then?"], "some output\n") == [
        '<stdin>\nsome output\n</stdin>\n\n<file path="a.txt">\nalpha\n</file>\n\nwhy?',
        "and then?",
    ]


def test_nothing_given_is_no_prompt() -> None:
    assert build_prompts([], " \n") == []
    assert build_prompts(["  "], "") == []


def test_an_image_is_told_by_its_bytes_and_sent_beside_the_text(folder: Path) -> None:
    (folder / "shot").write_bytes(PNG)
    (prompt,) = build_prompts(["@shot", "what is it?"], "")
    assert prompt.text == "what is it?"
    (image,) = prompt.images
    assert image.mime_type == "image/png"
    assert base64.b64decode(image.data) == PNG


@pytest.mark.parametrize(
    ("start", "kind"),
    ((b"\xff\xd8\xff\xe0", "image/jpeg"), (b"GIF89a", "image/gif"), (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp")),
)
def test_the_usual_kinds_of_images_are_known(folder: Path, start: bytes, kind: str) -> None:
    (folder / "i").write_bytes(start + bytes(9))
    (prompt,) = build_prompts(["@i"], "")
    assert (prompt.text, prompt.images[0].mime_type) == ("", kind)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    (
        ("missing.txt", None, 'File "missing.txt" not found'),
        ("a.bin", b"\x7fELF\0\0", "neither text nor an image"),
        ("latin.txt", b"caf\xe9\n", "Not valid UTF-8"),
        ("big.txt", b"x" * (MAX_TEXT_BYTES + 1), "larger than 1 MiB"),
        ("big.png", PNG + bytes(5 * 1024 * 1024), "larger than 3.7 MiB"),
    ),
)
def test_a_file_that_cannot_be_sent_is_refused_by_name(
    folder: Path, name: str, data: bytes | None, words: str
) -> None:
    if data is not None:
        (folder / name).write_bytes(data)
    with pytest.raises(UsageError) as caught:
        build_prompts([f"@{name}", "look"], "")
    assert name in str(caught.value)
    assert words in str(caught.value)


def test_a_folder_is_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        build_prompts([f"@{folder}"], "")


def test_files_with_a_byte_order_mark_and_a_lone_at_sign_are_fine(folder: Path) -> None:
    (folder / "w.txt").write_bytes("hé".encode("utf-16"))
    assert texts(["@w.txt"]) == ['<file path="w.txt">\nhé\n</file>']
    assert texts(["@", "x"]) == ["@", "x"]
