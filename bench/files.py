"""Measures the file tools against plain programs: `bench/files.py [--quick]`.

Each measure is a pair: the tool, and the minimum work it requires. Both run alternately, warm,
and the figure is the ratio of their medians. To add one, write a function like `find_all` and list it in
MEASURES.
"""

import argparse
import asyncio
import itertools
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from report import Row, milliseconds, times, verdict

from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.backends.syntax.summary import summarize
from tau.backends.syntax.trees import parse
from tau.base.files import write_atomic
from tau.base.run import LocalRunner
from tau.base.text import decode, encode
from tau.coding.artifacts import TemporaryArtifacts
from tau.coding.files.local_fs import LocalFileSystem
from tau.coding.files.seen_files import SeenFiles
from tau.coding.internal_urls.router import SchemeRouter
from tau.coding.search import rg_command
from tau.coding.search.query import Query, SearchRequest, SearchScope
from tau.coding.tools.edit_hashline import HashlineEdit
from tau.coding.tools.find import Find
from tau.coding.tools.read import Read
from tau.coding.tools.search import Search

FILES = 50_000
QUICK_FILES = 5_000
ROUNDS = 9
QUICK_ROUNDS = 3
PER_FOLDER = 50
SEED = 1

Work = Callable[[], Awaitable[object]]


@dataclass
class World:
    """The tools' context; `cwd` is the generated tree."""

    cwd: Path
    artifacts: TemporaryArtifacts = field(default_factory=TemporaryArtifacts)
    fs: LocalFileSystem = field(default_factory=LocalFileSystem)
    run: LocalRunner = field(default_factory=LocalRunner)
    ui: Any = None
    urls: SchemeRouter = field(default_factory=SchemeRouter)
    snapshots: Any = field(default_factory=SeenFiles)
    models: Any = None
    jobs: Any = None
    call_id: str = "bench"
    side: Path = Path()  # for files outside the tree
    full: bool = True
    spent: float | None = None  # set by a measure that times itself

    def update(self, partial: ToolOutput) -> None:
        """Ignore updates."""

    async def call(self, tool: Tool[Any], **arguments: Any) -> ToolOutput:
        params, _ = tool.decode(arguments)
        output = await tool.run(params, self)
        if output.is_error:
            raise SystemExit(f"{tool.name} failed: {output.content}")
        return output


@dataclass(frozen=True)
class Measure:
    """`ours` over `floor` may be at most `target`."""

    title: str
    ours: Work
    floor: Work
    floor_title: str
    target: float


def search_few(world: World) -> Measure:
    """Search where one file in a hundred has a match."""
    return search("`search`, 1 % of the files match", "needle", world)


def search_all(world: World) -> Measure:
    return search("`search`, every file matches", "return", world)


def search(title: str, pattern: str, world: World) -> Measure:
    tool = Search()
    request = SearchRequest(query=Query(pattern=pattern), scope=SearchScope(roots=(str(world.cwd),)))
    command = rg_command.command(program(), request)
    return Measure(
        title,
        lambda: world.call(tool, pattern=pattern, paths="."),
        lambda: spawned(command),
        "`rg` with the same flags",
        1.3,
    )


def find_all(world: World) -> Measure:
    tool = Find()
    command = [program(), "--files", "--hidden", "--null", "--sortr=modified", str(world.cwd)]
    return Measure(
        "`find`, everything",
        lambda: world.call(tool, paths=["."], timeout=60),
        lambda: spawned(command),
        "`rg --files --sortr modified`",
        1.3,
    )


def edit_one_line(world: World) -> Measure:
    """Edit a line in the middle of 100,000, back and forth, so that every round changes something."""
    path = world.side / "long.txt"
    path.write_text("".join(f"this is line {number} of a long file\n" for number in range(1, 100_001)))
    tool, wanted = HashlineEdit(), ["first", "second"]

    async def ours() -> None:
        text = path.read_text()
        tag = world.snapshots.record(path, text)  # as the read before the edit did
        wanted.reverse()
        started = time.perf_counter()
        await world.call(tool, input=f"¶{path}#{tag}\nreplace 50000..50000:\n+{wanted[0]}\n")
        world.spent = (time.perf_counter() - started) * 1000

    async def floor() -> None:
        write_atomic(path, encode((decoded := decode(path.read_bytes())).text, decoded))

    return Measure("`edit`, one of 100,000 lines", ours, floor, "decoding and one synced write", 5)


def read_large(world: World) -> Measure:
    """Read forty lines of a very large file, against a 1 MB file."""
    block = b"".join(b"line %07d of a log file that grows\n" % number for number in range(25_000))
    large, small = world.side / "large.log", world.side / "small.log"
    small.write_bytes(block)
    with large.open("wb") as file:
        for _ in range(1024 if world.full else 64):
            file.write(block)
    tool = Read()
    return Measure(
        f"`read`, 40 lines of {large.stat().st_size // 10**6} MB",
        lambda: world.call(tool, path=f"{large}:1-40"),
        lambda: world.call(tool, path=f"{small}:1-40"),
        "40 lines of 1 MB",
        2,
    )


def summarize_file(world: World) -> Measure:
    """Summarize 5,000 lines of Python, against parsing them."""
    body = "".join(f"        value_{number} = compute({number}, other=[1, 2, 3])\n" for number in range(23))
    text = "".join(f"class Thing{number}:\n    def method(self):\n{body}\n" for number in range(192))

    async def ours() -> None:
        if summarize("thing.py", f"{text}# {next(serial)}\n") is None:
            raise SystemExit("There was no summary.")

    async def floor() -> None:
        parse(f"{text}# {next(serial)}\n", "python")

    serial = itertools.count()  # the last tree is cached, so use a new text each time
    return Measure("a summary of 5,000 lines", ours, floor, "parsing them", 2)


MEASURES: tuple[Callable[[World], Measure], ...] = (
    search_few,
    search_all,
    find_all,
    edit_one_line,
    read_large,
    summarize_file,
)


def program() -> str:
    path = rg_command.locate()
    if path is None:
        raise SystemExit("ripgrep is not installed, so there is nothing to compare with.")
    return path


async def spawned(command: list[str]) -> None:
    """Run a program and read its output with plain calls, so that none of our code is measured."""
    done = subprocess.run(  # noqa: ASYNC221 - nothing else goes on
        command, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} ended with exit code {done.returncode}: {done.stderr.decode()[:500]}")


async def timed(work: Work, world: World) -> float:
    started = time.perf_counter()
    await work()
    spent, world.spent = world.spent, None
    return (time.perf_counter() - started) * 1000 if spent is None else spent


async def measured(measures: list[Measure], rounds: int, world: World) -> list[tuple[float, float]]:
    """Return the median milliseconds of ours and of the floor, measured alternately."""
    samples: list[tuple[list[float], list[float]]] = [([], []) for _ in measures]
    for number in range(rounds + 1):
        for measure, (ours, floor) in zip(measures, samples, strict=True):
            pair = await timed(measure.ours, world), await timed(measure.floor, world)
            if number:  # the first round warms up
                ours.append(pair[0])
                floor.append(pair[1])
        print(f"\rround {number} of {rounds} ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return [(median(ours), median(floor)) for ours, floor in samples]


def table(measures: list[Measure], figures: list[tuple[float, float]]) -> str:
    lines = ["| | tau | compared with | | ratio | target | |", "|---|---|---|---|---|---|---|"]
    for measure, (ours, floor) in zip(measures, figures, strict=True):
        row = Row("ratio", measure.title, measure.target, times)
        ratio = ours / floor
        cells = (
            *(row.title, milliseconds(ours), measure.floor_title, milliseconds(floor)),
            *(times(ratio), f"<= {times(measure.target)}", verdict(row, ratio)),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def make_tree(root: Path, files: int) -> None:
    """Create small source files in nested folders; every hundredth one contains the needle."""
    chance = random.Random(SEED)
    for number in range(files):
        folder = root / f"pkg{number // PER_FOLDER // 20:02}" / f"mod{number // PER_FOLDER % 20:02}"
        if number % PER_FOLDER == 0:
            folder.mkdir(parents=True)
        lines = [
            f"def function_{chance.randrange(10**6)}(argument): return {chance.randrange(1000)}"
            for _ in range(chance.randrange(10, 60))
        ]
        if number % 100 == 0:
            lines[len(lines) // 2] = "    needle = find_me()"
        ending = chance.choice(("py", "ts", "md", "txt"))
        (folder / f"file{number % PER_FOLDER:02}.{ending}").write_text("\n".join(lines) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the file tools against the programs beside them.")
    parser.add_argument(
        "--quick", action="store_true", help="a small tree and few rounds, to see that it works"
    )
    arguments = parser.parse_args()
    files, rounds = (QUICK_FILES, QUICK_ROUNDS) if arguments.quick else (FILES, ROUNDS)
    if os.getloadavg()[0] > (os.cpu_count() or 1) / 2:
        print("The machine is busy: times will be longer than they are, ratios less so.", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="tau-bench-") as name:
        root, side = Path(name).resolve() / "tree", Path(name).resolve() / "side"
        root.mkdir()
        side.mkdir()
        make_tree(root, files)
        world = World(root, side=side, full=not arguments.quick)
        try:
            measures = [make(world) for make in MEASURES]
            figures = asyncio.run(measured(measures, rounds, world))
        finally:
            world.artifacts.close()
    print(f"{files:,} files; medians of {rounds} rounds, in turn.\n")
    print(table(measures, figures))
    return 0


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.exit(main())
