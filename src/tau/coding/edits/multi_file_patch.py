"""Multi-file patches of any format, converted to one change per file."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tau.agent.ports import ToolContext
from tau.base.errors import ToolError
from tau.base.text import DecodedText
from tau.coding.edits.change import (
    FileChange,
    FileSource,
    change_bytes,
    creation,
    deletion,
    moved,
    text_of,
    update,
)
from tau.coding.edits.hunks import PatchHunk
from tau.coding.edits.placement import patched
from tau.coding.edits.splices import Splice, composed, spliced
from tau.coding.edits.transaction import Guard, WrittenChange, change_files
from tau.coding.files.paths import real

MAX_PROBLEMS = 10
_HEREDOC = re.compile(r"(?:(?:apply_patch|patch|cat|git apply)\b[^<&;]*)?<<-?\s*(['\"]?)(\w+)\1[^&;]*$")
_FENCE = re.compile(r"\s*(?:```+|~~~+)[\w+-]*\s*$")


def unwrapped(text: str, is_mark: Callable[[str], bool]) -> list[str]:
    """Return the lines of a patch without its wrapping.

    If every marker line of the patch ends with a carriage return, strip it from all lines: it is an artifact
    of transport. If only quoted lines have it, it belongs to the files.
    """
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    marks = [line for line in lines if is_mark(line)]
    if marks and all(line.endswith("\r") for line in marks):
        lines = [line.removesuffix("\r") for line in lines]
    start, end = 0, len(lines)
    while start < end and not lines[start].strip():
        start += 1
    if start < end and _FENCE.match(lines[start]):
        start += 1
        end = _without_last(lines, start, end, _FENCE.match)
    heredoc = _HEREDOC.match(lines[start].strip()) if start < end else None
    if heredoc is not None:
        start += 1
        word = heredoc[2]
        end = _without_last(lines, start, end, lambda line: line.strip() == word)
    # Blank the lines before instead of dropping them, so line numbers in errors stay right.
    return [""] * start + lines[start:end]


def _without_last(lines: list[str], start: int, end: int, closes: Callable[[str], object]) -> int:
    """Return the end without a closing line of the wrapping, if there is one."""
    last = end
    while last > start and not lines[last - 1].strip():
        last -= 1
    return last - 1 if last > start and closes(lines[last - 1]) else end


class PatchSection(Struct, frozen=True, kw_only=True):
    """The part of a patch for one file. Paths are absolute.

    `content` is the text of a new file. A deletion with hunks must remove the entire content; with
    `only_empty` the file must be empty. `copy_of` names the file whose text a new one starts from.
    """

    kind: Literal["create", "update", "delete"]
    path: Path
    move_to: Path | None = None
    copy_of: Path | None = None
    content: str = ""
    hunks: tuple[PatchHunk, ...] = ()
    only_empty: bool = False
    notes: tuple[str, ...] = ()


class MultiFilePatch(Struct, frozen=True):
    """`notes` list what was ignored in the patch as a whole."""

    sections: tuple[PatchSection, ...]
    notes: tuple[str, ...] = ()

    @property
    def paths(self) -> list[Path]:
        """Every file in the patch, for effects and locks."""
        named = [(part.path, part.move_to, part.copy_of) for part in self.sections]
        return list(dict.fromkeys(path for paths in named for path in paths if path is not None))


async def apply_patch(
    patch: MultiFilePatch, ctx: ToolContext, *, guard: Guard | None = None
) -> list[WrittenChange]:
    """Apply the whole patch or nothing. Raises ToolError."""
    return await change_files(patch.paths, lambda sources: changes_of(patch, sources), ctx, guard=guard)


def changes_of(patch: MultiFilePatch, sources: Mapping[Path, FileSource]) -> list[FileChange]:
    """Compute one change per file; sections for the same file build on each other."""
    drafts: dict[Path, _Draft] = {}

    def draft(path: Path) -> _Draft:
        key = real(path)
        for one in drafts.values():
            if one.target is not None and real(one.target.path) == key:
                return one
        if key not in drafts:
            drafts[key] = _Draft(sources[key])
        return drafts[key]

    problems: dict[_Draft, str] = {}
    for section in patch.sections:
        one = draft(section.path)
        one.notes += section.notes
        try:
            if section.kind == "create":
                one.create(section, None if section.copy_of is None else sources[real(section.copy_of)])
            elif section.kind == "delete":
                one.delete(section)
            else:
                one.change(section)
                if section.move_to is not None:
                    one.move(sources[real(section.move_to)])
        except ToolError as error:
            # Report only the first problem per file; later ones may follow from it.
            problems.setdefault(one, str(error))
    changes: list[FileChange] = []
    for one in drafts.values():
        try:
            change = one.result() if one not in problems else None
        except ToolError as error:
            problems[one] = str(error)
            continue
        changes += [change] if change is not None else []
    if problems:
        lines = list(problems.values())[:MAX_PROBLEMS]
        if len(problems) > MAX_PROBLEMS:
            lines.append(f"[… and {len(problems) - MAX_PROBLEMS} more files]")
        raise ToolError("\n".join(lines + ["No file was changed."] * (len(drafts) > 1)))
    return changes


class _Draft:
    """The state of one file while patch sections are applied."""

    def __init__(self, source: FileSource) -> None:
        self.source = source
        self.target: FileSource | None = None
        self.notes: tuple[str, ...] = ()
        self._decoded: DecodedText | None = None
        self._like = DecodedText(text="")
        self._splices: list[Splice] = []
        self._text: str | None = None
        self._exists = source.stat is not None
        self._touched = False

    @property
    def text(self) -> str:
        """The text after the sections so far."""
        if not self._exists:
            raise ToolError(f"There is no file {self.source.name} to edit; add it, or check the path.")
        if self._text is None:
            self._decoded = self._decoded or text_of(self.source)
            self._text = spliced(self._decoded.text, self._splices)
        return self._text

    def create(self, section: PatchSection, model: FileSource | None) -> None:
        """Create the file. `model` is a file to copy from, as it was before the patch."""
        name = self.source.name
        if self._exists:
            raise ToolError(f"{name} already exists; update it instead.")
        self._like = DecodedText(text=section.content) if model is None else text_of(model)
        text = self._like.text
        if section.hunks:
            patch = patched(text, section.hunks, name)
            text = spliced(text, patch.splices)
            self.notes += tuple(patch.notes)
        if self.source.stat is not None:
            # Deleted by an earlier section: together they replace the content.
            self._decoded = text_of(self.source)
            self._splices = [Splice(0, len(self._decoded.text), text)]
        self._exists, self._text, self._touched = True, text, True

    def delete(self, section: PatchSection) -> None:
        name = self.source.name
        if not self._exists or self.target is not None:
            raise ToolError(f"There is no file {name} to delete.")
        if section.only_empty and self.source.data:
            raise ToolError(f"{name} is not empty, but the patch deletes it as an empty file.")
        if section.hunks:
            left = spliced(self.text, patched(self.text, section.hunks, name).splices)
            if left:
                lines = left.count("\n") + (not left.endswith("\n"))
                raise ToolError(f"{name} has {lines} lines that the deletion does not list.")
        self._exists, self._touched = False, True

    def change(self, section: PatchSection) -> None:
        if not section.hunks:
            return
        patch = patched(self.text, section.hunks, self.source.name)
        if self._decoded is None:
            self._text = spliced(self.text, patch.splices)
        else:
            # The text is built on demand.
            self._splices = composed(self._splices, patch.splices, len(self._decoded.text))
            self._text = None
        self.notes += tuple(patch.notes)
        self._touched = True

    def move(self, to: FileSource) -> None:
        if not self._exists:
            raise ToolError(f"There is no file {self.source.name} to move.")
        if self.target is not None or self.source.stat is None:
            raise ToolError(f"{self.source.name} is created or moved, then moved again; do it in one step.")
        if to.stat is not None:
            raise ToolError(f"{to.name} already exists; cannot move {self.source.name} there.")
        self.target, self._touched = to, True

    def result(self) -> FileChange | None:
        """Return the final change, or None if the file was only read."""
        source = self.source
        if not self._touched:
            return None
        if not self._exists:
            return None if source.stat is None else deletion(source, _text_or_empty(source), self.notes)
        if source.stat is None:
            return creation(source, self._text or "", self.notes, like=self._like)
        if self._decoded is None:
            # A pure move: the content may be binary.
            change = change_bytes(source, source.data, notes=self.notes)
        else:
            change = update(source, self._decoded, self._splices, self.notes)
        if self.target is not None:
            return moved(change, self.target)
        if change.new == change.old:
            raise ToolError(f"The patch changes nothing: {source.name} already has these lines.")
        return change


def _text_or_empty(source: FileSource) -> str:
    try:
        return text_of(source).text
    except ToolError:
        return ""
