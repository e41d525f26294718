"""Finds the code to load: tau's folders, settings, flags, installed packages; nothing is imported here."""

import ast
import os
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from tau.base import log
from tau.base.errors import ExtensionError, UsageError
from tau.base.files import modified_ns, typed_path, write_atomic
from tau.base.sizes import MIB
from tau.config.discovery.capabilities import Item, Source
from tau.config.discovery.registry import CapabilityRegistry
from tau.config.paths import Paths
from tau.ext.extensions.extension import ExtensionSource, Origin, SourceKind

GROUP = "tau.extensions"
OWN_PROVIDERS = ("native", "tau-plugins")
MAX_ENTRIES = 200
FIELDS = ("requires", "activation", "isolation")
_KINDS: tuple[tuple[Any, SourceKind], ...] = (
    ("extension-modules", "extension"),
    ("tools", "tool"),
    ("hooks", "hook"),
)


ORDER: tuple[Origin, ...] = ("user", "plugin", "settings", "package", "project", "flag", "program")
"""The user's own code comes first: it may refuse the project's."""


class SourceList:
    """Sources in load order, each real file once; `problems` are (path, sentence)."""

    def __init__(self, cwd: Path, disabled: Sequence[str]) -> None:
        self.sources: list[ExtensionSource] = []
        self.problems: list[tuple[Path, str]] = []
        self._cwd = cwd
        self._disabled = frozenset(disabled)
        self._seen: set[str] = set()

    def add_discovered(self, registry: CapabilityRegistry) -> None:
        """What the folders of tau have: the user's, the project's if it is trusted, and those of plugins."""
        for kind, source_kind in _KINDS:
            for item in registry.items(kind):
                if item.source is None or item.source.provider not in OWN_PROVIDERS:
                    continue
                path = item.source.path
                if source_kind == "hook" and path.parent.name != "hooks":
                    continue
                origin: Origin = "plugin" if item.source.provider == "tau-plugins" else "user"
                level: Origin = "project" if item.level == "project" else origin
                self.add(path, level, source_kind, quiet=True, plugin=item.source.plugin)

    def add_plugins(self, registry: CapabilityRegistry) -> None:
        """Plugins that are Python packages themselves."""
        for item in plugin_modules(registry):
            if item.state == "active" and item.source is not None:
                package, plugin = item.path.parent, item.source.plugin
                source = ExtensionSource(item.name, item.path, "plugin", package=package, plugin=plugin)
                self._append(described(source, item.fields))
            elif item.state == "invalid" and item.trusted:
                self.problems.append((item.path, item.why))

    def add_given(self, names: Iterable[str], origin: Origin, kind: SourceKind = "extension") -> None:
        """Paths that the user wrote: relative to the folder, with `~`. Raises UsageError."""
        for name in names:
            path = typed_path(name)
            path = path if path.is_absolute() else self._cwd / path
            if not path.exists():
                if origin == "flag":
                    raise UsageError(f'There is no extension at "{name}".')
                self.problems.append((path, f'The setting extensions names "{name}", which does not exist.'))
                continue
            self.add(path, origin, kind)

    def add(
        self,
        path: Path,
        origin: Origin,
        kind: SourceKind = "extension",
        *,
        quiet: bool = False,
        plugin: Path | None = None,
    ) -> None:
        """A file, or a folder with several. `quiet`: other files may be there too."""
        try:
            found = list(_sources(path, origin, kind))
        except (OSError, ExtensionError, ValueError) as error:
            self.problems.append((path, str(error)))
            return
        if not found and not quiet:
            self.problems.append((path, "It has no Python extension."))
        for source in found:
            self._append(replace(source, plugin=plugin))

    def add_packages(self, paths: Paths) -> None:
        """The entry points `tau.extensions` of installed packages."""
        own = os.path.realpath(paths.home / "python" / "site-packages")
        if own not in sys.path and Path(own).is_dir():
            sys.path.append(own)  # last: nothing there replaces what tau uses
        for name, module in entry_points(paths.cache / "entry_points.json"):
            file = find_module(module)
            if file is None:
                self.problems.append(
                    (Path(module), f'The entry point "{name}" names {module}, which is not there.')
                )
                continue
            package = file.parent if file.name == "__init__.py" else None
            self._append(described(ExtensionSource(name, file, "package", package=package)))

    def _append(self, source: ExtensionSource) -> None:
        real = os.path.realpath(source.file)
        kind, _, name = source.id.partition(":")
        if real in self._seen or {source.id, f"{kind}s:{name}"} & self._disabled:
            return
        self._seen.add(real)
        self.sources.append(source)
        self.sources.sort(key=lambda one: ORDER.index(one.origin))


def _sources(path: Path, origin: Origin, kind: SourceKind) -> Iterator[ExtensionSource]:
    if path.is_file():
        if path.suffix == ".py":
            yield described(ExtensionSource(path.stem, path, origin, kind))
        return
    own = list(_package(path, origin, kind))
    if own:
        yield from own
        return
    for entry in sorted(path.iterdir())[:MAX_ENTRIES]:
        if entry.name.startswith((".", "_")):
            continue
        if entry.is_dir():
            yield from _package(entry, origin, kind)
        elif entry.suffix == ".py":
            yield described(ExtensionSource(entry.stem, entry, origin, kind))


def plugin_modules(registry: CapabilityRegistry) -> Iterator[Item]:
    """What the pyproject.toml of a plugin names, or its `__init__.py`; nothing that discovery has found."""
    known = {os.path.realpath(item.path) for item in registry.all("extension-modules")}
    for root in [one for one in registry.roots() if one.provider.id == "tau-plugins"]:
        folder, trusted = Path(root.path), root.level != "project" or registry.options.trusted
        source = Source(root.provider.id, folder, root.level, folder)
        item = Item(kind="extension-modules", name=folder.name, source=source, trusted=trusted)
        try:
            real = Path(os.path.realpath(folder / "pyproject.toml"))
            if not trusted and not real.is_relative_to(os.path.realpath(registry.root)):
                raise ExtensionError("It links to a place outside the project.", source=str(folder))
            for name, file, table in _package_files(folder):
                if not known & {os.path.realpath(file), os.path.realpath(file.parent)}:
                    place = replace(source, path=file)
                    yield registry.judge(replace(item, name=name, source=place, fields=table))
        except (OSError, ExtensionError, ValueError) as error:
            yield replace(item, state="invalid", why=str(error))


def _package(folder: Path, origin: Origin, kind: SourceKind) -> Iterator[ExtensionSource]:
    for name, file, table in _package_files(folder):
        yield described(ExtensionSource(name, file, origin, kind, package=file.parent), table)


def _package_files(folder: Path) -> Iterator[tuple[str, Path, dict[str, Any]]]:
    """What pyproject.toml names, or else `__init__.py`."""
    table = project_table(folder)
    named = table.get("extensions")
    if isinstance(named, list):
        for name in dict.fromkeys(map(str, named)):
            file = Path(os.path.realpath(folder / name))
            file = file / "__init__.py" if file.is_dir() else file
            if not file.is_relative_to(os.path.realpath(folder)) or not file.is_file():
                raise ExtensionError(
                    f'pyproject.toml names "{name}", which is not in the folder.', source=str(folder)
                )
            yield folder.name if len(named) == 1 else f"{folder.name}/{file.stem}", file, table
    elif (file := folder / "__init__.py").is_file():
        yield folder.name, file, table


def project_table(folder: Path) -> dict[str, Any]:
    """`[tool.tau]` of a folder's pyproject.toml, with `requires` from the project's dependencies."""
    file = folder / "pyproject.toml"
    if not file.is_file():
        return {}
    try:
        if file.stat().st_size > MIB:
            raise ExtensionError("pyproject.toml is too large.", source=str(folder))
        content = tomllib.loads(file.read_text(encoding="utf-8"))
        tool, project = (msgspec.convert(content.get(key, {}), dict[str, Any]) for key in ("tool", "project"))
        table = msgspec.convert(tool.get("tau", {}), dict[str, Any])
        listed = msgspec.convert(project.get("dependencies", []), list[str])
    except (ValueError, RecursionError) as error:
        raise ExtensionError(f"pyproject.toml cannot be read: {error}", source=str(folder)) from error
    needed = [one for one in listed if one.replace("_", "-").startswith("tau-agent")]
    return {**({"requires": needed[0]} if needed else {}), **table}


def described(source: ExtensionSource, table: dict[str, Any] | None = None) -> ExtensionSource:
    """With what the code says about itself before it runs: `requires`, `activation`, `isolation`."""
    fields = dict(table or {})
    text = source.file.read_text(encoding="utf-8", errors="replace")
    if any(name in text for name in FIELDS):
        fields |= constants(text)
    return replace(
        source,
        requires=str(fields.get("requires") or ""),
        activation=tuple(map(str, fields.get("activation") or ())),
        isolation=str(fields.get("isolation") or ""),
    )


def constants(text: str) -> dict[str, Any]:
    """The module-level constants with these names, read without running anything."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}  # the import says where
    found = {}
    for node in body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if name in FIELDS:
                with suppress(ValueError):
                    found[name] = ast.literal_eval(value)
    return found


def find_module(name: str) -> Path | None:
    """The file of an installed module, without importing its parents."""
    inner = name.replace(".", "/")
    for folder in sys.path:
        for candidate in (f"{inner}.py", f"{inner}/__init__.py"):
            if (path := Path(folder or ".", candidate)).is_file():
                return path
    return None


def entry_points(cache: Path) -> list[tuple[str, str]]:
    """Name and module of each entry point, from a cache that holds as long as no package is installed."""
    folders = [
        folder
        for folder in sys.path
        if folder.endswith(("site-packages", "dist-packages")) or ".tau" in folder
    ]
    stamps = {folder: modified_ns(Path(folder)) for folder in folders}
    try:
        known = msgspec.json.decode(cache.read_bytes(), type=dict[str, tuple[int, list[tuple[str, str]]]])
    except (OSError, msgspec.DecodeError):
        known = {}
    changed = [one for one in folders if one not in known or known[one][0] != stamps[one]]
    if changed:
        known = {folder: known[folder] for folder in folders if folder not in changed}
        known |= {folder: (stamps[folder], _read_entry_points(folder)) for folder in changed}
        try:
            write_atomic(cache, msgspec.json.encode(known))
        except OSError as error:
            log.warning("The cache of entry points cannot be written.", error)
    return [row for folder in folders for row in known[folder][1]]


def _read_entry_points(folder: str) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    try:
        names = [entry.path for entry in os.scandir(folder) if entry.name.endswith(".dist-info")]
    except OSError:
        return []
    for name in sorted(names):
        try:
            text = Path(name, "entry_points.txt").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        _, found, rest = text.partition(f"[{GROUP}]\n")
        for line in rest.splitlines() if found else ():
            if line.startswith("["):
                break
            key, equals, value = line.partition("=")
            if equals:
                rows.append((key.strip(), value.partition(":")[0].partition("[")[0].strip()))
    return rows
