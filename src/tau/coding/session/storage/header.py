"""The header of a session file: its first line, or the second after omp's title; a damaged one is rebuilt."""

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from tau.base.clock import iso
from tau.coding.session import entries as s
from tau.coding.session.storage import migration

TITLE = "title"  # the type of omp's first line, which changes in place
_FIELDS = ("id", "timestamp", "cwd", "title", "parentSession")


class _Title(Struct, frozen=True):
    title: str = ""


_title_decoder = msgspec.json.Decoder(_Title)


def with_title(header: s.SessionHeader, line: bytes) -> s.SessionHeader:
    """The header with the title in omp's line before it."""
    try:
        title = _title_decoder.decode(line).title
    except ValueError:
        return header
    return replace(header, title=title) if title else header


def read_header(path: Path) -> s.SessionHeader | None:
    """The header of a session file, even if it is damaged; None if there is none."""
    try:
        with path.open("rb") as file:
            first = file.readline()
            line = file.readline() if _type_of(first) == TITLE else first
    except OSError:
        return None
    try:
        header = s.decode_header(line)
    except ValueError:
        found = _readable_fields(line)
        return None if "cwd" not in found else _header(path, found, ())
    return header if line is first else with_title(header, first)


def rebuild(path: Path, lines: Sequence[bytes]) -> list[bytes] | None:
    """The records of a file with a damaged header, a new header first; None if there are no entries.

    `lines` are objects. What is still readable in its first lines is kept; the file name has the id.
    """
    records: list[dict[str, object]] = [msgspec.json.decode(line) for line in lines]
    entries = [record for record in records if record.get("type") not in ("session", TITLE)]
    if not any(
        entry.get("type") == "message" and isinstance(entry.get("message"), dict) for entry in entries
    ):
        return None
    with path.open("rb") as file:
        start = file.readline()
        if _type_of(start) == TITLE:
            start = file.readline()
    header = _header(path, _readable_fields(start), entries)
    version = 2 if "id" in entries[0] else 1  # entries of version 1 have no id
    return migration.migrate_lines([s.encode(header), *map(msgspec.json.encode, entries)], version)


def _header(path: Path, found: dict[str, str], entries: Sequence[dict[str, object]]) -> s.SessionHeader:
    written = (entry.get("timestamp") for entry in entries)
    first = next((time for time in written if isinstance(time, str)), "")
    return s.SessionHeader(
        id=found.get("id") or path.stem.rpartition("_")[2],
        timestamp=found.get("timestamp") or first or iso(path.stat().st_mtime_ns // 1_000_000),
        cwd=found.get("cwd", ""),
        title=found.get("title") or UNSET,
        parent_session=found.get("parentSession") or UNSET,
    )


def _readable_fields(line: bytes) -> dict[str, str]:
    """The texts that can still be read in a damaged header."""
    found: dict[str, str] = {}
    if not re.search(rb'"(version|cwd)"\s*:', line):  # an entry: the header is gone
        return found
    for name in _FIELDS:
        match = re.search(rb'"%s"\s*:\s*("(?:[^"\\]|\\.)*")' % name.encode(), line)
        if match is not None:
            try:
                found[name] = msgspec.json.decode(match[1], type=str)
            except ValueError:
                continue
    return found


def _type_of(line: bytes) -> str:
    try:
        record = msgspec.json.decode(line)
    except ValueError:
        return ""
    return str(record.get("type", "")) if isinstance(record, dict) else ""
