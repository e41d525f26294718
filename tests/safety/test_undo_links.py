"""Undo follows no link that a command, still running, puts in its way."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tau.coding.undo.file_history import FileHistory
from tests.coding.undo.undo_rig import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    (tmp_path / "work/sub").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    world = World(tmp_path / "work", tmp_path / "home")
    (world.folder / "sub/a.txt").write_text("one\n")
    world.history.begin_turn("do it")
    yield world
    world.close()


@pytest.mark.parametrize("change", ["two\n", None])
@pytest.mark.parametrize("what", ["folder", "file"])
def test_link_made_during_an_undo_is_not_followed(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str | None, what: str
) -> None:
    name = "a.txt" if change else "new.txt"
    asyncio.run(world.write(f"sub/{name}", "two\n"))
    victim = tmp_path / "outside" / name
    victim.write_text("mine\n")
    intend = FileHistory.intend

    def swap(self: FileHistory, *words: object) -> object:
        """Undo has looked at the file, and is about to write it."""
        intended = intend(self, *words)  # type: ignore[arg-type]
        path = world.folder / "sub" / ("" if what == "folder" else name)
        path.rename(world.folder / "moved")
        path.symlink_to(victim.parent if what == "folder" else victim)
        return intended

    plan = world.undo.plan()
    monkeypatch.setattr(FileHistory, "intend", swap)
    world.undo.apply(plan)
    assert victim.read_text() == "mine\n"
