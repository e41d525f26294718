"""What a terminal types when files are dropped on it."""

import os
from pathlib import Path

import pytest

from tau.modes.interactive.composer.dropped_images import find_images


@pytest.fixture
def shots(tmp_path: Path) -> tuple[Path, Path]:
    one, two = tmp_path / "one.png", tmp_path / "my second shot.JPG"
    one.touch()
    two.touch()
    return one, two


def spellings(path: Path) -> list[str]:
    text = str(path)
    escaped = text.replace(" ", "\\ ")
    return [
        text,
        f"{text} ",
        f"'{text}'",
        f'"{text}"',
        escaped,
        f"file://{text.replace(' ', '%20')}",
        f"file://localhost{text.replace(' ', '%20')}",
        f"file://{os.uname().nodename}{text.replace(' ', '%20')}\n",
    ]


def test_one_file_in_every_spelling(shots: tuple[Path, Path], tmp_path: Path) -> None:
    for path in shots:
        for text in spellings(path):
            assert find_images(text, tmp_path) == [path], text


def test_several_files_on_one_line_or_many(shots: tuple[Path, Path], tmp_path: Path) -> None:
    one, two = shots
    assert find_images(f"{one} '{two}'", tmp_path) == [one, two]
    assert find_images(f"{one} {str(two).replace(' ', chr(92) + ' ')} ", tmp_path) == [one, two]
    assert find_images(f"{one}\n{two}\n", tmp_path) == [one, two]


def test_path_relative_to_home_or_the_working_folder_counts(shots: tuple[Path, Path], tmp_path: Path) -> None:
    (Path.home() / "at home.gif").touch()
    assert find_images("./one.png", tmp_path) == [tmp_path / "one.png"]
    assert find_images("~/at home.gif", tmp_path) == [Path.home() / "at home.gif"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain words",
        "one.png",
        "see {folder}/one.png please",
        "{folder}/missing.png",
        "{folder}/one.png {folder}/missing.png",
        "file://elsewhere/one.png",
        "http://example.org/one.png",
        "{folder}/it's.png",
        "x" * 9_000 + ".png",
    ],
)
def test_other_text_is_left_alone(text: str, shots: tuple[Path, Path], tmp_path: Path) -> None:
    assert find_images(text.replace("{folder}", str(tmp_path)), tmp_path) == []
