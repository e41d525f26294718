"""find: lists files and directories by name, newest first."""

import heapq
import math
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType

from tau.agent.arguments import UNLISTED
from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.base.errors import ToolError
from tau.base.late import late
from tau.coding.files.paths import failure, real, shown
from tau.coding.output import (
    EntryLimit,
    OutputLimits,
    OutputMeta,
    ReachedLimits,
    list_names,
    notice,
    truncate,
    with_notice,
)
from tau.coding.ports import CodingContext

walking = late("tau.coding.search.walk")
path_arguments = late("tau.coding.files.path_arguments")
globs = late("tau.coding.search.globs")

MAX_RESULTS = 200
DEFAULT_SECONDS = 5.0
MIN_SECONDS, MAX_SECONDS = 0.5, 60.0
UPDATE_INTERVAL_S = 0.2

Match = tuple[int, str, bool]  # modification time, path, whether it is a directory


class FindParams(Struct, frozen=True):
    aliases: ClassVar[dict[str, str]] = {"path": "paths", "pattern": "paths"}

    paths: Annotated[list[str], Meta(title="Globs, directories or files")]
    hidden: Annotated[bool, Meta(description="Include hidden files", extra_json_schema=UNLISTED)] = True
    gitignore: Annotated[bool, Meta(title="Omit ignored files")] = True
    limit: Annotated[float, Meta(description="Maximum results", extra_json_schema=UNLISTED)] = MAX_RESULTS
    timeout: Annotated[float, Meta(description="Seconds, 0.5 to 60", extra_json_schema=UNLISTED)] = (
        DEFAULT_SECONDS
    )


class FindDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """`files` are the returned paths, directories with a slash. Inapplicable fields are omitted."""

    scope_path: str
    file_count: int
    files: list[str]
    truncated: bool = False
    result_limit_reached: int | UnsetType = UNSET
    timed_out: bool | UnsetType = UNSET
    missing_paths: list[str] | UnsetType = UNSET
    meta: OutputMeta | UnsetType = UNSET


class Find(Tool[FindParams]):
    name, label = "find", "Find"

    def decode(self, arguments: dict[str, Any]) -> tuple[FindParams, list[str]]:
        """Accept a single path without a list."""
        given = {
            name: [value]
            if isinstance(value, str) and FindParams.aliases.get(name, name) == "paths"
            else value
            for name, value in arguments.items()
        }
        return super().decode(given)

    def effects(self, params: FindParams, cwd: Path) -> Effects:
        entries = path_arguments.entries(_path_argument(params), cwd)
        for entry in entries:  # before anyone is asked to approve it
            _refuse_root(entry.base)
        return Effects(reads=path_arguments.read_paths(entries))

    async def run(self, params: FindParams, ctx: CodingContext) -> ToolOutput:
        limit = _limit(params.limit)
        seconds = DEFAULT_SECONDS if math.isnan(params.timeout) else params.timeout
        seconds = min(max(seconds, MIN_SECONDS), MAX_SECONDS)
        entries = path_arguments.entries(_path_argument(params), ctx.cwd)
        path_arguments.check_approved(entries, ctx.approved)
        missing: list[str] = []
        if len(entries) > 1 or not entries[0].exists:
            entries, missing = path_arguments.partition(entries)
        search = _Search(params, ctx, limit, time.monotonic() + seconds, several=len(entries) > 1)
        scope = path_arguments.scope_text(entries, ctx.cwd)
        try:
            for entry in entries:
                await search.run(entry)
        except TimeoutError:
            search.timed_out = True
        except OSError as error:
            raise failure("look into", scope, error) from error
        return _report(search, seconds, scope, missing)


def _path_argument(params: FindParams) -> str | list[str]:
    """A single entry may be a whole list passed as a string."""
    return params.paths[0] if len(params.paths) == 1 else params.paths


def _refuse_root(base: Path) -> None:
    if real(base).parent == real(base):
        raise ToolError("Searching from root directory '/' is not allowed; name a folder below it.")


def _limit(value: float) -> int:
    if not math.isfinite(value) or value <= 0:
        raise ToolError("Limit must be a positive number.")
    return min(max(math.floor(value), 1), MAX_RESULTS)


class _Search:
    """The matches so far. Keeps the newest and counts the others."""

    def __init__(
        self, params: FindParams, ctx: CodingContext, limit: int, deadline: float, *, several: bool
    ) -> None:
        self.params = params
        self.ctx = ctx
        self.limit = limit
        self.deadline = deadline
        self.total = 0
        self.newest: list[Match] = []
        self.seen: set[str] | None = set() if several else None
        self.unreadable: list[str] = []
        self.timed_out = False
        self._updated_at = time.monotonic()

    async def run(self, entry: "path_arguments.PathTarget") -> None:
        base = await self._base(entry)
        stat = await self.ctx.fs.stat(base)
        if stat is None or not stat.is_dir:
            if entry.glob:
                raise ToolError(f"Path is not a directory: {self.name(str(base))}.")
            # A dangling link still exists.
            self.add([(base.lstat().st_mtime_ns if stat is None else stat.mtime_ns, str(base), False)])
            return
        _refuse_root(base)
        await self._below(base, entry.glob or "**/*")

    def add(self, matches: list[Match]) -> None:
        fresh = matches
        if self.seen is not None:  # list overlapping entries once
            fresh = [match for match in matches if match[1] not in self.seen]
            self.seen.update(match[1] for match in fresh)
        self.total += len(fresh)
        self.newest += fresh
        if len(self.newest) > 20 * self.limit:
            self.newest = heapq.nlargest(self.limit, self.newest)

    def name(self, path: str) -> str:
        return shown(Path(path), self.ctx.cwd)

    def show_progress(self) -> None:
        """Update the call's output a few times a second."""
        now = time.monotonic()
        if now - self._updated_at >= UPDATE_INTERVAL_S and self.newest:
            self._updated_at = now
            names = [self.name(path) for _, path, _ in heapq.nlargest(self.limit, self.newest)]
            self.ctx.update(ToolOutput.text("\n".join(names)))

    async def _base(self, entry: "path_arguments.PathTarget") -> Path:
        if not entry.url:
            return entry.base
        if not self.ctx.urls.handles(entry.url):
            raise ToolError(f"find takes files and internal URLs; {entry.url} is neither.")
        resource = await self.ctx.urls.resolve(entry.url, self.ctx)
        if resource.path is None:
            raise ToolError(f"{entry.url} is not a file; use read or search.")
        return resource.path

    async def _below(self, base: Path, glob: str) -> None:
        wanted = globs.tool_matcher([glob])
        start = len(str(base).rstrip("/")) + 1
        depth = None if "**" in glob or "{" in glob else glob.count("/") + 1
        walk = walking.pieces(
            base,
            hidden=self.params.hidden,
            gitignore=self.params.gitignore,
            max_depth=depth,
            deadline=self.deadline,
        )
        async for piece in walk:
            if piece.unreadable:
                self.unreadable.append(self.name(piece.folder))
            self.add(_matches(piece.entries, wanted, start))
            self.show_progress()


def _matches(
    entries: Sequence["os.DirEntry[str]"], wanted: Callable[[str], object], start: int
) -> list[Match]:
    matches: list[Match] = []
    for entry in entries:
        if wanted(entry.path[start:]):
            try:
                changed = entry.stat(follow_symlinks=False).st_mtime_ns
            except OSError:  # deleted in the meantime
                continue
            matches.append((changed, entry.path, entry.is_dir(follow_symlinks=False)))
    return matches


def _report(look: _Search, seconds: float, scope: str, missing: list[str]) -> ToolOutput:
    newest = heapq.nlargest(look.limit, look.newest)
    names = [f"{look.name(path)}{'/' if is_dir else ''}" for _, path, is_dir in newest]
    limited = look.total > len(names)
    notes: list[str] = []
    if look.timed_out:
        notes.append(
            f"find timed out after {seconds:g}s; returning {len(names)} partial matches — "
            "increase timeout or narrow pattern"
        )
    if limited:
        notes.append(f"Showing the newest {len(names)} of {look.total} matches; narrow the pattern")
    if missing:
        notes.append(path_arguments.missing_note(missing))
    if look.unreadable:
        notes.append(f"Skipped unreadable folders: {list_names(look.unreadable)}")
    output = truncate(grouped(names), OutputLimits(lines=10 * MAX_RESULTS, columns=10_000))
    cut = output.truncation
    meta: OutputMeta | UnsetType = UNSET
    if limited or cut is not None:
        limits = ReachedLimits(result_limit=EntryLimit(len(names), look.total)) if limited else UNSET
        meta = OutputMeta(truncation=UNSET if cut is None else cut, limits=limits)
    details = FindDetails(
        scope_path=scope,
        file_count=len(names),
        files=names,
        truncated=limited or look.timed_out or cut is not None,
        result_limit_reached=look.limit if limited else UNSET,
        timed_out=look.timed_out or UNSET,
        missing_paths=missing or UNSET,
        meta=meta,
    )
    text = with_notice(output.text or "No files found matching pattern", notice(cut))
    return ToolOutput.text(with_notice(text, "\n".join(f"[{note}]" for note in notes)), details)


def grouped(names: Sequence[str]) -> str:
    """Group paths by directory, in order of first appearance; those without one come first."""
    groups: dict[str, list[str]] = {"": []}
    for name in names:
        folder, _, own = name.removesuffix("/").rpartition("/")
        ending = "/" if name.endswith("/") else ""
        groups.setdefault("/" if name.startswith("/") and not folder else folder, []).append(own + ending)
    rows: list[str] = []
    for folder, members in groups.items():
        if folder:
            rows.append(f"# {folder.rstrip('/')}/")
        rows += members
    return "\n".join(rows)
