"""Paths are completed by looking into the folder that they name."""

from pathlib import Path

import pytest

from tau.modes.interactive.composer.path_completion import PathListing, listed


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
def test_what_begins_so_comes_first_folders_before_files(
    folder: Path, typed: str, answer: PathListing
) -> None:
    assert listed(typed, folder) == answer


def test_the_home_folder_and_the_parent_can_be_named(folder: Path) -> None:
    (Path.home() / "mine.txt").touch()
    assert "mine.txt" in listed("~/", folder).names
    assert listed("~", folder).folder == "~/"
    assert listed("..", folder / "src") == PathListing("../", ["src/", "setup.cfg"])
    assert listed(f"{folder}/se", Path("/")).names == ["setup.cfg"]


def test_names_that_could_drive_a_terminal_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "ok").touch()
    (tmp_path / "o\x1b[2J").touch()
    assert listed("o", tmp_path).names == ["ok"]
