"""Git merge conflicts: finds them in a text, numbers those that the model has seen, and resolves them."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, cast

from msgspec import Struct

from tau.agent.ports import FileSystem, Stat, ToolContext
from tau.base.errors import ToolError
from tau.base.text import NotText, decode, encode
from tau.coding.files.paths import shown
from tau.coding.output import OutputLimits, take
from tau.coding.ports import ChangedFile, Resource

MAX_RECORDED = 10_000
MAX_CHARS = 32 * 1024 * 1024  # of all conflicts together
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
    """The output of `:conflicts`: each conflict's URL, sides and lines, as many as fit."""
    if not numbered:
        return f"[{name} has no unresolved conflicts]"
    count = len(numbered)
    head = f"{name}: {count} unresolved {'conflict' if count == 1 else 'conflicts'}"
    blocks, fitting = _fit(numbered)
    notes = []
    if fitting < count:
        first, last = numbered[fitting][0], numbered[-1][0]
        rest = f"conflict://{first}" if first == last else f"conflict://{first} to conflict://{last}"
        notes.append(f"[Showing {fitting} of {count} conflicts; read {rest} to see the others]")
    notes.append(
        "[Resolve one by writing its new text, or @ours, @theirs, @base, @both, to conflict://N; "
        "conflict://* takes one of these words for all]"
    )
    return "\n\n".join([head, *blocks, "\n".join(notes)])


def _fit(numbered: list[tuple[int, Region]]) -> tuple[list[str], int]:
    """As many conflicts as the limits allow, and their number; the first is cut if it is too long."""
    blocks: list[str] = []
    limits = OutputLimits()
    for count, (id, region) in enumerate(numbered):
        rows = _rows(id, region)
        taken = take(rows, limits)
        is_whole = len(taken.lines) == len(rows)
        if limits.lines < 2 or limits.bytes < 1 or (count and not is_whole):
            return blocks, count
        blocks.append("\n".join(taken.lines))
        if taken.cut or not is_whole:
            blocks.append(f"[Cut; read conflict://{id} to see all of it]")
        used = sum(len(line.encode(errors="replace")) + 1 for line in taken.lines)
        limits = OutputLimits(lines=limits.lines - len(rows) - 1, bytes=limits.bytes - used)
    return blocks, len(numbered)


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


def _rows(id: int, region: Region) -> list[str]:
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
    return rows


def _with_line_ends(content: str, like: str) -> str:
    """Whole lines with the conflict's line endings."""
    if content and not content.endswith("\n"):
        content += "\n"
    if "\r" not in content and like.count("\r\n") == like.count("\n") > 0:
        content = content.replace("\n", "\r\n")
    return content


class ConflictRecord(Struct, frozen=True):
    """A conflict as seen in a file."""

    path: Path
    region: Region


class Resolution(Struct, frozen=True, kw_only=True):
    """A file with resolved conflicts: its new `text`, and how many are `left`."""

    path: Path
    ids: list[int]
    stat: Stat
    text: str
    left: int


class Resolutions(Struct, frozen=True):
    """The result of a write to `conflict://…`, file by file, with the reasons for failures."""

    done: list[Resolution]
    failed: list[tuple[Path, str]]


class ConflictStore:
    """Numbers are stable: a conflict that is seen again keeps its number. The oldest are forgotten."""

    def __init__(self) -> None:
        self._recorded: dict[int, ConflictRecord] = {}
        self._last = 0

    def record(self, path: Path, regions: Sequence[Region]) -> list[tuple[int, Region]]:
        """Number the conflicts of a file; forget those that are gone."""
        known: dict[str, list[int]] = {}
        for id, each in sorted(self._recorded.items()):
            if each.path == path:
                known.setdefault(each.region.text, []).append(id)
        for ids in known.values():
            for id in ids:
                del self._recorded[id]
        numbered: list[tuple[int, Region]] = []
        for region in regions:
            same = known.get(region.text)
            if not same:
                self._last += 1
                same = [self._last]
            numbered.append((same.pop(0), region))
        self._recorded.update((id, ConflictRecord(path, region)) for id, region in numbered)
        size = sum(len(each.region.text) for each in self._recorded.values())
        while len(self._recorded) > MAX_RECORDED or size > MAX_CHARS:
            size -= len(self._recorded.pop(min(self._recorded)).region.text)
        return numbered

    def get(self, id: int) -> ConflictRecord:
        """Raises ToolError for an unknown or forgotten number."""
        record = self._recorded.get(id)
        if record is None:
            known = ", ".join(map(str, sorted(self._recorded)[:20])) or "none"
            raise ToolError(
                f"There is no conflict {id}. Known: {known}. Read a file with :conflicts to number its own."
            )
        return record

    def ids(self) -> list[int]:
        return sorted(self._recorded)

    def settle(self, ids: Sequence[int], path: Path, text: str) -> None:
        """Forget resolved conflicts of a file, and update the positions of the others."""
        for id in ids:
            del self._recorded[id]
        self.record(path, find_regions(text))


class ConflictUrls:
    """`conflict://3` is a whole conflict, `conflict://3/ours` (theirs, base) one side, read-only.

    Text written to `conflict://3` replaces the conflict; `conflict://*` means all of them.
    """

    scheme = "conflict"

    def __init__(self, store: ConflictStore) -> None:
        self._store = store

    async def resolve(self, rest: str, ctx: ToolContext) -> Resource:
        return Resource(url=f"conflict://{rest}", data=text_at(self._store, rest).encode())

    def written_files(self, rest: str) -> tuple[Path, ...]:
        return written_files(self._store, rest)

    async def write(self, rest: str, data: bytes, ctx: ToolContext) -> Resource:
        outcome = await resolve(self._store, rest, data.decode(), ctx.fs)
        lines = [
            f"Resolved {len(each.ids)} in {shown(each.path, ctx.cwd)}; {each.left} left there."
            for each in outcome.done
        ]
        lines += [f"Not resolved in {shown(path, ctx.cwd)}: {why}" for path, why in outcome.failed]
        return Resource(
            url=f"conflict://{rest}",
            data=data,
            note="\n".join(lines) or "There was nothing to resolve.",
            changed=tuple(ChangedFile(each.path, each.stat, each.text) for each in outcome.done),
        )


def written_files(store: ConflictStore, rest: str) -> tuple[Path, ...]:
    """The files that a write to `conflict://<rest>` changes. Raises ToolError for an unknown conflict."""
    target = rest.strip("/")
    ids = store.ids() if target == "*" else [_number(target.partition("/")[0])]
    return tuple(dict.fromkeys(store.get(id).path for id in ids))


def text_at(store: ConflictStore, rest: str) -> str:
    """The text of a `conflict://` URL. Raises ToolError."""
    number, slash, side = rest.strip("/").partition("/")
    if number == "*":
        raise ToolError("conflict://* can be written to, not read; read the file with :conflicts.")
    region = store.get(_number(number)).region
    if not slash:
        return region.text
    if side not in ("ours", "theirs", "base"):
        raise ToolError(f"A conflict has the sides ours, theirs and base, not {side[:50]!r}.")
    return region.side(cast(Side, side)).text


async def resolve(store: ConflictStore, rest: str, content: str, fs: FileSystem) -> Resolutions:
    """Write to `conflict://<rest>`: replace one conflict with a text, or all with one of the tokens.

    For one conflict failures raise; for all (`*`) they are reported file by file.
    """
    target = rest.strip("/")
    if "/" in target:
        raise ToolError(
            f"The sides of a conflict can only be read; write to conflict://{target.split('/')[0]}."
        )
    if target != "*":
        id = _number(target)
        return Resolutions([await _resolve_file(store, store.get(id).path, [id], content, fs)], [])
    if content.strip() not in TOKENS:
        raise ToolError(f"conflict://* takes one of {', '.join(TOKENS)} as its content, for all conflicts.")
    if not store.ids():
        raise ToolError("No conflicts are known yet; read a file with :conflicts first.")
    by_file: dict[Path, list[int]] = {}
    for id in store.ids():
        by_file.setdefault(store.get(id).path, []).append(id)
    done, failed = [], []
    for path, ids in by_file.items():
        try:
            done.append(await _resolve_file(store, path, ids, content, fs))
        except (ToolError, OSError) as error:
            failed.append((path, str(error)))
    return Resolutions(done, failed)


async def _resolve_file(
    store: ConflictStore, path: Path, ids: list[int], content: str, fs: FileSystem
) -> Resolution:
    """Resolve all of these conflicts of one file, or none."""
    stat = await fs.stat(path)
    if stat is None:
        raise ToolError(f"{path} no longer exists; nothing was written.")
    try:
        decoded = decode(await fs.read(path))
    except NotText as error:
        raise ToolError(f"{path} cannot be changed safely: {error}.") from None
    text = resolved(decoded.text, [store.get(id).region for id in ids], content)
    try:
        data = encode(text, decoded)
    except UnicodeEncodeError:
        raise ToolError(f"The content cannot be written in {decoded.encoding}, as {path} is.") from None
    after = await fs.write(path, data, expect=stat)
    store.settle(ids, path, text)
    return Resolution(path=path, ids=sorted(ids), stat=after, text=text, left=len(find_regions(text)))


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise ToolError(f"A conflict is named by its number, as in conflict://1, not {text[:50]!r}.")
    return int(text)
