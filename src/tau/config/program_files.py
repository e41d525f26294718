"""Files in which users and projects define programs that tau starts: `lsp.json`, `dap.json` and the like."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tau.base.errors import ConfigError
from tau.base.late import late
from tau.base.programs import find_program
from tau.base.sizes import MIB
from tau.config.json_file import read_json, read_limited
from tau.config.paths import Paths
from tau.config.program_markers import PROJECT_FOLDERS, definition_names, folder_names, plugin_folders

yaml12 = late("yaml12")

LOCAL_FOLDERS = (".venv/bin", "venv/bin", "node_modules/.bin")
MAX_DEFINITIONS = 200
MAX_FILE_BYTES = MIB


class DefinitionKind(Struct, frozen=True):
    """What the files define: their names, the key of the definitions, and what each one decodes to.

    A project's file that sets more than the `harmless` fields supplies the program.
    """

    noun: str
    stem: str
    key: str
    spec: Any
    harmless: frozenset[str]

    @property
    def names(self) -> tuple[str, ...]:
        return definition_names(self.stem)


class Definitions(Struct, frozen=True):
    """The merged fields by name, the names that files define, and the idle time that they set."""

    fields: dict[str, dict[str, Any]]
    named: set[str]
    idle_ms: float


def project_root(cwd: Path) -> Path:
    """The repository's folder, or the folder itself."""
    return next((folder for folder in (cwd, *cwd.parents) if (folder / ".git").exists()), cwd)


def config_places(names: Sequence[str], cwd: Path, paths: Paths) -> Iterator[tuple[Path, bool]]:
    """The files that define programs, the first wins; whether each belongs to the project."""
    root = project_root(cwd)
    projects = [
        folder / inner
        for folder in dict.fromkeys((cwd, root))
        for inner in ("", *PROJECT_FOLDERS)
        if os.path.lexists(f"{folder}/{inner}")
    ]
    own = (paths.home, *plugin_folders(paths), Path.home())
    places = [*((place, True) for place in projects), *((place, False) for place in own)]
    for place, is_project in places:
        for name in names:
            if os.path.lexists(f"{place}/{name}"):
                yield place / name, is_project


def stamps_of(names: Sequence[str], cwd: Path, paths: Paths) -> tuple[tuple[str, int], ...]:
    found = []
    for path, _ in config_places(names, cwd, paths):
        try:
            found.append((str(path), path.stat().st_mtime_ns))
        except OSError:
            continue
    return tuple(found)


def merge_definitions(
    kind: DefinitionKind,
    table: Mapping[str, Mapping[str, Any]],
    cwd: Path,
    paths: Paths,
    problems: list[str],
    *,
    idle_ms: float,
) -> Definitions:
    """The table with what files change. Bad entries are reported with file and line."""
    fields: dict[str, dict[str, Any]] = {name: {**row, "origin": "tau"} for name, row in table.items()}
    named: set[str] = set()
    for path, is_project in reversed(list(config_places(kind.names, cwd, paths))):
        text, content = _read(path, problems)
        wanted = content.get("idleTimeoutMs")
        if isinstance(wanted, int | float) and not isinstance(wanted, bool):
            idle_ms = float(wanted)
        rows = content.get(kind.key, {k: v for k, v in content.items() if k != "idleTimeoutMs"})
        if not isinstance(rows, dict):
            problems.append(f"{path}: {kind.key} must be an object of {kind.noun}s by name.")
            continue
        for name, own in list(rows.items())[:MAX_DEFINITIONS]:
            line = text.count("\n", 0, max(text.find(f"{name}"), 0)) + 1
            origin = f"{path}:{line}"
            if not isinstance(own, dict):
                problems.append(f"{origin}: the {kind.noun} {name} must be an object.")
                continue
            if isinstance(
                languages := own.get("extensionToLanguage"), dict
            ):  # as plugins of Claude Code write it
                own = {**own, "fileTypes": list(languages)}
                own |= {"languageId": next(iter(languages.values()))} if len(languages) == 1 else {}
                own["command"] = str(own.get("command")).replace("${CLAUDE_PLUGIN_ROOT}", str(path.parent))
            before = fields.get(name, {})
            supplied = is_project and bool(set(own) - kind.harmless)
            merged = {**before, **own, "origin": origin, "project": before.get("project", False) or supplied}
            try:
                msgspec.convert({**merged, "name": name}, kind.spec)
            except msgspec.ValidationError as error:
                problems.append(f"{origin}: the {kind.noun} {name} is not valid: {error}")
                continue
            fields[name] = merged
            named.add(name)
    return Definitions(fields, named, idle_ms)


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


def names_in(folders: Iterable[Path]) -> frozenset[str]:
    """The names of what is in these folders, to compare with markers."""
    return frozenset(name for folder in folders for name in folder_names(folder))


def has_marker(markers: Sequence[str], names: frozenset[str], folders: Sequence[Path]) -> bool:
    for marker in markers:
        if marker.startswith("*.") and "*" not in marker[1:]:  # all of the table: no expression to compile
            if any(name.endswith(marker[1:]) for name in names):
                return True
        elif "*" in marker:
            if any(fnmatchcase(name, marker) for name in names):
                return True
        elif marker in names or ("/" in marker and any((folder / marker).exists() for folder in folders)):
            return True
    return False


def local_program(command: str, folders: Sequence[Path]) -> str:
    """A program in the project's own environment."""
    if "/" in command:
        return ""
    for folder in dict.fromkeys(folders):
        for place in LOCAL_FOLDERS:
            path = f"{folder}/{place}/{command}"
            if os.access(path, os.X_OK) and os.path.isfile(path):  # noqa: PTH113
                return path
    return ""


def installed_program(command: str, origin: str, environ: Mapping[str, str]) -> str:
    """A program on the path, or one that a file names by its path."""
    if found := find_program(command, environ=environ):
        return found
    path = Path(command).expanduser()
    if not path.is_absolute() and "/" in command and origin != "tau":
        path = Path(origin.rpartition(":")[0]).parent / path
    return str(path) if path.is_absolute() and path.is_file() and os.access(path, os.X_OK) else ""
