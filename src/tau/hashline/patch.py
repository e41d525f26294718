"""Prepares a whole patch: every section is checked against its file before anything is written."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from tau.hashline.apply import ResolvedHunks, apply, refuse_overlaps, resolve, sort_changes
from tau.hashline.errors import ApplyError, HashlineError, NoChangeError, PatchError
from tau.hashline.format import format_header
from tau.hashline.lines import NumberedLines, separator_of
from tau.hashline.mismatch import MAX_ROWS, mismatch
from tau.hashline.preview import PatchDiff, preview, unified
from tau.hashline.records import BlockResolver, Hunk, LineChange, LineShift, Patch, ResolvedBlock, Section
from tau.hashline.recovery import carry, same_lines
from tau.hashline.snapshots import SnapshotOrigin, SnapshotStore

Reader = Callable[[str], str | None]
Normalize = Callable[[str], str]
RENUMBERED = "(Carriage returns end the lines of this file now; read it again for their numbers.)"


class PreparedFile(Struct, frozen=True):
    """One file's new text. `path` is as written in the patch, `key` is its path in the snapshot store."""

    key: str
    path: str
    old_text: str
    new_text: str
    changes: tuple[LineChange, ...]
    blocks: tuple[ResolvedBlock, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def is_renumbered(self) -> bool:
        """Whether the new text counts its lines by other line ends: without its last LF, a CR becomes one."""
        return separator_of(self.old_text) == "\n" and separator_of(self.new_text) == "\r"

    def preview(self) -> str:
        """The compact preview for the model."""
        if self.is_renumbered:
            return RENUMBERED
        return preview(NumberedLines(self.old_text), self.changes)

    def diff(self, name: str | None = None) -> PatchDiff:
        """The unified diff for people."""
        return unified(NumberedLines(self.old_text), self.changes, name or self.path)


def prepare(
    patch: Patch,
    read: Reader,
    store: SnapshotStore,
    resolver: BlockResolver | None = None,
    normalize: Normalize = str,
) -> tuple[PreparedFile, ...]:
    """Return the new text of every file, or raise one error that lists everything wrong with the patch.

    `normalize` turns a path as written into a key; `read` returns the text for a key, None for no file.
    """
    files: list[PreparedFile] = []
    errors: list[HashlineError] = []
    for key, sections in by_key(patch, normalize).items():
        try:
            files.append(_prepare_file(key, sections, read(key), store, resolver))
        except HashlineError as error:
            errors.append(error)
    if errors:
        raise errors[0] if len(errors) == 1 else PatchError(errors)
    return tuple(files)


def by_key(patch: Patch, normalize: Normalize) -> dict[str, list[Section]]:
    """Group the sections by file, however its path is written."""
    result: dict[str, list[Section]] = {}
    for section in patch.sections:
        result.setdefault(normalize(section.path), []).append(section)
    return result


def record_written(store: SnapshotStore, file: PreparedFile, written: str | None = None) -> str | None:
    """Record the written text and return its tag; `written` is the text if a formatter changed it."""
    if written is not None and written != file.new_text:
        return store.record(file.key, written, own=True)
    before = store.record(file.key, file.old_text)
    shifts = tuple(LineShift(change.first, change.last, change.growth) for change in file.changes)
    origin = None if before is None or file.is_renumbered else SnapshotOrigin(before, shifts)
    return store.record(file.key, file.new_text, own=True, origin=origin)


def report(file: PreparedFile, tag: str | None, name: str | None = None) -> str:
    """The result for one file: its new header, the resolved blocks, the preview."""
    parts = [format_header(name or file.path, tag), *map(str, file.blocks), file.preview()]
    return "\n".join(part for part in parts if part)


class PlacedHunks(Struct, frozen=True):
    """The hunks of a file as changes of its current text."""

    changes: tuple[LineChange, ...]
    blocks: tuple[ResolvedBlock, ...]
    warnings: tuple[str, ...]


def place(
    key: str,
    sections: Sequence[Section],
    lines: NumberedLines,
    store: SnapshotStore,
    resolver: BlockResolver | None,
) -> PlacedHunks:
    """Resolve each section against the text of its tag and move the changes to the current text."""
    by_tag: dict[str, list[Hunk]] = {}
    for section in sections:
        by_tag.setdefault(section.tag, []).extend(section.hunks)
    changes: list[LineChange] = []
    blocks: list[ResolvedBlock] = []
    warnings: list[str] = []
    path = sections[0].path
    for tag, hunks in by_tag.items():
        resolved, warning = _resolve(key, path, tag, hunks, lines, store, resolver)
        changes += resolved.changes
        # Line numbers of another version would be misleading.
        blocks += () if warning else resolved.blocks
        warnings += [warning] if warning else []
    ordered = sort_changes(changes)
    refuse_overlaps(ordered)
    return PlacedHunks(tuple(ordered), tuple(blocks), tuple(warnings))


def _prepare_file(
    key: str,
    sections: Sequence[Section],
    current: str | None,
    store: SnapshotStore,
    resolver: BlockResolver | None,
) -> PreparedFile:
    path = sections[0].path
    if current is None:
        raise ApplyError(f"There is no file {path} to edit; use write to create it.", line=sections[0].line)
    lines = NumberedLines(current)
    placed = place(key, sections, lines, store, resolver)
    new_text = apply(lines, placed.changes)
    if new_text == current:
        raise NoChangeError(
            f"The edits of {path} apply but change nothing: those lines already have this text. "
            "The cause is elsewhere: read the file again and check the line numbers before the "
            "next edit; do not widen the body or add lines."
        )
    return PreparedFile(key, path, current, new_text, placed.changes, placed.blocks, placed.warnings)


def _resolve(
    key: str,
    path: str,
    tag: str,
    hunks: Sequence[Hunk],
    lines: NumberedLines,
    store: SnapshotStore,
    resolver: BlockResolver | None,
) -> tuple[ResolvedHunks, str]:
    blocks = None if resolver is None else lambda _, text, line: resolver(key, text, line)
    snapshot = store.find(key, tag)
    reason = ""
    if snapshot is None and store.fits(key, tag, lines.text):
        return resolve(hunks, path, lines, blocks), ""
    if snapshot is not None:
        if same_lines(snapshot.text, lines.text):
            return resolve(hunks, path, lines, blocks), ""
        resolved = resolve(hunks, path, NumberedLines(snapshot.text), blocks)
        carried = carry(resolved.changes, snapshot, lines.text, store, path)
        if carried is not None:
            return ResolvedHunks(carried.changes), carried.warning
    recognized = snapshot is not None or store.was_issued(key, tag)
    if recognized and snapshot is None:
        reason = "What it looked like then is no longer remembered."
    raise mismatch(
        path=path,
        tag=tag,
        current_tag=store.record(key, lines.text),
        recognized=recognized,
        lines=lines,
        numbers=_named_lines(hunks),
        snapshot=snapshot,
        reason=reason,
    )


def _named_lines(hunks: Sequence[Hunk]) -> list[int]:
    """The lines that the hunks name: all of a short range, the ends of a long one."""
    numbers: set[int] = set()
    for hunk in hunks:
        long = hunk.last - hunk.first > MAX_ROWS
        numbers.update((hunk.first, hunk.last) if long else range(hunk.first, hunk.last + 1))
    return sorted(numbers - {0})
