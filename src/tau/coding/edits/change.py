"""A planned change to one file: its bytes before and after, and the diff to show."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tau.agent.ports import Stat
from tau.base.text import DecodedText
from tau.coding.edits.source import FileSource, bytes_of
from tau.coding.edits.splice_diff import diff_of
from tau.coding.edits.splices import Splice, spliced

_Kind = Literal["create", "update", "delete", "move"]
_NO_TEXT = DecodedText(text="")


class FileChange(Struct, frozen=True, kw_only=True):
    """`old` is None for a new file, `new` is None for a deleted one.

    A move has `new_path` and may also change the content. `first_changed_line` refers to the new text.
    """

    path: Path
    name: str
    kind: _Kind
    old: bytes | None = None
    new: bytes | None = None
    stat: Stat | None = None
    new_path: Path | None = None
    new_name: str = ""
    first_changed_line: int | None = None
    diff: str = ""
    added: int = 0
    removed: int = 0
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Omit the content to keep whole files out of logs and tracebacks."""
        return f"FileChange({self.kind} {self.name}, +{self.added} -{self.removed})"

    @property
    def target(self) -> Path:
        """The path of the new content."""
        return self.new_path or self.path


def update(
    source: FileSource, decoded: DecodedText, splices: Sequence[Splice], notes: tuple[str, ...] = ()
) -> FileChange:
    """Apply splices to a file's text; every byte outside them is preserved."""
    diff = diff_of(decoded.text, splices, f"a/{source.name}", f"b/{source.name}")
    return FileChange(
        path=source.path,
        name=source.name,
        kind="update",
        old=source.data,
        new=bytes_of(spliced(decoded.text, splices), decoded, source.name),
        stat=source.stat,
        first_changed_line=diff.first_changed_line,
        diff=diff.text,
        added=diff.added,
        removed=diff.removed,
        notes=notes,
    )


def creation(
    source: FileSource, text: str, notes: tuple[str, ...] = (), *, like: DecodedText = _NO_TEXT
) -> FileChange:
    """Create a file, in UTF-8 or in the encoding of another file."""
    diff = diff_of("", [Splice(0, 0, text)] if text else [], "/dev/null", f"b/{source.name}")
    return FileChange(
        path=source.path,
        name=source.name,
        kind="create",
        new=bytes_of(text, like, source.name),
        first_changed_line=diff.first_changed_line,
        diff=diff.text,
        added=diff.added,
        notes=notes,
    )


def deletion(source: FileSource, text: str, notes: tuple[str, ...] = ()) -> FileChange:
    """Delete a file. `text` is what the diff shows; empty for a binary file."""
    diff = diff_of(text, [Splice(0, len(text), "")] if text else [], f"a/{source.name}", "/dev/null")
    return FileChange(
        path=source.path,
        name=source.name,
        kind="delete",
        old=source.data,
        stat=source.stat,
        diff=diff.text,
        removed=diff.removed,
        notes=notes,
    )


def moved(change: FileChange, to: FileSource) -> FileChange:
    """Turn a change into a move to a path that does not exist yet."""
    return replace(
        change,
        kind="move",
        new_path=to.path,
        new_name=to.name,
        diff=change.diff.replace(f"\n+++ b/{change.name}\n", f"\n+++ b/{to.name}\n", 1),
    )


def summary(change: FileChange) -> str:
    """Summarize the change in one sentence, followed by its notes."""
    counts = f"+{change.added} -{change.removed} lines"
    first = f", first at line {change.first_changed_line}" if change.first_changed_line is not None else ""
    match change.kind:
        case "create":
            sentence = f"Created {change.name} ({counts})."
        case "delete":
            sentence = f"Deleted {change.name} ({counts})."
        case "move":
            what = f" ({counts}{first})" if change.old != change.new else ""
            sentence = f"Moved {change.name} to {change.new_name}{what}."
        case "update":
            sentence = f"Edited {change.name} ({counts}{first})."
    return "\n".join([sentence, *change.notes])
