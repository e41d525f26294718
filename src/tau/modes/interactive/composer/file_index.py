"""The index of files below the working folder: listed with git, ripgrep or a walk, rebuilt when stale."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, suppress
from pathlib import Path

from tau.base.errors import TauError
from tau.base.late import late
from tau.base.run import LocalRunner, Process, Runner
from tau.config.paths import repo_root
from tau.modes.interactive.composer.path_search import FileIndex
from tau.modes.interactive.current_session import CurrentSession
from tau.modes.interactive.screen_protocols import Tasks
from tau.tui.timer import Timer

git = late("tau.base.git")
git_dir = late("tau.base.git_dir")
ripgrep = late("tau.coding.search.rg_command")
tempfile = late("tempfile")
trees = late("tau.coding.search.walk")

CHECK_S = 0.25
"""How often to check whether the list is still needed."""
BATCH_FILES = 2_000
# Read only the program's output, not its errors.
_WITHOUT_STDERR = ("/bin/sh", "-c", 'exec "$0" "$@" 2>/dev/null')
_LIST = ("ls-files", "-z")
MAX_NESTING = 4
"""Of submodules within submodules."""
_RG = ("--no-config", "--files", "--hidden", "--null", "--no-messages", "--glob", "!.git")
MAX_FILES = 300_000
MAX_S = 20.0
STALE_S = 5.0
SLICE_S = 0.003
"""Keys never wait longer than this for the index."""


class ListingCancelled(TauError):
    """The list is no longer needed."""


class FileListing:
    """`pieces` yields paths relative to the folder; `gone` are tracked files missing from it."""

    def __init__(self, folder: Path, is_needed: Callable[[], bool], run: Runner | None = None) -> None:
        self._folder = folder
        self._is_needed = is_needed
        self._run = run or LocalRunner()
        self.gone: set[str] = set()

    async def pieces(self) -> AsyncGenerator[list[str], None]:
        """Files not ignored, in batches. Raises ListingCancelled."""
        has_tracked = False
        root = repo_root(self._folder)
        if root is not None:
            with tempfile.TemporaryDirectory(prefix="tau-git-") as folder:
                async with aclosing(self._list_repository(root, Path(folder))) as listed:
                    async for piece in listed:
                        has_tracked = True
                        yield piece
        if has_tracked:
            return
        program = ripgrep.locate()
        source = self._walk() if program is None else self._records(program, *_RG)
        async with aclosing(source) as files:
            async for piece in files:
                yield piece

    async def _list_repository(self, root: Path, folder: Path) -> AsyncGenerator[list[str], None]:
        """Tracked files, those of submodules, then new files. `folder` is for git's private directories."""
        try:
            view = git.open_git_view(root, folder / "0")
        except OSError:
            return
        async with aclosing(self._list_tracked(view, folder)) as tracked:
            has_tracked = False
            async for piece in tracked:
                has_tracked = True
                yield piece
        if has_tracked:
            async with aclosing(self._list_untracked(view)) as untracked:
                async for piece in untracked:
                    yield piece

    async def _list_tracked(
        self, view: "git.GitView", folder: Path, nesting: int = 0
    ) -> AsyncGenerator[list[str], None]:
        here = Path(os.path.realpath(self._folder))
        start = view.root if nesting else here
        prefix = f"{start.relative_to(here)}/" if nesting else ""
        modules = git_dir.submodules(view.root)
        names = {os.path.relpath(module, start) for module in modules}
        rows = self._records(*view.command(*_LIST, "--cached"), cwd=start, env=view.env(user_config=True))
        async with aclosing(rows) as records:
            async for piece in records:
                yield [f"{prefix}{name}" for name in piece if name not in names]
        for number, module in enumerate(modules):
            if nesting < MAX_NESTING and module.is_relative_to(here):
                inner = git.open_git_view(module, folder / f"{view.folder.name}-{number}")
                async with aclosing(self._list_tracked(inner, folder, nesting + 1)) as listed:
                    async for piece in listed:
                        yield piece

    async def _list_untracked(self, view: "git.GitView") -> AsyncGenerator[list[str], None]:
        """New files; tracked files missing from the folder go to `gone`."""
        own = view.real.common / "info" / "exclude"
        exclude = (f"--exclude-from={own}",) if own.is_file() else ()
        words = view.command(*_LIST, "-t", "--others", "--deleted", *exclude, "--exclude-standard")
        async with aclosing(self._records(*words, env=view.env(user_config=True))) as records:
            async for piece in records:
                self.gone.update(row[2:] for row in piece if row.startswith("R "))
                yield [row[2:] for row in piece if row.startswith("? ")]

    async def _records(
        self, *argv: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> AsyncGenerator[list[str], None]:
        """The output of a program, split at NUL."""
        try:
            process = await self._run.start((*_WITHOUT_STDERR, *argv), cwd=cwd or self._folder, env=env)
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
                async with asyncio.timeout(CHECK_S):
                    chunk = await anext(output, b"")
            except TimeoutError:
                self._check_needed()
                continue
            if not chunk:
                return
            self._check_needed()
            yield chunk

    async def _walk(self) -> AsyncGenerator[list[str], None]:
        """Walk on a separate thread, which hands over what it finds."""
        loop = asyncio.get_running_loop()
        batches: asyncio.Queue[list[str] | None] = asyncio.Queue()
        over = False

        def put(piece: list[str] | None) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(batches.put_nowait, piece)

        def walk() -> None:
            try:
                for piece in _pieces(str(self._folder)):
                    if over or not self._is_needed():
                        return
                    put(piece)
            finally:
                put(None)

        walking = loop.run_in_executor(None, walk)
        try:
            while (piece := await batches.get()) is not None:
                yield piece
            await walking
        finally:
            over = True

    def _check_needed(self) -> None:
        if not self._is_needed():
            raise ListingCancelled("The file list is no longer needed.")


def _pieces(root: str) -> Iterator[list[str]]:
    start = len(root.rstrip("/")) + 1
    files: list[str] = []
    for piece in trees.tree(root):
        files += [entry.path[start:] for entry in piece.entries if not entry.is_dir(follow_symlinks=False)]
        if len(files) >= BATCH_FILES:
            yield files
            files = []
    yield files


class WorkspaceFiles:
    """`on_change` is called when more files are known."""

    def __init__(
        self, current: CurrentSession, timer: Timer, tasks: Tasks, on_change: Callable[[], None]
    ) -> None:
        self._current = current
        self._timer = timer
        self._tasks = tasks
        self._on_change = on_change
        self._folder = Path()
        self._ready: FileIndex | None = None
        self._building: FileIndex | None = None
        self._built_at = 0.0
        self._closed = False

    @property
    def is_whole(self) -> bool:
        """Whether the last scan is complete."""
        return self._ready is not None

    def close(self) -> None:
        """Stop indexing."""
        self._closed = True

    def index(self, *, fresh: bool = False) -> FileIndex | None:
        """The index so far; None if there is none yet. `fresh`: rebuild it if stale."""
        if self._current.cwd != self._folder:
            self._folder, self._ready, self._building = self._current.cwd, None, None
        now = self._timer.time()
        is_due = self._ready is None or (fresh and now - self._built_at > STALE_S)
        if is_due and self._building is None and not self._closed:
            self._building = FileIndex()
            self._tasks.start(self._build(self._building, self._folder))
        index = self._ready or self._building
        return index if index is not None and index.settled else None

    async def _build(self, index: FileIndex, folder: Path) -> None:
        def is_needed() -> bool:
            return self._building is index and not self._closed and self._current.cwd == folder

        timer = self._timer
        end = timer.time() + MAX_S
        listing = FileListing(folder, is_needed)
        try:
            async with aclosing(listing.pieces()) as pieces:
                async for piece in pieces:
                    index.add(piece)
                    index.cut = _limit(index.count, timer.time() > end)
                    if index.cut:
                        break
                    # Show partial results whenever they have doubled.
                    if self._ready is None and index.count >= 2 * index.settled:
                        await self._settle(index)
                    await asyncio.sleep(0)
            index.gone = listing.gone
            await self._settle(index)
            if is_needed():
                self._ready, self._built_at = index, timer.time()
                self._on_change()
        except ListingCancelled:
            return
        finally:
            if self._building is index:
                self._building = None

    async def _settle(self, index: FileIndex) -> None:
        for _ in index.settle():
            await asyncio.sleep(0)
        if self._ready is None and self._building is index:
            self._on_change()


def _limit(count: int, late: bool) -> str:
    if count >= MAX_FILES:
        return f"Only the first {MAX_FILES:,} files are indexed; type a folder for more."
    return f"Indexing stopped after {MAX_S:.0f} s at {count:,} files; type a folder for more." if late else ""
