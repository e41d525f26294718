"""Measures the file history: what recording adds to a write, and watching to a command."""

import asyncio
import os
import subprocess
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path
from statistics import median

from report import Row, milliseconds

from tau.base.run import LocalRunner
from tau.coding.files.local_fs import LocalFileSystem
from tau.coding.undo.command_watch import CommandWatch
from tau.coding.undo.file_history import FileHistory
from tau.coding.undo.recorder import RecordingFileSystem
from tau.coding.undo.undo import Undo

FILES = 10_000
QUICK_FILES = 1_000
FOLDERS = 100
WRITES = 60
QUICK_WRITES = 15
ROUNDS = 9
QUICK_ROUNDS = 3
TEXT = b"value = 1\n" * 400


def measure(quick: bool) -> list[tuple[Row, float]]:
    """Return each figure with its row; times are medians."""
    files = QUICK_FILES if quick else FILES
    with tempfile.TemporaryDirectory() as place:
        folder = Path(os.path.realpath(place))
        plain, first, again = asyncio.run(_writes(folder, QUICK_WRITES if quick else WRITES))
        _repository(folder / "work", files)
        before, after, changed, undone = asyncio.run(
            _commands(folder / "work", QUICK_ROUNDS if quick else ROUNDS)
        )
    about = f"in a repository of {files:,} files"
    return [
        (Row("plain_write_ms", "a write of 4 KB, not recorded", None, milliseconds), plain),
        (
            Row("write_ms", "recording adds to a file's first write in a turn", None, milliseconds),
            first,
        ),
        (Row("rewrite_ms", "recording adds to later writes of it", None, milliseconds), again),
        (Row("before_ms", f"the look before a command, {about}", None, milliseconds), before),
        (Row("after_ms", "the look after it, nothing changed", None, milliseconds), after),
        (Row("changed_ms", "the look after it, 100 files changed", None, milliseconds), changed),
        (Row("undo_ms", "undo of these 100 files", None, milliseconds), undone),
    ]


async def _writes(folder: Path, count: int) -> tuple[float, float, float]:
    history = FileHistory(lambda: folder / "home" / "history")
    local = LocalFileSystem()
    recording = RecordingFileSystem(local, lambda: history)
    plain: list[float] = []
    first: list[float] = []
    again: list[float] = []
    for number in range(count):
        for times, fs, name in ((plain, local, "p"), (first, recording, "r"), (again, recording, "r")):
            path = folder / "writes" / f"{name}{number}.py"
            if times is not again:
                await local.write(path, b"%d %s" % (number, TEXT))
            started = time.perf_counter()
            await fs.write(path, b"%d %s %d" % (number, TEXT, len(again)) + name.encode() * len(first))
            times.append((time.perf_counter() - started) * 1000)
    history.close()
    return median(plain), median(first) - median(plain), median(again) - median(plain)


def _repository(work: Path, files: int) -> None:
    for number in range(files):
        path = work / f"d{number % FOLDERS}" / f"f{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"%d\n" % number + TEXT)
    for words in (("init", "-q"), ("add", "-A")):
        subprocess.run(["git", *words], cwd=work, check=True)
    time.sleep(1.1)  # else git rereads files as old as its index
    subprocess.run(["git", "update-index", "-q", "--refresh"], cwd=work, check=True)


async def _commands(work: Path, rounds: int) -> tuple[float, float, float, float]:
    runner = LocalRunner()
    history = FileHistory(lambda: work.parent / "home2" / "history")
    commands = CommandWatch(history, runner)
    times: list[list[float]] = [[], [], [], []]
    for number in range(rounds):
        history.begin_turn("measure")
        times[0].append(await _timed(commands.before(f"a{number}", [work])))
        times[1].append(await _timed(commands.after(f"a{number}")))
        await commands.before(f"b{number}", [work])
        for file in range(100):
            (work / f"d{file % FOLDERS}" / f"f{file}.py").write_bytes(b"changed %d" % number)
        times[2].append(await _timed(commands.after(f"b{number}")))
        started = time.perf_counter()
        undo = Undo(history.folder, history=history)
        result = undo.apply(undo.plan())
        times[3].append((time.perf_counter() - started) * 1000)
        if len(result.restored) != 100 or not result.clean:
            raise AssertionError(f"{len(result.restored)} of 100 files came back")
    commands.close()
    history.close()
    runner.close()
    before, after, changed, undone = map(median, times)
    return before, after, changed, undone


async def _timed(work: Awaitable[None]) -> float:
    started = time.perf_counter()
    await work
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    for row, value in measure(quick=False):
        print(f"{row.title}: {value:.2f} ms")
