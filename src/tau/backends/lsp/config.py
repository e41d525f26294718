"""Which language servers a folder has: the table, `lsp.json` files, markers and programs."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, json

from tau.backends.lsp.markers import CONFIG_NAMES, PROJECT_FOLDERS, TABLE, folder_names
from tau.base.errors import ConfigError
from tau.base.late import late
from tau.base.programs import find_program
from tau.base.sizes import MIB
from tau.config.json_file import read_json, read_limited
from tau.config.paths import Paths

yaml12 = late("yaml12")

MAX_SERVERS = 200
MAX_FILE_BYTES = MIB


class ServerSpec(Struct, frozen=True, rename="camel", kw_only=True):
    """A row of the table, or an entry of `lsp.json`. `program` is its command's path.

    `tsserver`: it needs TypeScript's tsserver.js, or the native TypeScript that has none. `project` marks a
    server whose definition or program the project supplies.
    """

    name: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    file_types: tuple[str, ...] = ()
    root_markers: tuple[str, ...] = ()
    init_options: dict[str, Any] | None = None
    settings: dict[str, Any] = {}
    disabled: bool = False
    warmup_timeout_ms: int = 30_000
    is_linter: bool = False
    language_id: str = ""
    runs_project_code: bool = False
    tsserver: bool | None = None
    install: str = ""
    program: str = ""
    origin: str = ""
    project: bool = False

    def matches(self, path: Path) -> bool:
        return path.suffix.lower() in self.file_types or path.name in self.file_types

    @property
    def argv(self) -> list[str]:
        return [self.program or self.command, *self.args]

    def language_of(self, path: Path) -> str:
        if self.language_id:
            return self.language_id
        known = languages()
        return known.get(path.name) or known.get(path.suffix.lower()) or path.suffix[1:] or "plaintext"


class FoundServers(Struct, frozen=True):
    """`usable` can start in this folder; `missing` fits its files but not now, with a reason each."""

    root: Path
    usable: tuple[ServerSpec, ...] = ()
    missing: tuple[tuple[ServerSpec, str], ...] = ()
    problems: tuple[str, ...] = ()
    idle_s: float = 900.0
    stamps: tuple[tuple[str, int], ...] = ()  # of the files that were read


@cache
def _table() -> dict[str, Any]:
    data: dict[str, Any] = json.decode(TABLE.read_bytes())
    return data


@cache
def languages() -> Mapping[str, str]:
    """Language ids by suffix or file name."""
    return {each: language for language, names in _table()["languages"].items() for each in names}


def project_root(cwd: Path) -> Path:
    """The repository's folder, or the folder itself."""
    return next((folder for folder in (cwd, *cwd.parents) if (folder / ".git").exists()), cwd)


def config_places(cwd: Path, paths: Paths) -> Iterator[tuple[Path, bool]]:
    """The files that may define servers, the first wins; whether each belongs to the project."""
    root = project_root(cwd)
    for folder in dict.fromkeys((cwd, root)):
        for inner in ("", *PROJECT_FOLDERS):
            yield from ((folder / inner / name, True) for name in CONFIG_NAMES)
    yield from ((paths.home / name, False) for name in CONFIG_NAMES)
    home = Path.home()
    yield from ((home / name, False) for name in CONFIG_NAMES)


def stamps_of(cwd: Path, paths: Paths) -> tuple[tuple[str, int], ...]:
    found = []
    for path, _ in config_places(cwd, paths):
        try:
            found.append((str(path), path.stat().st_mtime_ns))
        except OSError:
            continue
    return tuple(found)


def find_servers(cwd: Path, paths: Paths, environ: Mapping[str, str], *, trusted: bool) -> FoundServers:
    """Reads files and looks for programs: call it in a thread. Starts nothing."""
    stamps = stamps_of(cwd, paths)
    problems: list[str] = []
    fields, named, idle_ms = _merge(cwd, paths, problems)
    root = project_root(cwd)
    names = {name for folder in {cwd, root} for name in folder_names(folder)}
    usable: list[ServerSpec] = []
    missing: list[tuple[ServerSpec, str]] = []
    for name, own in fields.items():
        try:
            spec = msgspec.convert({**own, "name": name}, ServerSpec)
        except msgspec.ValidationError as error:
            problems.append(f"{own.get('origin')}: the server {name} is not valid: {error}")
            continue
        is_named = name in named
        if spec.disabled or not _has_marker(spec.root_markers, names, (cwd, root), bare=is_named):
            continue
        if not spec.command or not spec.file_types:
            problems.append(f"{spec.origin}: the server {name} needs a command and fileTypes.")
            continue
        found = _locate(spec, (cwd, root), environ, trusted=trusted)
        if isinstance(found, str):
            missing.append((spec, found))
        else:
            usable.append(found)
    return FoundServers(
        root, tuple(_best(usable, named)), tuple(missing), tuple(problems), max(idle_ms, 0) / 1000, stamps
    )


def _merge(cwd: Path, paths: Paths, problems: list[str]) -> tuple[dict[str, dict[str, Any]], set[str], float]:
    """The table with what files change; which servers files name; the idle time."""
    fields: dict[str, dict[str, Any]] = {
        name: {**row, "origin": "tau"} for name, row in _table()["servers"].items()
    }
    named: set[str] = set()
    idle_ms = 900_000.0
    for path, is_project in reversed(list(config_places(cwd, paths))):
        text, content = _read(path, problems)
        wanted = content.get("idleTimeoutMs")
        if isinstance(wanted, int | float) and not isinstance(wanted, bool):
            idle_ms = float(wanted)
        servers = content.get("servers", {k: v for k, v in content.items() if k != "idleTimeoutMs"})
        if not isinstance(servers, dict):
            problems.append(f"{path}: servers must be an object of servers by name.")
            continue
        for name, own in list(servers.items())[:MAX_SERVERS]:
            line = text.count("\n", 0, max(text.find(f"{name}"), 0)) + 1
            origin = f"{path}:{line}"
            if not isinstance(own, dict):
                problems.append(f"{origin}: the server {name} must be an object.")
                continue
            before = fields.get(name, {})
            # A project's own command or options make the server one that the project supplies.
            supplied = is_project and bool(set(own) - {"disabled", "fileTypes", "rootMarkers", "isLinter"})
            merged = {**before, **own, "origin": origin, "project": before.get("project", False) or supplied}
            try:
                msgspec.convert({**merged, "name": name}, ServerSpec)
            except msgspec.ValidationError as error:
                problems.append(f"{origin}: the server {name} is not valid: {error}")
                continue
            fields[name] = merged
            named.add(name)
    return fields, named, idle_ms


def _read(path: Path, problems: list[str]) -> tuple[str, dict[str, Any]]:
    try:
        if not path.exists():
            return "", {}
        if path.suffix == ".json":
            file = read_json(path)
            return file.data.decode("utf-8", "replace"), file.content
        text = read_limited(path, MAX_FILE_BYTES).decode("utf-8", "replace")
        content: Any = yaml12.parse_yaml(text)
    except ConfigError as error:
        problems.append(str(error))
        return "", {}
    except Exception as error:  # what the YAML parser raises
        problems.append(f"{path}: {error}")
        return "", {}
    return text, content if isinstance(content, dict) else {}


def _has_marker(markers: Sequence[str], names: Set[str], folders: Sequence[Path], *, bare: bool) -> bool:
    if not markers:
        return bare
    for marker in markers:
        if "*" in marker:
            if any(fnmatchcase(name, marker) for name in names):
                return True
        elif marker in names or ("/" in marker and any((folder / marker).exists() for folder in folders)):
            return True
    return False


def _locate(
    spec: ServerSpec, folders: Sequence[Path], environ: Mapping[str, str], *, trusted: bool
) -> ServerSpec | str:
    """The server with its program, or why it cannot start."""
    if spec.project and not trusted:
        return f"{spec.origin} defines it: run tau trust if you trust this project"
    local = _local_program(spec.command, folders)
    if local and trusted:
        found = msgspec.structs.replace(spec, program=local, project=True)
    elif program := (find_program(spec.command, environ=environ) or _absolute(spec.command, spec)):
        found = msgspec.structs.replace(spec, program=program)
    elif local:
        return "it is in the project's own environment: run tau trust if you trust this project"
    else:
        hint = f": {spec.install}" if spec.install else ""
        return f"{spec.command} is not installed{hint}"
    if spec.runs_project_code and not trusted:
        return "it runs code of the project: run tau trust if you trust this project"
    if spec.tsserver is not None:
        has_it = _has_tsserver(found.program, folders if trusted else ())
        if spec.tsserver and not has_it:
            return "it needs TypeScript below 7, which has tsserver.js: npm install -D typescript@5"
        if not spec.tsserver and (_package_version(found.program) < 7):
            return "it needs TypeScript 7: npm install -g typescript@7"
    return found


def _local_program(command: str, folders: Sequence[Path]) -> str:
    if "/" in command:
        return ""
    for folder in dict.fromkeys(folders):
        for place in (".venv/bin", "venv/bin", "node_modules/.bin"):
            path = folder / place / command
            if path.is_file() and os.access(path, os.X_OK):
                return str(path)
    return ""


def _absolute(command: str, spec: ServerSpec) -> str:
    path = Path(command).expanduser()
    if not path.is_absolute() and "/" in command and spec.origin != "tau":
        path = Path(spec.origin.rpartition(":")[0]).parent / path
    return str(path) if path.is_absolute() and path.is_file() and os.access(path, os.X_OK) else ""


def _typescript(program: str) -> Path | None:
    """The package `typescript` that a program would use."""
    for folder in Path(os.path.realpath(program)).parents:
        if folder.name == "typescript" and (folder / "package.json").is_file():
            return folder
        if (folder / "node_modules/typescript/package.json").is_file():
            return folder / "node_modules/typescript"
        if folder.name == "node_modules" and (folder / "typescript/package.json").is_file():
            return folder / "typescript"
    return None


def _has_tsserver(program: str, folders: Sequence[Path]) -> bool:
    packages = [folder / "node_modules/typescript" for folder in folders]
    if (own := _typescript(program)) is not None:
        packages.append(own)
    found = [package for package in packages if (package / "package.json").is_file()]
    return bool(found) and (found[0] / "lib/tsserver.js").is_file()


def _package_version(program: str) -> int:
    package = _typescript(program)
    try:
        content = json.decode((package / "package.json").read_bytes()) if package else {}
        return int(re.match(r"\d+", str(content.get("version", "0")))[0])  # type: ignore[index]
    except (OSError, ValueError, TypeError, AttributeError):
        return 0


def _best(usable: Sequence[ServerSpec], named: set[str]) -> Iterator[ServerSpec]:
    """Of the table's servers for a language the first one, and all linters; of files, all."""
    taken: set[str] = set()
    wanted = [spec for spec in usable if spec.name in named and not spec.is_linter]
    for spec in wanted:
        taken |= set(spec.file_types)
    for spec in usable:
        if spec.name in named or spec.is_linter:
            yield spec
        elif not set(spec.file_types) <= taken:
            taken |= set(spec.file_types)
            yield spec
