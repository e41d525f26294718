"""Finds Git merge conflicts in a text, shows their sides, and replaces them without touching other bytes."""

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from tau.base.errors import ToolError

Side = Literal["ours", "theirs", "base"]
TOKENS = ("@ours", "@theirs", "@base", "@both")
_MARKER = re.compile(r"(<{7}|\|{7}|={7}|>{7})(?: (.*))?$")


class ConflictSide(Struct, frozen=True):
    """One side: its text, Git's label, and its lines (`last` is before `first` if it is empty)."""

    text: str
    label: str
    first: int
    last: int


class Region(Struct, frozen=True, kw_only=True):
    """A conflict with its markers, lines `first` to `last`, 1-based."""

    first: int
    last: int
    text: str
    ours: ConflictSide
    theirs: ConflictSide
    base: ConflictSide | None = None

    def side(self, name: Side) -> ConflictSide:
        """Raises ToolError if there is no base: Git writes one only with merge.conflictStyle diff3."""
        part = {"ours": self.ours, "theirs": self.theirs, "base": self.base}[name]
        if part is None:
            raise ToolError("This conflict has no base: Git wrote only the two sides.")
        return part


class _Open(Struct):
    """The line indexes of the markers of an unfinished conflict."""

    start: int
    base: int | None = None
    middle: int | None = None
    nested: int = 0


def find_regions(text: str) -> list[Region]:
    """All complete conflicts, in order. Other markers are ordinary text."""
    lines = split_lines(text)
    regions: list[Region] = []
    current: _Open | None = None
    for index, line in enumerate(lines):
        if line[:1] not in "<|=>" or not line:
            continue
        kind = _kind(line)
        if kind == "<" and current is not None and current.base is not None and current.middle is None:
            current.nested += 1  # Git merged several bases, and their conflict is inside this base
        elif kind == "<":
            current = _Open(index)
        elif current is None or not kind:
            continue
        elif current.nested:
            current.nested -= kind == ">"
        elif kind == "|" and current.base is None and current.middle is None:
            current.base = index
        elif kind == "=" and current.middle is None:
            current.middle = index
        elif kind == ">":
            if current.middle is not None:
                regions.append(_region(lines, current, current.middle, index))
            current = None
    return regions


def render(name: str, numbered: list[tuple[int, Region]]) -> str:
    """The output of `:conflicts`: each conflict's URL, sides and lines."""
    if not numbered:
        return f"[{name} has no unresolved conflicts]"
    count = len(numbered)
    head = f"{name}: {count} unresolved {'conflict' if count == 1 else 'conflicts'}"
    blocks = [head, *(_block(id, region) for id, region in numbered)]
    blocks.append(
        "[Resolve one by writing its new text, or @ours, @theirs, @base, @both, to conflict://N; "
        "conflict://* takes one of these words for all]"
    )
    return "\n\n".join(blocks)


def replacement(region: Region, content: str) -> str:
    """The text that replaces a conflict. Content that is just `@ours` or the like selects that side."""
    match content.strip():
        case "@ours":
            new = region.ours.text
        case "@theirs":
            new = region.theirs.text
        case "@base":
            new = region.side("base").text
        case "@both":
            new = region.ours.text + region.theirs.text
        case _:
            if find_regions(content):
                raise ToolError("The content still has conflict markers; write the final text.")
            new = _with_line_ends(content, region.text)
    if not region.text.endswith("\n"):
        return new.removesuffix("\n").removesuffix("\r")
    return new


def resolved(text: str, regions: Sequence[Region], content: str) -> str:
    """The text with these conflicts replaced and every other byte as it was.

    They must be unchanged since they were seen, though line numbers may differ. Raises ToolError.
    """
    there: dict[str, list[Region]] = {}
    for region in find_regions(text):
        there.setdefault(region.text, []).append(region)
    wanted: dict[str, list[Region]] = {}
    for region in regions:
        wanted.setdefault(region.text, []).append(region)
    found = [place for each, seen in wanted.items() for place in _places(seen, there.get(each, []))]
    lines, pieces, at = split_lines(text), [], 0
    for place in sorted(found, key=lambda place: place.first):
        pieces += [*lines[at : place.first - 1], replacement(place, content)]
        at = place.last
    return "".join([*pieces, *lines[at:]])


def _places(seen: list[Region], there: list[Region]) -> list[Region]:
    """Find where conflicts with the same text are now."""
    if len(seen) == len(there):
        return there
    lines = {region.first for region in seen}
    exact = [region for region in there if region.first in lines]
    if len(exact) == len(seen):
        return exact
    why = "occurs several times" if len(there) > len(seen) else "has changed or is gone"
    raise ToolError(f"The conflict {why}; nothing was written. Read the file with :conflicts again.")


def split_lines(text: str) -> list[str]:
    """Lines with their endings; only a line feed ends one."""
    lines = text.split("\n")
    return [*(f"{line}\n" for line in lines[:-1]), *([lines[-1]] if lines[-1] else [])]


def _kind(line: str) -> str:
    match = _MARKER.match(line.rstrip("\r\n"))
    if match is None or (match[1][0] == "=" and match[2]):
        return ""
    return match[1][0]


def _label(line: str) -> str:
    match = _MARKER.match(line.rstrip("\r\n"))
    return (match[2] or "") if match is not None else ""


def _region(lines: list[str], found: _Open, middle: int, end: int) -> Region:
    def part(start: int, stop: int, label: str) -> ConflictSide:
        return ConflictSide("".join(lines[start + 1 : stop]), label, start + 2, stop)

    base = found.base
    return Region(
        first=found.start + 1,
        last=end + 1,
        text="".join(lines[found.start : end + 1]),
        ours=part(found.start, middle if base is None else base, _label(lines[found.start])),
        theirs=part(middle, end, _label(lines[end])),
        base=None if base is None else part(base, middle, _label(lines[base])),
    )


def _block(id: int, region: Region) -> str:
    rows = [f"conflict://{id} lines {region.first}-{region.last}"]
    for name, part in (("ours", region.ours), ("base", region.base), ("theirs", region.theirs)):
        if part is None:
            continue
        label = f" ({part.label})" if part.label else ""
        if part.last < part.first:
            rows.append(f"{name}{label}: nothing")
            continue
        where = f"lines {part.first}-{part.last}" if part.last > part.first else f"line {part.first}"
        rows.append(f"{name}{label}, {where}:")
        rows += [
            f"{part.first + offset}:{line.rstrip(chr(10)).removesuffix(chr(13))}"
            for offset, line in enumerate(split_lines(part.text))
        ]
    return "\n".join(rows)


def _with_line_ends(content: str, like: str) -> str:
    """Whole lines with the conflict's line endings."""
    if content and not content.endswith("\n"):
        content += "\n"
    if "\r" not in content and like.count("\r\n") == like.count("\n") > 0:
        content = content.replace("\n", "\r\n")
    return content
