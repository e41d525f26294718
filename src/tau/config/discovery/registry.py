"""One scan of everything that is supplied to a session: what is used, and what is not and why."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tau.base import log
from tau.base.errors import ConfigError
from tau.base.text import clean_line
from tau.config.discovery.capabilities import CAPABILITIES, Item, Source
from tau.config.discovery.file_cache import FileCache, FileHead
from tau.config.discovery.plugins import plugin_roots
from tau.config.discovery.providers import PROVIDERS, FileProvider, Kind, Level, Root, find_roots, has_any
from tau.config.paths import Paths, project_folders

MAX_ITEMS = 1_000
"""Of one kind in one folder."""
MAX_ENTRIES = 20_000
MAX_DEPTH = 3
"""Maximum depth of folders within a folder of commands or rules."""


class DiscoveryOptions(Struct, frozen=True, kw_only=True):
    """`trusted`: what the project supplies may run, unless it `has_changed` when it is scanned again.
    `skill_folders` are the user's own, in addition.

    `excludes`: whether other settings turn an item off.
    """

    trusted: bool = False
    has_changed: Callable[[], bool] = lambda: False
    disabled_providers: Sequence[str] = ()
    disabled_items: Sequence[str] = ()
    skill_folders: Sequence[Path] = ()
    plugin_dirs: Sequence[Path] = ()
    excludes: Callable[[Item], bool] = lambda item: False


class LoadContext(Struct, frozen=True):
    """What a provider gets to load from."""

    cwd: Path
    home: Path
    roots: Sequence[Root]
    warn: Callable[[str], None]


_CUSTOM = next(provider for provider in PROVIDERS if provider.id == "custom")
Load = Callable[[LoadContext, Kind], Iterable[Item]]


class CapabilityRegistry:
    """What the providers supply to a working folder. Each kind is scanned once, when first asked for."""

    def __init__(
        self,
        cwd: Path,
        paths: Paths,
        options: DiscoveryOptions | None = None,
        roots: Sequence[Root] | None = None,
    ) -> None:
        self.cwd, self.paths = cwd, paths
        self.options = options or DiscoveryOptions()
        self.warnings: list[str] = []
        """Why something was not found, one sentence each."""
        self.extra_roots: list[Root] = []
        """More folders, of extensions."""
        self._cache = FileCache(paths.cache / "heads.json")
        self._roots = None if roots is None else list(roots)
        self._loaders: list[tuple[FileProvider, Load]] = []
        self._found: dict[Kind, list[Item]] = {}
        for provider in PROVIDERS:
            self.register(provider, self._load_files)

    def register(self, provider: FileProvider, load: Load) -> None:
        """Ask another provider too; those of the highest priority come first."""
        self._loaders.append((provider, load))
        self._loaders.sort(key=lambda one: -one[0].priority)
        self._found.clear()

    @property
    def root(self) -> Path:
        """The folder that no link of the project may lead out of."""
        return list(project_folders(self.cwd))[-1]

    def refresh(self) -> None:
        """Scan again, on demand. Unchanged files are not read again. What the agent wrote is not trusted."""
        if self.options.trusted and self.options.has_changed():
            self.options = replace(self.options, trusted=False)
        self._found.clear()
        self.warnings.clear()
        self._roots = None

    def items(self, kind: Kind) -> list[Item]:
        """What is used."""
        return [item for item in self.all(kind) if item.state == "active"]

    def all(self, kind: Kind) -> list[Item]:
        """The same and what is shadowed, disabled, invalid or waiting for trust."""
        if kind not in self._found:
            self._found[kind] = self._load(kind)
            self._cache.save()
        return self._found[kind]

    def roots(self) -> list[Root]:
        if self._roots is None:
            self._roots = find_roots(self.cwd, self.paths, self.options.plugin_dirs)
        return self._roots

    def _load(self, kind: Kind) -> list[Item]:
        """Providers load at the same time: one in a slow place does not make the others wait."""
        roots = [*self.roots(), *self._added_roots()]
        home = Path(os.path.expanduser("~"))  # noqa: PTH111
        by_provider = {
            provider.id: [root for root in roots if root.provider.id == provider.id]
            for provider, _ in self._loaders
        }
        busy = [
            (provider, load)
            for provider, load in self._loaders
            if load != self._load_files or has_any(by_provider[provider.id], (kind,))
        ]

        def run(one: tuple[FileProvider, Load]) -> tuple[list[Item], list[str]]:
            provider, load = one
            warnings: list[str] = []
            context = LoadContext(self.cwd, home, by_provider[provider.id], warnings.append)
            items: list[Item] = []
            try:
                for item in load(context, kind):
                    if item.source is None:
                        warnings.append(f"{item.id} does not say where it is from; skipped.")
                    else:
                        items.append(item)
            except Exception as error:  # of a provider that someone registered
                log.error(f"{provider.name} failed to load {kind}.", error)
                warnings.append(f"Loading {kind} failed: {error!r}.")
            return items, [f"{provider.name}: {text}" for text in warnings]

        if len(busy) > 1:
            self._cache.open()
            with ThreadPoolExecutor(len(busy)) as pool:
                loaded = list(pool.map(run, busy))
        else:
            loaded = [run(one) for one in busy]
        self.warnings += [text for _, warnings in loaded for text in warnings]
        priorities = [provider.priority for provider, _ in busy]
        pairs = zip(priorities, loaded, strict=True)
        return self._settle(kind, [(priority, item) for priority, (items, _) in pairs for item in items])

    def _settle(self, kind: Kind, found: list[tuple[int, Item]]) -> list[Item]:
        """Decide what is used: the first of a name, which no untrusted project may take from others."""
        capability = CAPABILITIES[kind]

        def place(one: tuple[int, Item]) -> tuple[bool, bool, int, bool, int]:
            priority, item = one
            is_project = item.level == "project"
            last = is_project and (capability.user_first or not item.trusted)
            return last, capability.nearest and not is_project, -priority, is_project, item.rank

        winners: dict[str, Item] = {}
        files: dict[tuple[int, int], Item] = {}
        settled = []
        for _, item in sorted(found, key=place):
            current = self.judge(item)
            if current.state == "active":
                twin = files.setdefault(current.identity, current) if any(current.identity) else current
                winner = winners.setdefault(current.name, current) if capability.named else current
                if twin is not current:
                    current = replace(current, state="shadowed", why=f"It is the same file as {twin.path}.")
                elif winner is not current:
                    current = replace(current, state="shadowed", why=f"{winner.path} has the same name.")
            settled.append(current)
        return settled

    def judge(self, item: Item) -> Item:
        """With the state that settings, its own faults and trust give it."""
        if item.state != "active":
            return item
        if item.source is not None and item.source.provider in self.options.disabled_providers:
            return replace(item, state="disabled", why="Its provider is in disabledProviders.")
        if any(names_item(name, item) for name in self.options.disabled_items):
            return replace(item, state="disabled", why="It is in disabledExtensions.")
        if self.options.excludes(item):
            group = "skills" if item.kind == "skills" else "rules"
            return replace(item, state="disabled", why=f"The settings {group}.* exclude it.")
        capability = CAPABILITIES[item.kind]
        if capability.nearest and item.rank:
            return replace(item, state="shadowed", why="Only those of the working folder count.")
        problem, notes = capability.check(item)
        if notes:
            item = replace(item, notes=(*item.notes, *notes))
        if problem is not None:
            line = _line_of(item.path, problem[1]) if problem[1] in item.fields else item.line
            return replace(item, state="invalid", why=problem[0], line=line)
        if capability.runs and not item.trusted:
            return replace(
                item, state="waiting", why="It is inactive until you trust this repository; see tau trust."
            )
        return item

    def _added_roots(self) -> Iterator[Root]:
        """The folders that settings and other programs' files name."""
        for folder in self.options.skill_folders:
            yield Root(_CUSTOM, str(folder), "user", 0, {"skills": ("*/SKILL.md",)})
        yield from self.extra_roots
        yield from plugin_roots(self._roots or (), self.cwd)

    def _load_files(self, context: LoadContext, kind: Kind) -> Iterator[Item]:
        """The files that the table names."""
        boundary = os.path.realpath(self.root)
        for root in context.roots:
            count = 0
            patterns = root.finds.get(kind, ())
            for pattern in patterns:
                for found in expand(root.path, pattern, context.warn):
                    if f"{pattern}/**/*.md" in patterns and os.path.isdir(found.path):  # noqa: PTH112
                        continue
                    count += 1
                    if count > MAX_ITEMS:
                        limit = f"There are more than {MAX_ITEMS:,} {kind} in {root.path}"
                        context.warn(f"{limit}; skipped {found.path} and others.")
                        break
                    yield self._item(root, kind, found, boundary)

    def _item(self, root: Root, kind: Kind, found: "FoundPath", boundary: str) -> Item:
        capability = CAPABILITIES[kind]
        head, identity, problem = FileHead((0, 0, 0)), (0, 0), ""
        try:
            info = os.stat(found.path)  # noqa: PTH116
            identity = (info.st_dev, info.st_ino)
            self._check_inside(found, root.level, boundary)
            if capability.reads:
                head = self._cache.head(found.path, info)
        except FileNotFoundError:
            problem = "It is a link to something that is not there."
        except ConfigError as error:
            problem = str(error).removeprefix(f"{error.path}: ")
        except OSError as error:
            problem = f"The file cannot be read: {error.strerror or error}."
        inner = found.path[len(root.path) + 1 :]
        name = capability.name(inner, head.fields) if capability.named else f"{root.provider.id}/{inner}"
        if root.plugin and kind in ("slash-commands", "prompts"):
            name = f"{root.plugin}:{name}"
        problem = problem or head.problem
        plugin = Path(root.path) if root.plugin else None
        return Item(
            kind=kind,
            name=name,
            source=Source(root.provider.id, Path(found.path), root.level, plugin),
            fields=head.fields,
            summary=head.summary,
            notes=(head.note,) if head.note else (),
            state="invalid" if problem else "active",
            why=problem,
            line=head.line,
            rank=root.rank,
            trusted=root.level != "project" or self.options.trusted,
            identity=identity,
        )

    def _check_inside(self, found: "FoundPath", level: Level, boundary: str) -> None:
        """A repository must not make us read a file elsewhere on the user's disk."""
        if level == "project" and found.linked:
            real = os.path.realpath(found.path)
            if not Path(real).is_relative_to(boundary):
                raise ConfigError(
                    f"It links to {clean_line(real)}, outside the project.", path=Path(found.path)
                )


class FoundPath(Struct, frozen=True):
    path: str
    linked: bool


def expand(folder: str, pattern: str, warn: Callable[[str], None]) -> Iterator[FoundPath]:
    """The existing paths below a folder that match, sorted, a folder's files before its subfolders."""
    yield from _expand(folder, pattern.split("/"), os.path.islink(folder), 0, warn)  # noqa: PTH114


def _expand(
    folder: str, parts: Sequence[str], linked: bool, depth: int, warn: Callable[[str], None]
) -> Iterator[FoundPath]:
    head, *rest = parts
    if head == "**":
        yield from _expand(folder, rest, linked, depth, warn)
        if depth < MAX_DEPTH:
            for entry in _entries(folder, warn):
                if "." not in entry.name and entry.is_dir(follow_symlinks=False):
                    yield from _expand(entry.path, parts, linked, depth + 1, warn)
    elif "*" in head:
        before, _, after = head.partition("*")
        for entry in _entries(folder, warn):
            is_match = entry.name.startswith(before) and entry.name.lower().endswith(after)
            if is_match and not rest:
                if not entry.name.startswith("_"):
                    yield FoundPath(entry.path, linked or entry.is_symlink())
            elif is_match:
                yield from _expand(entry.path, rest, linked or entry.is_symlink(), depth, warn)
    else:
        path = f"{folder}/{head}"
        try:
            info = os.lstat(path)
        except OSError:
            return
        linked = linked or stat.S_ISLNK(info.st_mode)
        if rest:
            yield from _expand(path, rest, linked, depth, warn)
        else:
            yield FoundPath(path, linked)


def _entries(folder: str, warn: Callable[[str], None]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            seen = [entry for entry in islice(entries, MAX_ENTRIES) if not entry.name.startswith(".")]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        warn(f"Cannot list {folder}: {error.strerror or error}.")
        return []
    return sorted(seen, key=lambda entry: entry.name)


def names_item(name: str, item: Item) -> bool:
    """Whether `kind:name` means this item; the kind may be singular."""
    kind, colon, rest = name.partition(":")
    return bool(colon) and rest == item.name and kind.rstrip("s") == item.kind.rstrip("s")


def _line_of(path: Path, field: str) -> int | None:
    """The line of a field in the front matter."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            lines = {
                line.partition(":")[0].strip(): number for number, line in enumerate(islice(file, 200), 1)
            }
    except OSError:
        return None
    return lines.get(field)
