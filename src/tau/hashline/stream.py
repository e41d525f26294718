"""Previews a patch that is still being written, skipping what does not fit."""

from msgspec import Struct

from tau.hashline.errors import HashlineError
from tau.hashline.lines import NumberedLines
from tau.hashline.parser import parse_unfinished
from tau.hashline.patch import Normalize, Reader, by_key, place
from tau.hashline.preview import preview, unified
from tau.hashline.records import BlockResolver
from tau.hashline.snapshots import SnapshotStore


class StreamedFile(Struct, frozen=True):
    """The preview of one file so far; empty while nothing would change."""

    path: str
    preview: str
    first_changed_line: int | None
    added: int
    removed: int


def preview_unfinished(
    text: str,
    read: Reader,
    store: SnapshotStore,
    resolver: BlockResolver | None = None,
    normalize: Normalize = str,
) -> tuple[StreamedFile, ...]:
    """Never fails, whatever `text` contains."""
    result = []
    for key, sections in by_key(parse_unfinished(text), normalize).items():
        current = read(key)
        if current is None:
            continue
        lines = NumberedLines(current)
        try:
            placed = place(key, sections, lines, store, resolver, skip_failing=True)
        except HashlineError:
            continue
        diff = unified(lines, placed.changes, sections[0].path)
        shown = preview(lines, placed.changes)
        result.append(
            StreamedFile(sections[0].path, shown, diff.first_changed_line, diff.added, diff.removed)
        )
    return tuple(result)
