"""Asks ripgrep, or its stand-in where there is none, and reads the answer as it comes."""

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
from tau.coding.search import rg
from tau.coding.search.query import Query, SearchRequest, SearchScope

json = late("json")

MAX_NAMES_BYTES = 32 * 1024 * 1024
MAX_MATCHES = 2_000  # of one file; more are never remembered
COMPLAINT = 2  # exit code: the pattern is wrong, or something could not be read
GRACE_S = 0.2
# Ripgrep may write every name on its own: reading each at once costs us, and it, more than a short wait.
SMALL_BYTES = 16 * 1024
PAUSE_S = 0.004


class MatchingFiles(Struct, frozen=True, kw_only=True):
    """Matching files in no order. `capped`: there were more than we are ready to remember."""

    files: list[str]
    timed_out: bool = False
    unreadable: bool = False
    capped: bool = False


class MatchingLines(Struct, frozen=True, kw_only=True):
    """Line numbers by file; of a file never more than were asked for."""

    lines: Mapping[str, list[int]]
    timed_out: bool = False


async def matching_files(
    query: Query, scope: SearchScope, runner: Runner, *, seconds: float
) -> MatchingFiles:
    """The files that match. Raises ToolError for a pattern that cannot be used."""
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
        raise ToolError(rg.complaint(rest))
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
    """In which lines these files match, `max_count` lines each at most (0 for all that `counts` accepts)."""
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
        raise ToolError(rg.complaint(os.fsdecode(rows.rest)))
    return MatchingLines(lines=rows.lines, timed_out=exited.timed_out)


async def _start(request: SearchRequest, runner: Runner, seconds: float) -> run.Process:
    limits = run.Limits(timeout=seconds, grace=GRACE_S)
    root = Path("/")
    program = rg.locate()
    if program is not None:
        try:
            return await runner.start(rg.command(program, request), cwd=root, limits=limits)
        except FileNotFoundError:
            rg.locate.cache_clear()  # it was removed meanwhile
    argv = [sys.executable, "-P", "-W", "ignore", "-m", "tau.coding.search.fallback_search"]
    # The library's own JSON, because file names may hold bytes that are no text.
    stdin = json.dumps(to_builtins(request)).encode()
    return await runner.start(argv, cwd=root, limits=limits, stdin=stdin)


class _Rows:
    """Takes `path NUL line:anything` rows in pieces."""

    def __init__(self, counts: Callable[[str, int], bool]) -> None:
        self.lines: dict[str, list[int]] = {}
        self.rest = b""
        self._counts = counts

    def feed(self, chunk: bytes) -> None:
        data = self.rest + chunk
        at = 0
        while (middle := data.find(b"\0", at)) >= 0 and (end := data.find(b"\n", middle)) >= 0:
            path = os.fsdecode(data[at:middle])
            number = int(data[middle + 1 : data.index(b":", middle)])
            at = end + 1
            if not self._counts(path, number):
                continue
            numbers = self.lines.setdefault(path, [])
            if len(numbers) < MAX_MATCHES and (not numbers or numbers[-1] != number):
                numbers.append(number)
        self.rest = data[at:]
