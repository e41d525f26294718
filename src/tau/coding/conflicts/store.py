"""Numbers the conflicts the model has seen, so that it can read and resolve them."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from msgspec import Struct

from tau.agent.ports import FileSystem, Stat, ToolContext
from tau.base.errors import ToolError
from tau.base.text import NotText, decode, encode
from tau.coding.conflicts.markers import TOKENS, Region, Side, find_regions, resolved
from tau.coding.files.paths import shown
from tau.coding.ports import ChangedFile, Resource

MAX_RECORDED = 10_000
MAX_LETTERS = 32 * 1024 * 1024  # of all conflicts together


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

    def record(self, path: Path, text: str) -> list[tuple[int, Region]]:
        """Number the conflicts of a file's text; forget those that are gone."""
        known: dict[str, list[int]] = {}
        for id, each in sorted(self._recorded.items()):
            if each.path == path:
                known.setdefault(each.region.text, []).append(id)
        for ids in known.values():
            for id in ids:
                del self._recorded[id]
        numbered: list[tuple[int, Region]] = []
        for region in find_regions(text):
            same = known.get(region.text)
            if not same:
                self._last += 1
                same = [self._last]
            numbered.append((same.pop(0), region))
        self._recorded.update((id, ConflictRecord(path, region)) for id, region in numbered)
        size = sum(len(each.region.text) for each in self._recorded.values())
        while len(self._recorded) > MAX_RECORDED or size > MAX_LETTERS:
            size -= len(self._recorded.pop(min(self._recorded)).region.text)
        return numbered

    def get(self, id: int) -> ConflictRecord:
        """Raises ToolError for an unknown or forgotten number."""
        found = self._recorded.get(id)
        if found is None:
            known = ", ".join(map(str, sorted(self._recorded)[:20])) or "none"
            raise ToolError(
                f"There is no conflict {id}. Known: {known}. Read a file with :conflicts to number its own."
            )
        return found

    def ids(self) -> list[int]:
        return sorted(self._recorded)

    def settle(self, ids: Sequence[int], path: Path, text: str) -> None:
        """Forget resolved conflicts of a file, and update the positions of the others."""
        for id in ids:
            del self._recorded[id]
        self.record(path, text)


class ConflictUrls:
    """`conflict://3` is a whole conflict, `conflict://3/ours` (theirs, base) one side, read-only.

    Text written to `conflict://3` replaces the conflict; `conflict://*` means all of them.
    """

    scheme = "conflict"

    def __init__(self, store: ConflictStore) -> None:
        self._store = store

    async def resolve(self, rest: str, ctx: ToolContext) -> Resource:
        return Resource(url=f"conflict://{rest}", data=text_at(self._store, rest).encode())

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
