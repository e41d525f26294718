"""What the agent's real tools do is in the history, whichever way they write to the disk."""

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tau.agent.events import MessageEnd
from tau.agent.hooks import ToolQuestion
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.ai.faux import FAUX_MODEL
from tau.ai.wire import ToolCall, UserMessage
from tau.coding.tools.bash import Bash
from tau.coding.tools.edit import Edit
from tau.coding.tools.read import Read
from tau.coding.tools.write import Write
from tau.coding.undo.undo import Undo
from tests.coding.context import CallContext
from tests.coding.undo.undo_rig import make_repository, tree_of


class Bench:
    """Calls tools like the loop, with the hooks around them."""

    def __init__(self, ctx: CallContext) -> None:
        self.ctx = ctx
        self.recorder = ctx.environment.recorder
        self.calls = 0

    async def call(self, tool: Tool[Any], **arguments: Any) -> ToolOutput:
        self.calls += 1
        call = ToolCall(f"call_{self.calls}", tool.name, arguments)
        params, _ = tool.decode(arguments)
        question = ToolQuestion(call, tool, tool.effects(params, self.ctx.cwd), self.ctx, FAUX_MODEL)
        assert await self.recorder.before_tool(question) is None
        return await self.recorder.after_tool(call, await tool.run(params, self.ctx))

    def say(self, text: str) -> None:
        self.recorder.on_event(MessageEnd(UserMessage(text, 0)))

    def undo(self) -> None:
        undo = self.recorder.undo
        result = undo.apply(undo.plan())
        assert result.clean and result.id is not None, result


@pytest.fixture
def bench(ctx: CallContext) -> Bench:
    bench = Bench(ctx)
    bench.say("go on")
    return bench


def test_write_and_edit_are_undone(bench: Bench) -> None:
    (bench.ctx.cwd / "a.txt").write_text("one\n")

    async def work() -> None:
        await bench.call(Read(), path="a.txt")
        await bench.call(Edit(), path="a.txt", old_text="one", new_text="two")
        await bench.call(Write(), path="run.sh", content="#!/bin/sh\n")

    asyncio.run(work())
    bench.undo()
    assert {name: data for name, (_, data, _) in tree_of(bench.ctx.cwd).items()} == {
        str(bench.ctx.cwd / "a.txt"): b"one\n"
    }


def test_database_row_is_undone(bench: Bench) -> None:
    path = bench.ctx.cwd / "app.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table users (id integer primary key, name text)")
        connection.execute("insert into users values (1, 'Ada')")
    connection.close()
    before = path.read_bytes()

    asyncio.run(bench.call(Write(), path="app.db:users:1", content='{"name": "Grace"}'))
    assert path.read_bytes() != before
    bench.undo()

    assert path.read_bytes() == before


def test_archive_entry_is_undone(bench: Bench) -> None:
    path = bench.ctx.cwd / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.txt", "one\n")
    before = path.read_bytes()

    asyncio.run(bench.call(Write(), path="a.zip:x.txt", content="two\n"))
    assert path.read_bytes() != before
    bench.undo()

    assert path.read_bytes() == before


def test_command_is_undone_in_the_repository_it_names(bench: Bench, tmp_path: Path) -> None:
    other = tmp_path / "other"
    make_repository(other, {"x.txt": "x\n", "y.txt": "y\n"})

    asyncio.run(bench.call(Bash(), command="rm x.txt", cwd=str(other)))
    asyncio.run(bench.call(Bash(), command=f"cd {other} && rm y.txt"))
    bench.undo()

    assert (other / "x.txt").exists() and (other / "y.txt").exists()


def test_each_user_message_starts_a_turn(bench: Bench) -> None:
    asyncio.run(bench.call(Write(), path="a.txt", content="one\n"))
    bench.say("and now this")
    asyncio.run(bench.call(Write(), path="a.txt", content="two\n"))

    assert [turn.prompt for turn in bench.recorder.undo.turns()] == ["go on", "and now this"]
    bench.undo()
    assert (bench.ctx.cwd / "a.txt").read_text() == "one\n"


def test_stopped_call_is_recorded_when_the_run_ends(bench: Bench) -> None:
    class Slow(Bash):
        async def run(self, params: Any, ctx: Any) -> ToolOutput:
            (ctx.cwd / "a.txt").write_text("half\n")
            raise asyncio.CancelledError

    (bench.ctx.cwd / "a.txt").write_text("one\n")

    async def work() -> None:
        await bench.call(Read(), path="a.txt")
        with pytest.raises(asyncio.CancelledError):
            await bench.call(Slow(), command="x")
        await bench.recorder.settle()

    asyncio.run(work())
    bench.undo()
    assert (bench.ctx.cwd / "a.txt").read_text() == "one\n"


def test_background_scans_finish_before_the_next_change(bench: Bench) -> None:
    make_repository(bench.ctx.cwd, {"a.txt": "a\n", "b.txt": "b\n"})

    async def work() -> None:
        async with bench.recorder:
            await bench.call(Bash(), command="echo agent > a.txt")
            await bench.call(Write(), path="a.txt", content="written over it\n")
            await bench.call(Bash(), command="rm a.txt")
            await bench.call(Bash(), command="rm b.txt")

    asyncio.run(work())
    bench.undo()
    assert (bench.ctx.cwd / "a.txt").read_text() == "a\n"
    assert (bench.ctx.cwd / "b.txt").read_text() == "b\n"


def test_database_with_a_wal_is_reported_as_not_restorable(bench: Bench) -> None:
    path = bench.ctx.cwd / "app.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("pragma journal_mode=wal")
    connection.execute("create table users (id integer primary key, name text)")
    connection.execute("insert into users values (1, 'Ada')")

    asyncio.run(bench.call(Write(), path="app.db:users:1", content='{"name": "Grace"}'))
    connection.close()

    assert bench.recorder.undo.turns() == []
    assert len(bench.ctx.warnings) == 1 and "is in use by another program" in bench.ctx.warnings[0]


def test_conversation_without_tools_does_not_import_the_history(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from tau.agent.events import MessageEnd
from tau.ai.wire import UserMessage
from tau.base.run import LocalRunner
from tau.coding.undo.recorder import Recorder
recorder = Recorder(lambda: Path("nowhere"), LocalRunner(), warn=print)
recorder.on_event(MessageEnd(UserMessage("hi", 0)))
recorder.close()
print([name for name in sys.modules if name.startswith("tau.coding.undo.")])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "['tau.coding.undo.recorder']\n"


WRITER = """
import asyncio, sys
from pathlib import Path
from tau.coding.files.local_fs import LocalFileSystem
from tau.coding.undo.file_history import FileHistory
from tau.coding.undo.recorder import RecordingFileSystem

async def main():
    history = FileHistory(lambda: Path(sys.argv[2]))
    fs = RecordingFileSystem(LocalFileSystem(), lambda: history)
    folder = Path(sys.argv[1])
    history.begin_turn("killed")
    print("ready", flush=True)
    for round in range(1000):
        for number in range(5):
            await fs.write(folder / f"f{number}.txt", b"%d\\n" % round)
        await fs.write(folder / f"new{round}" / "x.txt", b"new\\n")
        await fs.remove(folder / f"f{round % 5}.txt")

asyncio.run(main())
"""


def test_everything_is_restored_after_a_kill_at_any_moment(tmp_path: Path) -> None:
    chance = random.Random(7)
    for attempt in range(8):
        folder, home = tmp_path / f"work{attempt}", tmp_path / f"home{attempt}" / "history"
        folder.mkdir()
        for number in range(5):
            (folder / f"f{number}.txt").write_text(f"before {number}\n")
        before = tree_of(folder)
        words = [sys.executable, "-c", WRITER, os.path.realpath(folder), os.path.realpath(home)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            time.sleep(chance.uniform(0.001, 0.08))
            process.send_signal(signal.SIGKILL)
            process.wait()
        for left in folder.rglob(".tau-*.tmp"):
            left.unlink()  # an interrupted write; the next one there would remove it
        undo = Undo(home)
        if undo.turns():
            result = undo.apply(undo.plan())
            assert result.clean, result
        assert tree_of(folder) == before
        assert not list(folder.glob("new*"))
