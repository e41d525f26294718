"""Undo of the agent's tool calls: what is restored, what is left alone, and redo."""

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tau.base.errors import ToolError, UsageError
from tau.coding.undo import file_state
from tau.coding.undo.file_history import ContentStore, FileHistory
from tau.coding.undo.file_state import digest
from tau.coding.undo.journal import ChangeOutcome, Journal, load
from tau.coding.undo.plan import CHANGED_SINCE, NO_FOLDER
from tau.coding.undo.undo import Undo, UndoResult
from tests.coding.undo.undo_rig import World, tree_of


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    (tmp_path / "work").mkdir()
    world = World(tmp_path / "work", tmp_path / "home")
    (world.folder / "a.txt").write_text("one\n")
    world.history.begin_turn("do it")
    yield world
    world.close()


def undo(world: World, **wish: object) -> UndoResult:
    return world.undo.apply(world.undo.plan(**wish))  # type: ignore[arg-type]


def redo(world: World) -> UndoResult:
    return world.undo.apply(world.undo.redo_plan())


def test_written_file_gets_its_content_and_mode_back(world: World) -> None:
    (world.folder / "a.txt").chmod(0o640)
    asyncio.run(world.write("a.txt", "two\n"))
    asyncio.run(world.write("a.txt", "three\n"))

    result = undo(world)

    assert result.clean and [step.path.name for step in result.restored] == ["a.txt"]
    assert (world.folder / "a.txt").read_text() == "one\n"
    assert stat.S_IMODE((world.folder / "a.txt").stat().st_mode) == 0o640


def test_new_file_is_removed_with_the_folders_made_for_it(world: World) -> None:
    asyncio.run(world.write("x/y/new.txt", "new\n"))

    result = undo(world)

    assert [step.path.name for step in result.deleted] == ["new.txt"]
    assert [folder.name for folder in result.folders] == ["y", "x"]
    assert not (world.folder / "x").exists()


def test_folder_that_now_holds_something_else_is_kept(world: World) -> None:
    asyncio.run(world.write("x/y/new.txt", "new\n"))
    (world.folder / "x/mine.txt").write_text("mine\n")

    undo(world)

    assert [path.name for path in (world.folder / "x").iterdir()] == ["mine.txt"]


def test_deleted_and_moved_files_are_restored(world: World) -> None:
    (world.folder / "run.sh").write_text("#!/bin/sh\n")
    (world.folder / "run.sh").chmod(0o755)
    before = tree_of(world.folder)
    asyncio.run(world.remove("a.txt"))
    asyncio.run(world.move("run.sh", "bin/run.sh"))

    assert undo(world).clean

    assert tree_of(world.folder) == before


def test_deleted_link_is_restored_as_a_link(world: World) -> None:
    (world.folder / "link").symlink_to("a.txt")
    asyncio.run(world.remove("link"))

    undo(world)

    assert (world.folder / "link").readlink() == Path("a.txt")


def test_file_written_through_a_link_is_restored(world: World) -> None:
    (world.folder / "link").symlink_to("a.txt")
    asyncio.run(world.write("link", "two\n"))

    undo(world)

    assert (world.folder / "link").is_symlink()
    assert (world.folder / "a.txt").read_text() == "one\n"


def test_each_undo_reverts_one_more_turn(world: World) -> None:
    asyncio.run(world.write("a.txt", "two\n"))
    world.history.begin_turn("and more")
    asyncio.run(world.write("a.txt", "three\n"))

    undo(world)
    assert (world.folder / "a.txt").read_text() == "two\n"
    undo(world)
    assert (world.folder / "a.txt").read_text() == "one\n"
    with pytest.raises(UsageError, match="Nothing to undo"):
        undo(world)


def test_several_turns_can_be_undone_at_once_and_redone(world: World) -> None:
    asyncio.run(world.write("a.txt", "two\n"))
    world.history.begin_turn("and more")
    asyncio.run(world.write("a.txt", "three\n"))

    undo(world, count=2)
    assert (world.folder / "a.txt").read_text() == "one\n"
    redo(world)
    assert (world.folder / "a.txt").read_text() == "three\n"
    undo(world)
    assert (world.folder / "a.txt").read_text() == "two\n"


def test_file_changed_since_by_the_user_is_a_conflict_with_all_its_states(world: World) -> None:
    asyncio.run(world.write("a.txt", "two\n"))
    asyncio.run(world.write("b.txt", "b\n"))
    (world.folder / "a.txt").write_text("mine\n")

    result = undo(world)

    (conflict,) = result.conflicts
    assert (conflict.path.name, conflict.reason) == ("a.txt", CHANGED_SINCE)
    assert [conflict.before.hash, conflict.left.hash, conflict.now.hash] == [
        digest(text) for text in (b"one\n", b"two\n", b"mine\n")
    ]
    assert (world.folder / "a.txt").read_text() == "mine\n"
    assert not (world.folder / "b.txt").exists()


def test_conflict_is_undone_by_force_and_the_users_content_is_saved(world: World) -> None:
    asyncio.run(world.write("a.txt", "two\n"))
    (world.folder / "a.txt").write_text("mine\n")
    assert undo(world).conflicts

    result = undo(world, force=[world.folder / "a.txt"])

    assert result.clean and (world.folder / "a.txt").read_text() == "one\n"
    redo(world)
    assert (world.folder / "a.txt").read_text() == "mine\n"


def test_turn_with_only_conflicts_stays_the_last_one(world: World) -> None:
    asyncio.run(world.write("a.txt", "two\n"))
    (world.folder / "a.txt").write_text("mine\n")

    assert undo(world).id is None and undo(world).id is None
    assert [turn.open for turn in world.undo.turns()] == [True]


def test_user_change_in_the_middle_of_a_turn_is_preserved(world: World) -> None:
    asyncio.run(world.write("a.txt", "two\n"))
    (world.folder / "a.txt").write_text("mine\n")
    asyncio.run(world.write("a.txt", "three\n"))

    result = undo(world)

    assert (world.folder / "a.txt").read_text() == "mine\n"
    assert [conflict.path.name for conflict in result.conflicts] == ["a.txt"]


def test_permissions_set_since_by_the_user_are_kept(world: World) -> None:
    asyncio.run(world.write("a.txt", "two\n"))
    (world.folder / "a.txt").chmod(0o600)

    assert undo(world).clean

    assert (world.folder / "a.txt").read_text() == "one\n"
    assert stat.S_IMODE((world.folder / "a.txt").stat().st_mode) == 0o600


def test_single_files_and_folders_can_be_undone(world: World) -> None:
    asyncio.run(world.write("a.txt", "two\n"))
    asyncio.run(world.write("d/b.txt", "b\n"))
    asyncio.run(world.write("d/c.txt", "c\n"))

    assert undo(world, paths=[world.folder / "d"]).clean
    assert [path.name for path in world.folder.iterdir()] == ["a.txt"]
    assert (world.folder / "a.txt").read_text() == "two\n"
    assert undo(world).clean
    assert (world.folder / "a.txt").read_text() == "one\n"
    with pytest.raises(UsageError, match="to these files"):
        undo(world, paths=[world.folder / "d"])


def test_change_already_reverted_by_the_user_is_not_a_conflict(world: World) -> None:
    asyncio.run(world.write("a.txt", "two\n"))
    (world.folder / "a.txt").write_text("one\n")

    result = undo(world)

    assert result.clean and result.id is None


def test_failed_write_leaves_nothing_to_undo(world: World) -> None:
    async def fail() -> None:
        stat = await world.fs.stat(world.folder / "a.txt")
        (world.folder / "a.txt").write_text("changed by somebody else\n")
        with pytest.raises(ToolError):
            await world.fs.write(world.folder / "a.txt", b"two\n", expect=stat)

    asyncio.run(fail())
    assert world.undo.turns() == []


def test_writing_the_same_content_leaves_nothing_to_undo(world: World) -> None:
    asyncio.run(world.write("a.txt", "one\n"))
    assert not (world.place / "journal.log").exists()


def test_folder_that_became_a_link_is_not_followed(world: World, tmp_path: Path) -> None:
    (world.folder / "d").mkdir()
    (world.folder / "d/b.txt").write_text("before\n")
    asyncio.run(world.write("d/b.txt", "after\n"))
    outside = tmp_path / "outside"
    (world.folder / "d").rename(outside)
    (world.folder / "d").symlink_to(outside)

    result = undo(world)

    assert result.id is None and [one.reason for one in result.conflicts] == [CHANGED_SINCE]
    assert (outside / "b.txt").read_text() == "after\n"


def test_file_in_place_of_a_folder_is_a_conflict(world: World) -> None:
    (world.folder / "d").mkdir()
    (world.folder / "d/b.txt").write_text("b\n")
    asyncio.run(world.remove("d/b.txt"))
    (world.folder / "d").rmdir()
    (world.folder / "d").write_text("mine\n")

    result = undo(world)

    assert [conflict.reason for conflict in result.conflicts] == [NO_FOLDER]
    assert (world.folder / "d").read_text() == "mine\n"


def test_large_file_is_reported_as_not_restorable(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_state, "MAX_FILE_BYTES", 100)
    (world.folder / "big.bin").write_bytes(b"x" * 200)
    asyncio.run(world.write("big.bin", "small\n"))

    result = undo(world)

    assert [step.path.name for step in result.unrestorable] == ["big.bin"]
    assert "larger than 100 bytes" in world.warnings[0]
    assert (world.folder / "big.bin").read_text() == "small\n"


def test_undo_that_could_not_be_redone_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_state, "MAX_FILE_BYTES", 100)
    asyncio.run(world.write("a.txt", "x" * 200))

    result = undo(world)

    assert [failed.path.name for failed in result.failed] == ["a.txt"]
    assert (world.folder / "a.txt").stat().st_size == 200


def test_saved_contents_are_private_and_deduplicated(world: World) -> None:
    (world.folder / "same.txt").write_text("one\n")
    asyncio.run(world.write("a.txt", "two\n"))
    asyncio.run(world.write("same.txt", "two\n"))

    kept = list((world.place / "kept").iterdir())

    assert [path.name for path in kept] == [digest(b"one\n")]
    assert stat.S_IMODE(kept[0].stat().st_mode) == 0o600
    assert stat.S_IMODE((world.place / "kept").stat().st_mode) == 0o700
    assert stat.S_IMODE((world.place / "journal.log").stat().st_mode) == 0o600


def test_oldest_contents_are_dropped_when_there_are_too_many(tmp_path: Path) -> None:
    warnings: list[str] = []
    pinned: set[str] = set()
    kept = ContentStore(tmp_path / "kept", cap_bytes=1000, warn=warnings.append, pinned=pinned)
    for number in range(8):
        pinned.clear()
        data = bytes([number]) * 300
        assert kept.put(digest(data), data, sync=False)
        os.utime(tmp_path / "kept" / digest(data), (number, number))
    assert sum(path.stat().st_size for path in kept.folder.iterdir()) <= 1000
    assert kept.has(digest(bytes([7]) * 300)) and not kept.has(digest(bytes([0]) * 300))
    assert len(warnings) == 1 and "1000 bytes" in warnings[0]


def test_contents_of_the_current_turn_are_not_dropped(tmp_path: Path) -> None:
    kept = ContentStore(tmp_path / "kept", cap_bytes=500)
    assert kept.put(digest(b"a" * 300), b"a" * 300)
    assert not kept.put(digest(b"b" * 300), b"b" * 300)
    assert kept.get(digest(b"a" * 300)) == b"a" * 300


def test_damaged_content_is_not_restored(world: World) -> None:
    asyncio.run(world.write("a.txt", "two\n"))
    (world.place / "kept" / digest(b"one\n")).write_text("damaged")

    result = undo(world)

    assert [failed.reason for failed in result.failed] == ["its content is damaged in the history"]
    assert (world.folder / "a.txt").read_text() == "two\n"


def test_unwritable_history_is_reported_once_and_work_continues(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where the folder should be")
    (tmp_path / "work").mkdir()
    world = World(tmp_path / "work", tmp_path / "home")
    asyncio.run(world.write("a.txt", "one\n"))
    asyncio.run(world.write("a.txt", "two\n"))
    world.close()

    assert (world.folder / "a.txt").read_text() == "two\n"
    assert len(world.warnings) == 1 and world.warnings[0].startswith("Changes cannot be recorded for undo")


def test_unreadable_lines_are_skipped(world: World) -> None:
    asyncio.run(world.write("a.txt", "two\n"))
    with (world.place / "journal.log").open("ab") as file:
        file.write(b'{"type": "from a newer version"}\nnot json\n{"type": "int')
    assert undo(world).clean
    assert (world.folder / "a.txt").read_text() == "one\n"


def test_undecodable_names_are_preserved(world: World) -> None:
    path = Path(os.fsdecode(os.fsencode(world.folder) + b"/\xff\xfe.txt"))
    path.write_text("one\n")
    asyncio.run(world.fs.write(path, b"two\n"))
    assert undo(world).clean
    assert path.read_text() == "one\n"


def test_git_and_session_folders_are_not_part_of_the_history(world: World) -> None:
    (world.folder / ".git").mkdir()
    asyncio.run(world.write(".git/config", "x"))
    asyncio.run(world.fs.write(world.place.parent / "local/plan.md", b"plan"))
    assert world.undo.turns() == []


def test_database_in_use_is_a_conflict(world: World) -> None:
    (world.folder / "app.db").write_bytes(b"before")
    asyncio.run(world.write("app.db", "after"))
    (world.folder / "app.db-wal").write_bytes(b"log")

    result = undo(world)

    assert "database in use" in result.conflicts[0].reason
    assert (world.folder / "app.db").read_bytes() == b"after"


def test_turns_show_prompt_and_files(world: World) -> None:
    world.history.begin_turn("fix\n\nthe   bug " + "x" * 200)
    asyncio.run(world.write("a.txt", "two\n"))
    asyncio.run(world.write("b.txt", "two\n"))

    (turn,) = world.undo.turns()

    assert turn.prompt.startswith("fix the bug xxx") and len(turn.prompt) == 80
    assert [Path(path).name for path in turn.files] == ["a.txt", "b.txt"]
    assert turn.time_ms > 0 and turn.open


def test_another_process_sees_and_undoes_the_same_turns(world: World) -> None:
    asyncio.run(world.write("a.txt", "two\n"))
    other = Undo(world.place)
    assert other.apply(other.plan()).clean
    asyncio.run(world.write("a.txt", "three\n"))
    assert undo(world).clean
    assert (world.folder / "a.txt").read_text() == "one\n"


def test_interrupted_undo_resumes_where_it_stopped(world: World) -> None:
    """As if tau had been killed in the middle of an undo, before or after one of its changes."""
    for name in ("a.txt", "b.txt"):
        (world.folder / name).write_text("one\n")
        asyncio.run(world.write(name, "two\n"))
    turn = world.undo.turns()[0]
    killed = FileHistory(lambda: world.place)
    killed.begin_turn("", kind="undo", targets=[turn.id])
    killed.intend(str(world.folder / "a.txt"), file_state.file_state(b"one\n"))
    killed.close()

    assert undo(world).clean
    assert {(world.folder / name).read_text() for name in ("a.txt", "b.txt")} == {"one\n"}


@pytest.mark.parametrize("done", [True, False])
def test_change_without_a_recorded_outcome_is_judged_by_the_file(world: World, done: bool) -> None:
    """As if tau had been killed between the note and the change, or between the change and its note."""
    world.history.intend(str(world.folder / "a.txt"), file_state.file_state(b"two\n"))
    if done:
        (world.folder / "a.txt").write_text("two\n")
    assert not any(isinstance(record, ChangeOutcome) for record in load(world.place))

    result = undo(world)

    assert result.clean and (world.folder / "a.txt").read_text() == "one\n"
    assert len(result.restored) == done


def test_journal_accepts_two_writers(tmp_path: Path) -> None:
    one, other = Journal(tmp_path), Journal(tmp_path)
    for number in range(5):
        one.add(ChangeOutcome(id=f"a{number}"))
        other.add(ChangeOutcome(id=f"b{number}"))
    one.close()
    other.close()
    assert len(load(tmp_path)) == 10
