"""Lists the files below a folder for completion: with git, with ripgrep, or by walking, beside all else."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, suppress
from pathlib import Path

from tau.base.errors import TauError
from tau.base.late import late
from tau.base.run import LocalRunner, Process, Runner
from tau.config.paths import repo_root

ripgrep = late("tau.coding.search.rg")
trees = late("tau.coding.search.walk")

LOOK_UP_S = 0.25
"""So often it is asked whether the list is still wanted."""
PIECE_FILES = 2_000
# The errors of the program are none of the list: only its output is read.
_QUIETLY = ("/bin/sh", "-c", 'exec "$0" "$@" 2>/dev/null')
# A repository can name a program for git to start; what it names is not started here.
_GIT = ("git", "-c", "core.fsmonitor=false", "ls-files", "-z")
_GIT_ENV = {"GIT_OPTIONAL_LOCKS": "0"}
_RG = ("--no-config", "--files", "--hidden", "--null", "--no-messages", "--glob", "!.git")


class ListingCancelled(TauError):
    """Nobody wants the list any more."""


class FileListing:
    """`pieces` gives paths relative to the folder; `gone` are those that git knows but the folder lacks."""

    def __init__(self, folder: Path, wanted: Callable[[], bool], run: Runner | None = None) -> None:
        self._folder = folder
        self._wanted = wanted
        self._run = run or LocalRunner()
        self.gone: set[str] = set()

    async def pieces(self) -> AsyncGenerator[list[str], None]:
        """Files that no ignore file leaves out, some at a time. Raises Unwanted."""
        found = False
        if repo_root(self._folder) is not None:
            async with aclosing(self._tracked()) as tracked:
                async for piece in tracked:
                    found = True
                    yield piece
        if found:
            async with aclosing(self._untracked()) as untracked:
                async for piece in untracked:
                    yield piece
            return
        program = ripgrep.locate()
        source = self._walked() if program is None else self._records(program, *_RG)
        async with aclosing(source) as files:
            async for piece in files:
                yield piece

    def _tracked(self) -> AsyncGenerator[list[str], None]:
        return self._records(*_GIT, "--cached", "--recurse-submodules")

    async def _untracked(self) -> AsyncGenerator[list[str], None]:
        """New files; what the index names and the folder lacks goes to `gone`."""
        async with aclosing(
            self._records(*_GIT, "-t", "--others", "--deleted", "--exclude-standard")
        ) as records:
            async for piece in records:
                self.gone.update(row[2:] for row in piece if row.startswith("R "))
                yield [row[2:] for row in piece if row.startswith("? ")]

    async def _records(self, *argv: str) -> AsyncGenerator[list[str], None]:
        """What a program writes, split at NUL."""
        try:
            process = await self._run.start((*_QUIETLY, *argv), cwd=self._folder, env=_GIT_ENV)
        except OSError:
            return
        rest = b""
        async with process, aclosing(self._chunks(process)) as chunks:
            async for chunk in chunks:
                *rows, rest = (rest + chunk).split(b"\0")
                yield [os.fsdecode(row) for row in rows]

    async def _chunks(self, process: Process) -> AsyncGenerator[bytes, None]:
        """Its output; every now and then it is asked whether somebody still wants it."""
        output = process.output()
        while True:
            try:
                async with asyncio.timeout(LOOK_UP_S):
                    chunk = await anext(output, b"")
            except TimeoutError:
                self._check()
                continue
            if not chunk:
                return
            self._check()
            yield chunk

    async def _walked(self) -> AsyncGenerator[list[str], None]:
        """By a thread of our own, which hands over what it has found."""
        loop = asyncio.get_running_loop()
        found: asyncio.Queue[list[str] | None] = asyncio.Queue()
        over = False

        def put(piece: list[str] | None) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(found.put_nowait, piece)

        def walk() -> None:
            try:
                for piece in _pieces(str(self._folder)):
                    if over or not self._wanted():
                        return
                    put(piece)
            finally:
                put(None)

        walking = loop.run_in_executor(None, walk)
        try:
            while (piece := await found.get()) is not None:
                yield piece
            await walking
        finally:
            over = True

    def _check(self) -> None:
        if not self._wanted():
            raise ListingCancelled("The list of files is not wanted any more.")


def _pieces(root: str) -> Iterator[list[str]]:
    start = len(root.rstrip("/")) + 1
    files: list[str] = []
    for piece in trees.tree(root):
        files += [entry.path[start:] for entry in piece.entries if not entry.is_dir(follow_symlinks=False)]
        if len(files) >= PIECE_FILES:
            yield files
            files = []
    yield files
