"""Stores the tags under which files were shown in the log, so that a resumed session knows them."""

from collections.abc import Iterator, Sequence

import msgspec

from tau.base import log as logfile
from tau.base.errors import SessionError
from tau.coding.session.entries import CustomEntry
from tau.coding.session.storage.log import SessionLog
from tau.hashline.snapshots import IssuedTag

ENTRY_TYPE = "shown_tags"


def record(log: SessionLog, tags: Sequence[IssuedTag]) -> None:
    """Append the tags of a turn: path, tag, checksum, length and checksum without trailing blanks."""
    rows = [[tag.path, tag.tag, tag.checksum, tag.chars, tag.trimmed] for tag in tags]
    try:
        log.append(CustomEntry(custom_type=ENTRY_TYPE, data=rows))
    except SessionError as error:
        logfile.error("The tags of the shown files could not be recorded.", error)


def load(log: SessionLog) -> Iterator[IssuedTag]:
    """All tags that the log has, on every branch: a file has one past."""
    for node in log.nodes():
        entry = log.decode(node) if node.type == "custom" else None
        if isinstance(entry, CustomEntry) and entry.custom_type == ENTRY_TYPE:
            try:
                rows = msgspec.convert(entry.data, list[tuple[str, str, int, int, int]])
            except msgspec.ValidationError:
                continue
            yield from (IssuedTag(*row) for row in rows)
