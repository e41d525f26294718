"""Prompts from the words of a command line, its @files and piped input."""

import base64
from pathlib import Path

import pytest

from tau.base.errors import UsageError
from tau.cli.initial_prompt import MAX_TEXT_BYTES, build_prompts
from tests.support.pictures import GIF, JPEG, PNG, WEBP


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


def test_hidden_instructions_in_a_file_are_visible_to_the_model(folder: Path) -> None:
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
    (folder / "a\nb.txt").write_text(f"alpha{hidden}\n")
    [prompt] = texts(["@a\nb.txt"])
    assert prompt.startswith('<file path="a<U+000A>b.txt">\nalpha<U+E006F>')


def test_no_input_gives_no_prompt() -> None:
    assert build_prompts([], " \n") == []
    assert build_prompts(["  "], "") == []


def test_image_is_recognized_by_its_bytes_and_sent_beside_the_text(folder: Path) -> None:
    (folder / "shot").write_bytes(PNG)
    (prompt,) = build_prompts(["@shot", "what is it?"], "")
    assert prompt.text == "what is it?"
    (image,) = prompt.images
    assert image.mime_type == "image/png"
    assert base64.b64decode(image.data) == PNG


@pytest.mark.parametrize(("data", "kind"), ((JPEG, "image/jpeg"), (GIF, "image/gif"), (WEBP, "image/webp")))
def test_usual_image_types_are_known(folder: Path, data: bytes, kind: str) -> None:
    (folder / "i").write_bytes(data)
    (prompt,) = build_prompts(["@i"], "")
    assert (prompt.text, prompt.images[0].mime_type) == ("", kind)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    (
        ("missing.txt", None, 'File "missing.txt" not found'),
        ("a.bin", b"\x7fELF\0\0", "neither text nor an image"),
        ("latin.txt", b"caf\xe9\n", "Not valid UTF-8"),
        ("big.txt", b"x" * (MAX_TEXT_BYTES + 1), "larger than 1 MiB"),
        ("broken.png", PNG[:40], "could not be decoded"),
        ("big.png", PNG + bytes(5 * 1024 * 1024), "larger than 3.7 MiB"),
    ),
)
def test_unsendable_file_is_refused_by_name(folder: Path, name: str, data: bytes | None, words: str) -> None:
    if data is not None:
        (folder / name).write_bytes(data)
    with pytest.raises(UsageError) as caught:
        build_prompts([f"@{name}", "look"], "")
    assert name in str(caught.value)
    assert words in str(caught.value)


def test_folder_is_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        build_prompts([f"@{folder}"], "")


def test_files_with_a_byte_order_mark_and_a_lone_at_sign_are_accepted(folder: Path) -> None:
    (folder / "w.txt").write_bytes("hé".encode("utf-16"))
    assert texts(["@w.txt"]) == ['<file path="w.txt">\nhé\n</file>']
    assert texts(["@", "x"]) == ["@", "x"]
