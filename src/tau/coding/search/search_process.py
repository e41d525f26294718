"""Runs ripgrep, or its fallback, and reads the output as it arrives."""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, to_builtins

from tau.base import run
from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.run import Runner
from tau.coding.search import rg_command
from tau.coding.search.query import Query, SearchRequest, SearchScope

json = late("json")

MAX_NAMES_BYTES = 32 * 1024 * 1024
MAX_MATCHES = 2_000  # per file
COMPLAINT = 2  # exit code: bad pattern or read error
GRACE_S = 0.2
# Ripgrep may write each name separately: a short wait costs less than many tiny reads.
SMALL_BYTES = 16 * 1024
PAUSE_S = 0.004


class MatchingFiles(Struct, frozen=True, kw_only=True):
    """Matching files, unordered. `capped`: there were more than the limit."""

    files: list[str]
    timed_out: bool = False
    unreadable: bool = False
    capped: bool = False


class MatchingLines(Struct, frozen=True, kw_only=True):
    """Line numbers by file, at most as many as requested per file.

    `columns` are the bytes before the first match of a line, as UTF-8, by file and line.
    """

    lines: Mapping[str, list[int]]
    columns: Mapping[str, Mapping[int, int]] = {}
    timed_out: bool = False


async def matching_files(
    query: Query, scope: SearchScope, runner: Runner, *, seconds: float
) -> MatchingFiles:
    """Find the matching files. Raises ToolError for an invalid pattern."""
    pieces: list[bytes] = []
    size = 0
    process = await _start(SearchRequest(query=query, scope=scope), runner, seconds)
    async with process:
        async for chunk in process.output():
            pieces.append(chunk)
            size += len(chunk)
            if size > MAX_NAMES_BYTES:
                break
            if len(chunk) < SMALL_BYTES:
                await asyncio.sleep(PAUSE_S)
        exited = None if size > MAX_NAMES_BYTES else await process.wait()
    names = os.fsdecode(b"".join(pieces)).split("\0")
    rest = names.pop()
    if exited is None:
        return MatchingFiles(files=names, capped=True)
    failed = exited.code == COMPLAINT
    if failed and rest.strip():
        raise ToolError(rg_command.complaint(rest))
    return MatchingFiles(files=names, timed_out=exited.timed_out, unreadable=failed)


async def matching_lines(
    query: Query,
    files: Sequence[str],
    runner: Runner,
    *,
    max_count: int,
    seconds: float,
    counts: Callable[[str, int], bool] | None = None,
) -> MatchingLines:
    """Find the matching lines, at most `max_count` per file (0: all that `counts` accepts)."""
    rows = _Rows(counts or (lambda path, number: True))
    request = SearchRequest(
        query=query, scope=SearchScope(roots=tuple(files), gitignore=False), max_count=max_count
    )
    process = await _start(request, runner, seconds)
    async with process:
        async for chunk in process.output():
            rows.feed(chunk)
        exited = await process.wait()
    if exited.code == COMPLAINT and rows.rest.strip():
        raise ToolError(rg_command.complaint(os.fsdecode(rows.rest)))
    return MatchingLines(lines=rows.lines, columns=rows.columns, timed_out=exited.timed_out)


async def _start(request: SearchRequest, runner: Runner, seconds: float) -> run.Process:
    limits = run.Limits(timeout=seconds, grace=GRACE_S)
    root = Path("/")
    program = rg_command.locate()
    if program is not None:
        try:
            return await runner.start(
                rg_command.command(program, request), cwd=root, limits=limits, sandbox=run.OUTSIDE
            )
        except FileNotFoundError:
            rg_command.locate.cache_clear()  # it was removed in the meantime
    argv = [sys.executable, "-P", "-W", "ignore", "-m", "tau.coding.search.fallback_search"]
    # Use msgspec's JSON, because file names may contain non-text bytes.
    stdin = json.dumps(to_builtins(request)).encode()
    return await runner.start(argv, cwd=root, limits=limits, stdin=stdin, sandbox=run.OUTSIDE)


class _Rows:
    """Parses `path NUL line:column:anything` rows from chunks."""

    def __init__(self, counts: Callable[[str, int], bool]) -> None:
        self.lines: dict[str, list[int]] = {}
        self.columns: dict[str, dict[int, int]] = {}
        self.rest = b""
        self._counts = counts

    def feed(self, chunk: bytes) -> None:
        data = self.rest + chunk
        at = 0
        while (middle := data.find(b"\0", at)) >= 0 and (end := data.find(b"\n", middle)) >= 0:
            path = os.fsdecode(data[at:middle])
            number, column = map(int, data[middle + 1 : end].split(b":", 2)[:2])
            at = end + 1
            if not self._counts(path, number):
                continue
            numbers = self.lines.setdefault(path, [])
            if len(numbers) < MAX_MATCHES and (not numbers or numbers[-1] != number):
                numbers.append(number)
                self.columns.setdefault(path, {})[number] = column - 1
        self.rest = data[at:]
