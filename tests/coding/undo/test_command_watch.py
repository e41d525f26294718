"""Undo of shell commands: files tracked by git, and files tau has read."""

import asyncio
import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tau.base.errors import UsageError
from tau.base.run import LocalRunner
from tau.coding.undo import command_watch, git_repository
from tau.coding.undo.command_watch import recover
from tau.coding.undo.journal import CommandEnd, CommandStart, load
from tau.coding.undo.plan import UNSURE
from tau.coding.undo.report import summary
from tau.coding.undo.undo import Undo, UndoResult
from tests.coding.undo.undo_rig import World, git, make_repository, tree_of

FILES = {"a.txt": "a\n", "b.txt": "b\n", "d/c.txt": "c\n", ".gitignore": "*.log\n"}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    make_repository(tmp_path / "work", FILES)
    world = World(tmp_path / "work", tmp_path / "home")
    world.history.begin_turn("run it")
    yield world
    world.close()


def undo(world: World, **wish: object) -> UndoResult:
    return world.undo.apply(world.undo.plan(**wish))  # type: ignore[arg-type]


def shell(world: World, *lines: str) -> None:
    async def work() -> None:
        for line in lines:
            await world.shell(line)

    asyncio.run(work())


def everything_in(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path): (path.stat().st_mtime_ns, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_undo_restores_tracked_files_changed_or_deleted_by_a_command(world: World) -> None:
    (world.folder / "b.txt").chmod(0o755)
    git(world.folder, "commit", "-qam", "can be run")
    before = tree_of(world.folder)

    shell(world, "echo more >> a.txt; rm -r d; chmod -x b.txt; rm b.txt; ln -s a.txt b.txt")
    assert tree_of(world.folder) != before
    result = undo(world)

    assert result.clean and len(result.restored) == 3
    assert tree_of(world.folder) == before


def test_tracked_link_is_restored_as_a_link(world: World) -> None:
    (world.folder / "link").symlink_to("a.txt")
    git(world.folder, "add", "-A")
    shell(world, "rm link; echo text > link")
    assert undo(world).clean
    assert (world.folder / "link").readlink() == Path("a.txt")


def test_undo_restores_uncommitted_changes(world: World) -> None:
    (world.folder / "a.txt").write_text("not committed\n")
    (world.folder / "b.txt").unlink()
    shell(world, "git checkout -q -- .")
    assert (world.folder / "a.txt").read_text() == "a\n"

    assert undo(world).clean

    assert (world.folder / "a.txt").read_text() == "not committed\n"
    assert not (world.folder / "b.txt").exists()


def test_untracked_files_are_restored_if_read_and_others_are_left_alone(world: World) -> None:
    for name in ("read.txt", "read.log", "unread.txt", "kept.txt"):
        (world.folder / name).write_text(f"{name}\n")

    async def work() -> None:
        await world.read("read.txt")
        await world.read("read.log")
        await world.shell("rm -f read.txt unread.txt read.log; echo new > new.txt")

    asyncio.run(work())
    result = undo(world)

    assert sorted(step.path.name for step in result.restored) == ["read.log", "read.txt"]
    assert (world.folder / "read.log").read_text() == "read.log\n"
    assert (world.folder / "kept.txt").exists() and (world.folder / "new.txt").exists()


def test_undo_works_without_git_for_files_tau_has_read(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    world = World(tmp_path / "work", tmp_path / "home")
    (world.folder / "a.txt").write_text("a\n")

    async def work() -> None:
        await world.read("a.txt")
        await world.shell("rm a.txt")

    asyncio.run(work())
    assert undo(world).clean
    world.close()
    assert (world.folder / "a.txt").read_text() == "a\n"


def test_user_changes_between_commands_are_not_attributed_to_the_agent(world: World) -> None:
    shell(world, "echo agent >> a.txt")
    (world.folder / "b.txt").write_text("mine\n")
    shell(world, "echo agent >> d/c.txt")
    (world.folder / "a.txt").write_text("mine too\n")
    shell(world, "true")

    result = undo(world)

    assert [conflict.path.name for conflict in result.conflicts] == ["a.txt"]
    assert (world.folder / "a.txt").read_text() == "mine too\n"
    assert (world.folder / "b.txt").read_text() == "mine\n"
    assert (world.folder / "d/c.txt").read_text() == "c\n"


def test_in_a_large_repository_the_mtime_decides_who_made_a_change(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_watch, "EACH_COMMAND_MS", -1.0)
    shell(world, "true")
    (world.folder / "b.txt").write_text("mine\n")
    time.sleep(0.1)  # more than the error of a file system's clock
    shell(world, "echo agent >> a.txt")

    assert undo(world).clean

    assert (world.folder / "b.txt").read_text() == "mine\n"
    assert (world.folder / "a.txt").read_text() == "a\n"


def test_edits_and_commands_of_one_turn_are_undone_together(world: World) -> None:
    async def work() -> None:
        await world.write("a.txt", "edited\n")
        await world.shell("echo more >> a.txt; git commit -qam agent 2>/dev/null")
        await world.write("a.txt", "edited again\n")
        await world.shell("rm a.txt")

    asyncio.run(work())
    assert undo(world).clean
    assert (world.folder / "a.txt").read_text() == "a\n"


def test_file_from_an_earlier_turn_is_restored_if_a_command_deletes_it(world: World) -> None:
    asyncio.run(world.write("new.txt", "by the first turn\n"))
    world.history.begin_turn("second")
    shell(world, "rm new.txt")
    assert undo(world).clean
    assert (world.folder / "new.txt").read_text() == "by the first turn\n"


def test_branch_checkout_by_a_command_is_undone_file_by_file(world: World) -> None:
    git(world.folder, "checkout", "-qb", "other")
    (world.folder / "a.txt").write_text("of the other branch\n")
    git(world.folder, "rm", "-q", "b.txt")
    git(world.folder, "commit", "-qam", "other")
    git(world.folder, "checkout", "-q", "main")
    before = tree_of(world.folder)

    shell(world, "git checkout -q other")
    assert undo(world).clean

    assert tree_of(world.folder) == before


def test_submodules_are_watched_too(world: World, tmp_path: Path) -> None:
    make_repository(tmp_path / "library", {"lib.txt": "lib\n"})
    git(
        world.folder,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        str(tmp_path / "library"),
        "sub",
    )
    git(world.folder, "commit", "-qm", "with a submodule")
    shell(world, "rm sub/lib.txt; echo x >> a.txt")
    assert undo(world).clean
    assert (world.folder / "sub/lib.txt").read_text() == "lib\n"


def test_nested_repository_is_watched_once_tau_has_read_in_it(world: World) -> None:
    make_repository(world.folder / "inner", {"x.txt": "x\n", "y.txt": "y\n"})

    async def work() -> None:
        await world.read("inner/x.txt")
        await world.shell("rm inner/y.txt")

    asyncio.run(work())
    assert undo(world).clean
    assert (world.folder / "inner/y.txt").read_text() == "y\n"


def test_linked_worktree_is_watched(world: World, tmp_path: Path) -> None:
    git(world.folder, "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "linked")
    linked = World(tmp_path / "linked", tmp_path / "other_home")
    asyncio.run(linked.shell("rm a.txt"))
    assert undo(linked).clean
    linked.close()
    assert (tmp_path / "linked/a.txt").read_text() == "a\n"


def test_nothing_is_written_into_the_repository(world: World) -> None:
    (world.folder / "a.txt").write_text("modified\n")
    os.utime(world.folder / "b.txt")  # git would record the new time if it were allowed to
    before = everything_in(world.folder / ".git")

    shell(world, "echo x >> d/c.txt", "rm b.txt")
    assert undo(world).clean

    assert everything_in(world.folder / ".git") == before


def test_line_endings_converted_by_git_are_restored_exactly(world: World) -> None:
    git(world.folder, "config", "core.autocrlf", "true")
    (world.folder / "dos.txt").write_bytes(b"one\r\ntwo\r\n")
    git(world.folder, "add", "-A")
    shell(world, "rm dos.txt")
    assert undo(world).clean
    assert (world.folder / "dos.txt").read_bytes() == b"one\r\ntwo\r\n"


def test_content_filtered_by_git_is_reported_as_not_restorable(world: World) -> None:
    git(world.folder, "config", "filter.short.clean", "head -c 3")
    (world.folder / ".gitattributes").write_text("*.large filter=short\n")
    (world.folder / "x.large").write_text("a long content\n")
    os.utime(world.folder / "x.large", (1, 1))  # Git looks again at what is as new as its index
    git(world.folder, "add", "-A")
    shell(world, "rm x.large")

    result = undo(world)

    assert [step.path.name for step in result.unrestorable] == ["x.large"]
    assert not (world.folder / "x.large").exists()


@pytest.mark.parametrize("version", [2, 3, 4])
def test_every_index_version_is_supported(world: World, version: int) -> None:
    (world.folder / "later.txt").write_text("x")
    git(world.folder, "update-index", "--index-version", str(version))
    if version == 3:
        git(world.folder, "add", "-N", "later.txt")
    shell(world, "rm -r a.txt b.txt d")
    assert undo(world).clean
    assert (world.folder / "d/c.txt").read_text() == "c\n"


def test_repository_with_too_many_files_is_reported_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_repository, "MAX_INDEX_BYTES", 10)

    async def work() -> None:
        await world.read("b.txt")
        await world.shell("rm a.txt b.txt")
        await world.shell("true")

    asyncio.run(work())
    assert len(world.warnings) == 1 and "it has too many files" in world.warnings[0]
    assert [step.path.name for step in undo(world).restored] == ["b.txt"]


def test_modified_files_beyond_the_limit_are_left_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_watch, "MAX_KEPT_FILES", 1)
    for name in ("a.txt", "b.txt"):
        (world.folder / name).write_text("not committed\n")
    shell(world, "echo agent > a.txt; echo agent > b.txt")

    result = undo(world)

    assert len(world.warnings) == 1 and "modified before a command" in world.warnings[0]
    assert len(result.restored) == 1
    texts = sorted((world.folder / name).read_text() for name in ("a.txt", "b.txt"))
    assert texts == ["agent\n", "not committed\n"]


def test_deleted_repository_is_reported(world: World) -> None:
    asyncio.run(world.read("a.txt"))
    shell(world, "rm -rf .git a.txt b.txt")
    assert "Cannot watch the repository" in world.warnings[0]
    assert [step.path.name for step in undo(world).restored] == ["a.txt"]


def test_pipe_that_replaced_a_file_is_left_alone(world: World) -> None:
    shell(world, "rm a.txt b.txt; mkfifo a.txt")
    result = undo(world)
    assert [step.path.name for step in result.restored] == ["b.txt"]
    assert stat.S_ISFIFO((world.folder / "a.txt").lstat().st_mode)
    assert [failed.path.name for failed in result.failed] == ["a.txt"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
def test_unreadable_file_is_reported_as_not_restorable(world: World) -> None:
    (world.folder / "a.txt").write_text("not committed\n")
    (world.folder / "a.txt").chmod(0)
    shell(world, "rm -f a.txt")
    assert [step.path.name for step in undo(world).unrestorable] == ["a.txt"]


def test_stopped_command_is_recorded_when_the_run_ends(world: World) -> None:
    async def work() -> None:
        await world.commands.before("call", [world.folder])
        (world.folder / "a.txt").write_text("half done\n")
        await world.commands.settle()

    asyncio.run(work())
    assert undo(world).clean
    assert (world.folder / "a.txt").read_text() == "a\n"


def test_stopped_command_is_scanned_in_the_background(world: World) -> None:
    async def work() -> None:
        async with asyncio.TaskGroup() as group:
            world.commands.group = group
            await world.commands.before("call", [world.folder])
            (world.folder / "a.txt").write_text("half done\n")
            world.commands.start_scan()
            world.commands.start_scan()

    asyncio.run(work())
    assert undo(world).clean
    assert (world.folder / "a.txt").read_text() == "a\n"


def test_concurrent_commands_are_all_recorded(world: World) -> None:
    async def work() -> None:
        async with asyncio.TaskGroup() as group:
            for name in ("a.txt", "b.txt", "d/c.txt"):
                group.create_task(world.shell(f"sleep 0.05; echo x >> {name}"))

    asyncio.run(work())
    result = undo(world)
    assert result.clean and len(result.restored) == 3


KILLED = """
import asyncio, os, sys
from pathlib import Path
from tau.base.run import LocalRunner, capture
from tau.coding.undo.command_watch import CommandWatch
from tau.coding.undo.file_history import FileHistory

async def main():
    history = FileHistory(lambda: Path(sys.argv[2]))
    history.begin_turn("killed")
    runner = LocalRunner()
    commands = CommandWatch(history, runner)
    await commands.before("call", [Path(sys.argv[1])])
    command = "echo agent > a.txt; rm b.txt; echo done; sleep 600"
    async with await runner.start(command, cwd=Path(sys.argv[1])) as process:
        async for chunk in process.output():
            print(chunk.decode(), end="", flush=True)

asyncio.run(main())
"""


def test_files_of_a_killed_command_are_named_and_restored_by_force(world: World) -> None:
    (world.folder / "a.txt").write_text("not committed\n")
    words = [sys.executable, "-c", textwrap.dedent(KILLED), str(world.folder), str(world.place)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "done\n"
        runner = LocalRunner()
        assert not asyncio.run(recover(world.place, runner))  # it still runs
        process.send_signal(signal.SIGKILL)
        process.wait()

    assert asyncio.run(recover(world.place, runner))
    runner.close()
    undone = Undo(world.place)
    result = undone.apply(undone.plan())
    assert {(conflict.path.name, conflict.reason) for conflict in result.conflicts} == {
        ("a.txt", UNSURE),
        ("b.txt", UNSURE),
    }
    forced = undone.apply(undone.plan(force=[world.folder / "a.txt", world.folder / "b.txt"]))

    assert forced.clean
    assert (world.folder / "a.txt").read_text() == "not committed\n"
    assert (world.folder / "b.txt").read_text() == "b\n"
    records = load(world.place)
    assert len([one for one in records if isinstance(one, CommandStart)]) == 1
    assert len([one for one in records if isinstance(one, CommandEnd)]) == 1


@pytest.mark.parametrize(
    ("before", "command"), ((0o644, "chmod 600"), (0o640, "chmod a+rx"), (0o755, "chmod -x"))
)
def test_chmod_of_a_tracked_file_is_undone(world: World, before: int, command: str) -> None:
    path = world.folder / "a.txt"
    path.chmod(before)
    git(world.folder, "add", "-A")
    os.utime(world.folder / ".git" / "index", (time.time() + 5, time.time() + 5))
    shell(world, f"{command} a.txt")
    assert stat.S_IMODE(path.stat().st_mode) != before
    result = world.undo.apply(world.undo.plan())
    assert result.clean and stat.S_IMODE(path.stat().st_mode) == before


def test_undo_says_that_a_command_ran_where_it_could_not_watch(world: World, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()

    async def main() -> None:
        await world.write("a.txt", "new\n")
        await world.commands.before("call", [world.folder, outside])
        await world.commands.after("call")

    asyncio.run(main())
    plan = world.undo.plan()
    said = summary(plan, world.undo.apply(plan))
    assert "A command ran outside the watched Git repositories, where undo cannot see what it changed" in said
    with pytest.raises(UsageError, match="A command ran outside the watched Git repositories"):
        world.undo.plan()


def test_undo_of_a_watched_turn_mentions_no_unwatched_command(world: World) -> None:
    shell(world, "echo more >> a.txt")
    plan = world.undo.plan()
    assert "A command ran" not in summary(plan, world.undo.apply(plan))
