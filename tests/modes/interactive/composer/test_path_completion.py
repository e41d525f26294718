"""Path completion from the folder a path names."""

from pathlib import Path

import pytest

from tau.modes.interactive.composer.completion import PathListing, list_entries


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src" / "sub").mkdir(parents=True)
    (tmp_path / "src" / "Main.py").touch()
    (tmp_path / "src" / ".hidden").touch()
    (tmp_path / "setup.cfg").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("s", PathListing("", ["src/", "setup.cfg"])),
        ("src/", PathListing("src/", ["sub/", "Main.py"])),
        ("./src/ma", PathListing("./src/", ["Main.py"])),
        ("src/.", PathListing("src/", [".hidden"])),
        ("src/ain", PathListing("src/", ["Main.py"])),
        ("src/../se", PathListing("src/../", ["setup.cfg"])),
        ("nowhere/x", PathListing("nowhere/", [])),
    ],
)
def test_prefix_matches_with_folders_before_files(folder: Path, typed: str, answer: PathListing) -> None:
    assert list_entries(typed, folder) == answer


def test_home_and_parent_folders_can_be_named(folder: Path) -> None:
    (Path.home() / "mine.txt").touch()
    assert "mine.txt" in list_entries("~/", folder).names
    assert list_entries("~", folder).folder == "~/"
    assert list_entries("..", folder / "src") == PathListing("../", ["src/", "setup.cfg"])
    assert list_entries(f"{folder}/se", Path("/")).names == ["setup.cfg"]


def test_names_with_control_characters_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "ok").touch()
    (tmp_path / "o\x1b[2J").touch()
    assert list_entries("o", tmp_path).names == ["ok"]
