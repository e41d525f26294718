"""A file before an edit, and a planned change to it: its bytes before and after, and the diff to show."""

import stat as modes
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from tau.agent.ports import Stat, ToolContext
from tau.base.errors import ToolError
from tau.base.sizes import MIB, format_bytes
from tau.base.text import DecodedText, NotText, decode, decode_escaped, encode, is_binary
from tau.coding.edits.diff import Diff
from tau.coding.edits.splices import Splice, diff_of, spliced
from tau.coding.files.paths import failure, shown

if TYPE_CHECKING:
    from tau.hashline.preview import PatchDiff

_Kind = Literal["create", "update", "delete", "move"]
_NO_TEXT = DecodedText(text="")
_NO_DIFF = Diff("", None, 0, 0)
MAX_FILE_BYTES = 64 * MIB


class FileSource(Struct, frozen=True, kw_only=True):
    """`stat` and `data` are None if there is no file; `name` is the display path."""

    path: Path
    name: str
    stat: Stat | None = None
    data: bytes | None = None

    def __repr__(self) -> str:
        """Omit the content to keep whole files out of logs and tracebacks."""
        return f"Source({self.name}, {'nothing' if self.data is None else len(self.data)})"


async def load(path: Path, ctx: ToolContext, name: str = "") -> FileSource:
    """Read one file. Raises ToolError for a folder, a device or an oversized file."""
    name = name or shown(path, ctx.cwd)
    try:
        stat = await ctx.fs.stat(path)
        if stat is None:
            return FileSource(path=path, name=name)
        if stat.is_dir or not modes.S_ISREG(stat.mode or modes.S_IFREG):
            raise ToolError(f"{name} is not a file that can be edited.")
        if stat.size > MAX_FILE_BYTES:
            raise ToolError(
                f"{name} is too large to edit ({format_bytes(stat.size)}); use bash, for example sed."
            )
        data = await ctx.fs.read(path)
    except OSError as error:
        raise failure("edit", name, error) from error
    return FileSource(path=path, name=name, stat=stat, data=data)


def text_of(source: FileSource) -> DecodedText:
    """Decode the file's text. Raises ToolError if it is missing or does not round-trip as text."""
    if source.data is None:
        raise ToolError(f"There is no file {source.name} to edit; use write to create it.")
    if is_binary(source.data):
        raise ToolError(f"{source.name} is binary and was not changed; use a suitable program in bash.")
    try:
        decoded = decode(source.data)
    except NotText as error:
        try:
            decoded = decode_escaped(source.data)
        except NotText:
            raise ToolError(
                f"{source.name} was not changed: editing it as text could damage it. {error}. "
                "Use bash: convert it with iconv, or change it with sed or perl."
            ) from None
    if encode(decoded.text, decoded) != source.data:
        raise ToolError(f"{source.name} was not changed: its encoding would alter text outside the edit.")
    return decoded


def bytes_of(text: str, like: DecodedText, name: str) -> bytes:
    """Encode the new text in the file's encoding. Raises ToolError if that is unknown and would matter."""
    foreign = sorted(_counts(text) - _counts(like.text)) if like.escaped else []
    if foreign:
        raise ToolError(
            f"{name} was not changed: it is not UTF-8, so only ASCII text can be added to it, not "
            f"{foreign[0]!r}. Edit other lines, or use bash: iconv, sed or perl."
        )
    try:
        return encode(text, like)
    except UnicodeEncodeError as error:
        bad = text[error.start]
        raise ToolError(
            f"The new text has the character {bad!r}, which {name} ({like.encoding}) cannot encode."
        ) from None


def _counts(text: str) -> Counter[str]:
    return Counter(char for char in text if not char.isascii())


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
    new = bytes_of(spliced(decoded.text, splices), decoded, source.name)
    return change_bytes(source, new, diff, notes)


def change_bytes(
    source: FileSource, new: bytes | None, diff: "Diff | PatchDiff" = _NO_DIFF, notes: tuple[str, ...] = ()
) -> FileChange:
    """Replace a file's content."""
    return FileChange(
        path=source.path,
        name=source.name,
        kind="update",
        old=source.data,
        new=new,
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
