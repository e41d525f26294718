"""Migrates session files of versions 1 and 2 to version 3 and keeps the old file as a backup."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from tau.base.files import write_atomic
from tau.coding.session.entries import VERSION

Line = dict[str, Any]


def migrate_lines(lines: Sequence[bytes], version: int) -> list[bytes]:
    """The records of an older file converted to version 3, header first."""
    records: list[Line] = [msgspec.json.decode(line) for line in lines]
    header, *entries = records
    if version < 2:
        entries = _as_tree(entries)
    for entry in entries:
        message = entry.get("message")
        if isinstance(message, dict) and message.get("role") == "hookMessage":
            message["role"] = "custom"
    first = {"type": "session", "version": VERSION, **header, "cwd": header.get("cwd", "")}
    return [msgspec.json.encode(record) for record in ({**first, "version": VERSION}, *entries)]


def rewrite(path: Path, lines: Sequence[bytes], version: int) -> Path:
    """Replace the file's content; returns the path of the backup."""
    old = path.read_bytes()
    backup = _backup_path(path, old, version)
    write_atomic(backup, old, mode=0o600)
    write_atomic(path, b"".join(line + b"\n" for line in lines))
    return backup


def _as_tree(entries: Sequence[Line]) -> list[Line]:
    """Version 1 is a list: each entry follows the one before it, and compactions count from the header."""
    named: list[Line] = []
    parent: str | None = None
    for number, entry in enumerate(entries, 1):
        # Use the number as the id, so that reading the same file again gives the same ids.
        place = {"type": entry.get("type"), "id": f"{number:08x}", "parentId": parent}
        named.append({**place, **entry, **place})
        parent = place["id"]
    for entry in named:
        if entry["type"] != "compaction" or "firstKeptEntryIndex" not in entry:
            continue
        index = entry.pop("firstKeptEntryIndex")
        known = isinstance(index, int) and 1 <= index <= len(named)
        entry["firstKeptEntryId"] = named[index - 1]["id"] if known else entry["id"]
    return named


def _backup_path(path: Path, old: bytes, version: int) -> Path:
    """An unused name that is not a session's."""
    backup = path.with_name(f"{path.name}.v{version}.bak")
    number = 1
    while backup.exists() and backup.read_bytes() != old:
        number += 1
        backup = path.with_name(f"{path.name}.v{version}.{number}.bak")
    return backup
