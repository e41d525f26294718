"""Finds and decodes source files for structural search and edits, and detects their language."""

import asyncio
import os
import stat as modes
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from tau.agent.ports import Stat
from tau.backends.syntax.languages import LANGUAGES, MAX_PARSED_CHARS, detect_language
from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.sizes import format_bytes
from tau.base.text import DecodedText, NotText, decode, is_binary
from tau.coding.files.paths import failure, real, shown
from tau.coding.ports import CodingContext

walking = late("tau.coding.search.walk")
path_arguments = late("tau.coding.files.path_arguments")

MAX_FILES = 20_000
SECONDS = 30.0
PAUSE_S = 0.02
MAX_ENTRIES = 2_000
MIN_ENTRIES = 200  # looked at even if the machine is busy: a small folder has the same tools every time
SCAN_S = 0.02
RESCAN_S = 2.0
NOT_CODE = (None, "json", "markdown", "yaml")
QUICK_CHARS = 32 * 1024
T = TypeVar("T")


class CodeFile(Struct, frozen=True, kw_only=True):
    path: Path
    name: str
    data: bytes
    decoded: DecodedText
    stat: Stat
    language: str


async def compute(file: CodeFile, work: Callable[[CodeFile], T]) -> T:
    """The result of `work` on the text of a file; a long one does not hold the event loop."""
    quick = len(file.decoded.text) <= QUICK_CHARS
    return work(file) if quick else await asyncio.to_thread(work, file)


class SourceScope(Struct, frozen=True, kw_only=True):
    """`single`: exactly one file was named; `capped`: there were too many files."""

    text: str
    paths: list[Path]
    missing: list[str]
    single: bool
    capped: bool


class CodeDetector:
    """Whether there is code below the folders. Once found it stays found: servers cache a request's tools."""

    def __init__(
        self, roots: Sequence[Path], *, max_entries: int = MAX_ENTRIES, rescan_s: float = RESCAN_S
    ) -> None:
        self._roots = roots
        self._max_entries = max_entries
        self._rescan_s = rescan_s
        self._found = False
        self._next_scan = 0.0

    @property
    def found(self) -> bool:
        if not self._found and time.monotonic() >= self._next_scan:
            self._found = self._scan()
            self._next_scan = time.monotonic() + self._rescan_s
        return self._found

    def _scan(self) -> bool:
        """Look at file names; folders too large to search count as code."""
        until, seen = time.monotonic() + SCAN_S, 0
        waiting = [os.fspath(root) for root in self._roots]
        for folder in waiting:
            with suppress(OSError), os.scandir(folder) as entries:
                for entry in entries:
                    seen += 1
                    if seen > self._max_entries or (seen > MIN_ENTRIES and time.monotonic() > until):
                        return True
                    if entry.name.startswith("."):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif detect_language(entry.name, "") not in NOT_CODE:
                        return True
        return False


class FileReadReport:
    """Reads the files of a scope and records the skipped ones."""

    def __init__(self) -> None:
        self.searched = 0
        self.languages: set[str] = set()
        self.timed_out = False

    async def files(
        self, scope: SourceScope, words: Sequence[Sequence[str]], ctx: CodingContext
    ) -> AsyncIterator[CodeFile]:
        """Code files of the scope that contain all words of at least one list.

        Unreadable files in a folder are skipped; for a single named file they raise.
        """
        until = time.monotonic() + SECONDS
        rested = time.monotonic()
        for path in scope.paths:
            try:
                file = await _load(path, ctx, named=scope.single)
            except (OSError, ToolError) as error:
                if scope.single and isinstance(error, OSError):
                    raise failure("read", shown(path, ctx.cwd), error) from error
                if scope.single:
                    raise
                file = None
            if file is not None:
                self.searched += 1
                self.languages.add(file.language)
                if any(all(word in file.decoded.text for word in each) for each in words):
                    yield file
            now = time.monotonic()
            if now > until:
                self.timed_out = True
                return
            if now - rested > PAUSE_S:
                await asyncio.sleep(0)
                rested = time.monotonic()


async def scope_of(given: str | Sequence[str], ctx: CodingContext) -> SourceScope:
    """The files of paths, folders and globs, without ignored ones, sorted, unique. Raises ToolError."""
    entries = path_arguments.entries(given, ctx.cwd)
    for entry in entries:
        if entry.url or entry.member:
            raise ToolError(f"{entry.text} is not a file; name files, directories or globs.")
    path_arguments.check_approved(entries, ctx.approved)
    entries, missing = path_arguments.partition(entries)
    found: dict[Path, Path] = {}
    for entry in entries:
        if entry.base.is_dir():
            globs = (entry.glob,) if entry.glob else ()
            paths = await walking.walk([entry.base], globs=globs, limit=MAX_FILES + 1)
        else:
            paths = [entry.base]
        for path in paths:
            found.setdefault(real(path), path)
    ordered = sorted(found.values())
    return SourceScope(
        text=path_arguments.scope_text(entries, ctx.cwd),
        paths=ordered[:MAX_FILES],
        missing=missing,
        single=len(entries) == 1 and not entries[0].base.is_dir(),
        capped=len(ordered) > MAX_FILES,
    )


async def _load(path: Path, ctx: CodingContext, *, named: bool) -> CodeFile | None:
    """None if its name is not that of code, unless it was `named`. Raises OSError and ToolError."""
    name = shown(path, ctx.cwd)
    if not named and path.suffix and detect_language(path.name, "") is None:
        return None
    stat = await ctx.fs.stat(path)
    if stat is None or stat.is_dir or not modes.S_ISREG(stat.mode or modes.S_IFREG):
        raise ToolError(f"{name} is not a file.")
    if stat.size > MAX_PARSED_CHARS:
        limit = format_bytes(MAX_PARSED_CHARS)
        raise ToolError(f"{name} has {format_bytes(stat.size)}; at most {limit} are parsed, use search.")
    data = await ctx.fs.read(path)
    if is_binary(data):
        raise ToolError(f"{name} is a binary file.")
    try:
        decoded = decode(data)
    except NotText as error:
        raise ToolError(f"{name} is not text that can be changed safely. {error}.") from None
    language = detect_language(path.name, decoded.text)
    if language is None:
        known = ", ".join(LANGUAGES)
        raise ToolError(f"The language of {name} is unknown; use search and edit. Known: {known}.")
    return CodeFile(path=path, name=name, data=data, decoded=decoded, stat=stat, language=language)
