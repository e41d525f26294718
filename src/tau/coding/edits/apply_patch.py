"""Parse the patch format of Codex models, which adds, deletes, updates and moves files by context."""

import re
from pathlib import Path

from msgspec import Struct

from tau.base.errors import ToolError
from tau.coding.edits.hunks import HunkRow, PatchHunk, parse_row
from tau.coding.edits.multi_file_patch import MultiFilePatch, PatchSection, unwrapped
from tau.coding.files.paths import resolve

_BEGIN = re.compile(r"\*\*\*\s*Begin Patch\s*$", re.IGNORECASE)
_END = re.compile(r"\*\*\*\s*End Patch\s*$", re.IGNORECASE)
_FILE = re.compile(r"\*\*\*\s*(Add|Delete|Update) File:[ \t]*(.*?)\s*$", re.IGNORECASE)
_MOVE = re.compile(r"\*\*\*\s*Move to:[ \t]*(.*?)\s*$", re.IGNORECASE)
_END_OF_FILE = re.compile(r"\*\*\*\s*End of File\s*$", re.IGNORECASE)
_MARKER = re.compile("|".join(f"(?:{each.pattern})" for each in (_BEGIN, _END, _FILE)), re.IGNORECASE)
_NUMBERED = re.compile(r"-(\d+)(?:,\d+)?\s+\+\d+(?:,\d+)?\s*(?:@@.*)?$")
_GIT_NOISE = ("diff --git ", "index ", "new file mode ", "deleted file mode ", "similarity index ")


def parse(text: str, cwd: Path) -> MultiFilePatch:
    """Parse the patch into sections. Raises ToolError if it is malformed or may be truncated."""
    lines = _without_indentation(unwrapped(text, lambda line: line.lstrip().startswith("***")))
    notes: list[str] = []
    body = _patch_lines(lines, notes)
    if not any(_FILE.match(line) for _, line in body):
        raise ToolError(
            "Not a patch: it names no file. Write `*** Begin Patch`, then `*** Update File: path`, "
            "`*** Add File: path` or `*** Delete File: path` with its lines, then `*** End Patch`."
        )
    sections: list[PatchSection] = []
    rows: list[tuple[int, str]] = []
    head: re.Match[str] | None = None
    for index, line in body:
        match = _FILE.match(line)
        if match is None:
            rows.append((index, line))
            continue
        if head is not None:
            sections.append(_section(head, rows, cwd))
        elif any(row.strip() for _, row in rows):
            raise _broken(next(item for item in rows if item[1].strip()), "comes before the first file")
        head, rows = match, []
    assert head is not None
    sections.append(_section(head, rows, cwd))
    return MultiFilePatch(tuple(sections), tuple(notes))


def _without_indentation(lines: list[str]) -> list[str]:
    """Strip blanks before markers, except among the lines of an update, where they mean a kept line."""
    first = next((line for line in lines if line.strip()), "")
    prefix = first[: len(first) - len(first.lstrip())]
    if prefix and first.lstrip().startswith("***") and _all_start_with(prefix, lines):
        lines = [line.removeprefix(prefix) for line in lines]
    last = max((index for index, line in enumerate(lines) if line.strip()), default=0)
    result: list[str] = []
    updating = False
    for index, line in enumerate(lines):
        bare = line.lstrip()
        if bare != line and _MARKER.match(bare) and (not updating or index == last):
            line = bare
        head = _FILE.match(line)
        if head is not None or _BEGIN.match(line) or _END.match(line):
            updating = head is not None and head[1].lower() == "update"
        result.append(line)
    return result


def _all_start_with(prefix: str, lines: list[str]) -> bool:
    return all(line.startswith(prefix) for line in lines if line.strip())


def _patch_lines(lines: list[str], notes: list[str]) -> list[tuple[int, str]]:
    """Return the numbered lines between the markers, or all lines if there are no markers."""
    numbered = list(enumerate(lines, start=1))
    begins = [index for index, line in enumerate(lines) if _BEGIN.match(line)]
    if not begins:
        return [(number, line) for number, line in numbered if not _END.match(line)]
    body: list[tuple[int, str]] = []
    outside: list[str] = lines[: begins[0]]
    at = begins[0]
    while at < len(lines):
        end = _end_of(lines, at)
        body += numbered[at + 1 : end]
        at = next((index for index in begins if index > end), len(lines))
        outside += lines[end + 1 : at]
    for line in outside:
        if re.match(r"\s*cd\s", line):
            raise ToolError(
                "The patch uses `cd`, which has no effect here; write paths relative to the "
                "working directory."
            )
    if any(line.strip() for line in outside):
        notes.append("Text outside the patch was ignored.")
    return body


def _end_of(lines: list[str], begin: int) -> int:
    for index in range(begin + 1, len(lines)):
        if _END.match(lines[index]):
            return index
        if _BEGIN.match(lines[index]):
            break
    last = max(index for index, line in enumerate(lines) if line.strip())
    if last > begin and _END.match(lines[last].strip()):
        return last
    raise ToolError(
        "The patch has no `*** End Patch`, so it may be truncated. Nothing was changed; send "
        "it again, split up if it is long."
    )


def _section(head: re.Match[str], rows: list[tuple[int, str]], cwd: Path) -> PatchSection:
    verb, name = head[1].lower(), head[2]
    if not name:
        raise ToolError(f"`{head[0].strip()}` names no file.")
    if verb == "add":
        content, notes = _content(rows, name)
        return PatchSection(
            kind="create", path=resolve(name, cwd, existing=False), content=content, notes=notes
        )
    path = resolve(name, cwd)
    if verb == "delete":
        for row in rows:
            if row[1].strip() and not row[1].startswith("-"):
                raise _broken(row, f"follows the deletion of {name}, which takes no lines")
        return PatchSection(kind="delete", path=path)
    rows = [row for row in rows if not row[1].startswith("\\")]
    move_to = None
    if rows and (match := _MOVE.match(rows[0][1])):
        if not match[1]:
            raise _broken(rows[0], "names no file")
        move_to, rows = resolve(match[1], cwd, existing=False), rows[1:]
    hunks, notes = _hunks(_without_noise(rows), name)
    if not hunks and move_to is None:
        raise ToolError(f"The patch has no changed lines for {name}: write them with `-` and `+`.")
    return PatchSection(kind="update", path=path, move_to=move_to, hunks=hunks, notes=notes)


def _content(rows: list[tuple[int, str]], name: str) -> tuple[str, tuple[str, ...]]:
    """Return the text of a new file; accept it verbatim if no line has a `+`."""
    rows = _without_noise(rows)
    if rows and rows[0][1].startswith("@@"):
        rows = rows[1:]
    while rows and not rows[-1][1].strip():
        rows = rows[:-1]
    rows = [row for row in rows if not row[1].startswith("\\ No newline")]
    if rows and not any(row[1].startswith("+") for row in rows):
        note = f"The lines of {name} had no `+` prefix and were used verbatim."
        return "".join(f"{line}\n" for _, line in rows), (note,)
    for row in rows:
        if row[1].strip() and not row[1].startswith("+"):
            raise _broken(row, f"must begin with `+`, like every line of the new file {name}")
    return "".join(f"{line[1:]}\n" for _, line in rows), ()


def _without_noise(rows: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Drop git diff headers at the top."""
    while rows and (rows[0][1].startswith(_GIT_NOISE) or not rows[0][1].strip()):
        rows = rows[1:]
    if len(rows) > 1 and rows[0][1].startswith("--- ") and rows[1][1].startswith("+++ "):
        rows = rows[2:]
    return rows


def _hunks(rows: list[tuple[int, str]], name: str) -> tuple[tuple[PatchHunk, ...], tuple[str, ...]]:
    drafts: list[_DraftHunk] = [_DraftHunk()]
    for row in rows:
        line = row[1]
        if line.startswith("@@"):
            if drafts[-1].rows or drafts[-1].at_end:
                drafts.append(_DraftHunk())
            drafts[-1].add_header(line)
        elif _END_OF_FILE.match(line):
            drafts[-1].at_end = True
        elif line.startswith("***"):
            raise _broken(row, "is not a marker of this format")
        elif line[:1] in ("", " ", "-", "+"):
            if drafts[-1].at_end:
                drafts.append(_DraftHunk())
            drafts[-1].rows.append(parse_row(line))
        else:
            raise _broken(row, f"must begin with ` `, `-`, `+` or `@@`, like every line for {name}")
    hunks: list[PatchHunk] = []
    notes: list[str] = []
    for draft in drafts:
        hunk = PatchHunk(
            number=len(hunks) + 1,
            rows=tuple(draft.rows),
            scopes=tuple(draft.scopes),
            line=draft.line,
            at_end=draft.at_end,
        )
        if hunk.changes:
            hunks.append(hunk)
        elif any(row.text.strip() for row in hunk.rows):
            notes.append("A hunk without changes was ignored.")
    return tuple(hunks), tuple(notes)


class _DraftHunk(Struct):
    """A hunk under construction."""

    rows: list[HunkRow] = []
    scopes: list[str] = []
    line: int | None = None
    at_end: bool = False

    def add_header(self, line: str) -> None:
        text = line[2:].removeprefix(" ").rstrip()
        numbered = _NUMBERED.match(text.strip())
        if numbered is not None:
            self.line = max(int(numbered[1]), 1)
            return
        text = text.removesuffix("@@").rstrip()
        if text.strip() not in ("", "..."):
            self.scopes.append(text)


def _broken(row: tuple[int, str], what: str) -> ToolError:
    return ToolError(f"Line {row[0]} of the patch {what}: {row[1][:200]!r}. Nothing was changed.")
