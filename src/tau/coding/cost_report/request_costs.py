"""Reads the cost of every request from the session files, one row each."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from tau.ai.wire import Usage
from tau.base.clock import now_ms
from tau.base.jsonl import Scan
from tau.base.sizes import KIB
from tau.coding.session.stats import CostLedger, ModelUsage, Tally, UsageRecord

HEADER_BYTES = 64 * KIB  # a longer first line is not a header
MS = 1_000_000  # nanoseconds
DAY_MS = 86_400_000
OLDEST_MS = 1_577_836_800_000  # 2020: older timestamps are not credible


class UsageRow(Struct, frozen=True, gc=False):
    """`session` is the session id, `folder` its working folder."""

    time_ms: int
    session: str
    folder: str
    provider: str
    model: str
    kind: str
    usage: Usage
    failed: bool = False


class _Header(Struct, frozen=True, rename="camel", tag_field="type", tag="session"):
    id: str = ""
    cwd: str = ""
    parent_session: str = ""


class _File(Struct, frozen=True):
    path: Path
    header: _Header
    written_ms: int


_header_decoder = msgspec.json.Decoder(_Header)
_line_decoder = msgspec.json.Decoder(UsageRecord)


def iter_usage(
    root: Path, since_ms: int = 0, unreadable: Callable[[Path], None] | None = None
) -> Iterator[UsageRow]:
    """The rows of all sessions below `root`, subagents included, since `since_ms`.

    A fork starts with a copy of another session: shared requests count once. One family of forks is in memory
    at a time. `unreadable` is called for files that cannot be read.
    """
    for family in _families(_files(root, unreadable)):
        if max(file.written_ms for file in family) < since_ms:
            continue
        seen: set[tuple[str, str]] | None = set() if len(family) > 1 else None
        for file in family:
            try:
                yield from _rows(file, seen, since_ms)
            except OSError:
                if unreadable is not None:
                    unreadable(file.path)


def child_usage(session: Path) -> list[ModelUsage]:
    """The usage of a session's subagents, whose sessions are in its folder."""
    tallies: dict[tuple[str, str], Tally] = {}
    for file in _files(session.with_suffix(""), None):
        with suppress(OSError):
            for row in _rows(file, None, 0):
                tallies.setdefault((row.provider, row.model), Tally()).add(row.usage)
    return [ModelUsage(*name, tally.requests, tally.usage) for name, tally in tallies.items()]


def _files(root: Path, unreadable: Callable[[Path], None] | None) -> Iterator[_File]:
    """Every session file below `root`, recognized by its header, sorted by name."""
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            if not name.endswith(".jsonl"):
                continue
            path = Path(folder, name)
            try:
                with path.open("rb") as file:
                    header = _header_decoder.decode(file.readline(HEADER_BYTES))
                    written_ms = os.fstat(file.fileno()).st_mtime_ns // MS
            except OSError:
                if unreadable is not None:
                    unreadable(path)
            except ValueError:  # not a session
                continue
            else:
                yield _File(path, header, written_ms)


def _families(files: Iterator[_File]) -> Iterator[Sequence[_File]]:
    """Sessions that share entries: forks, their originals, and the sessions in their folders."""
    all_files = list(files)
    parents = {str(file.path): file.header.parent_session for file in all_files}
    folders = {str(file.path.with_suffix("")): str(file.path) for file in all_files}
    families: dict[str, list[_File]] = {}
    for file in all_files:
        families.setdefault(_origin(file.path, parents, folders), []).append(file)
    yield from families.values()


def _origin(path: Path, parents: dict[str, str], folders: dict[str, str]) -> str:
    """The oldest known ancestor, whether it still exists or not."""
    name = str(path)
    seen = {name}
    while True:
        holder = next((folders[str(up)] for up in Path(name).parents if str(up) in folders), "")
        above = holder or parents.get(name, "")
        if not above or above in seen:
            return name
        seen.add(above)
        name = above


def _rows(file: _File, seen: set[tuple[str, str]] | None, since_ms: int) -> Iterator[UsageRow]:
    ledger = CostLedger()
    header = file.header
    latest_ms = now_ms() + DAY_MS
    fd = os.open(file.path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        for line, _, _ in Scan(fd, _line_decoder, texts=False):
            cost = ledger.add(line)
            if cost is None:
                continue
            if seen is not None and line.id:
                key = (line.id, line.timestamp)
                if key in seen:
                    continue
                seen.add(key)
            time_ms = cost.time_ms if OLDEST_MS <= cost.time_ms <= latest_ms else file.written_ms
            if time_ms >= since_ms:
                who = (max(time_ms, OLDEST_MS), header.id, header.cwd, cost.provider, cost.model)
                yield UsageRow(*who, cost.kind, cost.usage, cost.failed)
    finally:
        os.close(fd)
