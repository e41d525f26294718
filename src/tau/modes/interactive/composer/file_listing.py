"""Lists the files below a folder for completion: with git, ripgrep, or a directory walk."""

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
"""How often to check whether the list is still needed."""
PIECE_FILES = 2_000
# Read only the program's output, not its errors.
_QUIETLY = ("/bin/sh", "-c", 'exec "$0" "$@" 2>/dev/null')
# A repository can name programs for git to start; do not start them here.
_GIT = ("git", "-c", "core.fsmonitor=false", "ls-files", "-z")
_GIT_ENV = {"GIT_OPTIONAL_LOCKS": "0"}
_RG = ("--no-config", "--files", "--hidden", "--null", "--no-messages", "--glob", "!.git")


class ListingCancelled(TauError):
    """The list is no longer needed."""


class FileListing:
    """`pieces` yields paths relative to the folder; `gone` are tracked files missing from it."""

    def __init__(self, folder: Path, wanted: Callable[[], bool], run: Runner | None = None) -> None:
        self._folder = folder
        self._wanted = wanted
        self._run = run or LocalRunner()
        self.gone: set[str] = set()

    async def pieces(self) -> AsyncGenerator[list[str], None]:
        """Files not ignored, in batches. Raises ListingCancelled."""
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
        """New files; tracked files missing from the folder go to `gone`."""
        async with aclosing(
            self._records(*_GIT, "-t", "--others", "--deleted", "--exclude-standard")
        ) as records:
            async for piece in records:
                self.gone.update(row[2:] for row in piece if row.startswith("R "))
                yield [row[2:] for row in piece if row.startswith("? ")]

    async def _records(self, *argv: str) -> AsyncGenerator[list[str], None]:
        """The output of a program, split at NUL."""
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
        """Its output, checking now and then whether it is still needed."""
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
        """Walk on a separate thread, which hands over what it finds."""
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
            raise ListingCancelled("The file list is no longer needed.")


def _pieces(root: str) -> Iterator[list[str]]:
    start = len(root.rstrip("/")) + 1
    files: list[str] = []
    for piece in trees.tree(root):
        files += [entry.path[start:] for entry in piece.entries if not entry.is_dir(follow_symlinks=False)]
        if len(files) >= PIECE_FILES:
            yield files
            files = []
    yield files
