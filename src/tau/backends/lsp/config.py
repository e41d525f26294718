"""Which language servers a folder has: the table, `lsp.json` files, markers and programs."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, json

from tau.backends.lsp import TABLE
from tau.config.paths import Paths
from tau.config.program_files import (
    DefinitionKind,
    has_marker,
    installed_program,
    local_program,
    merge_definitions,
    names_in,
    project_root,
    stamps_of,
)


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
    asks_settings: bool = False  # it asks for them at its start; told too, it would begin again
    disabled: bool = False
    warmup_timeout_ms: int = 30_000
    is_linter: bool = False
    prints_json: bool = False  # it is no server: it prints what it found in one file
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


KIND = DefinitionKind(
    "server",
    "lsp",
    "servers",
    ServerSpec,
    frozenset({"disabled", "fileTypes", "rootMarkers", "isLinter"}),
)


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


def find_servers(cwd: Path, paths: Paths, environ: Mapping[str, str], *, trusted: bool) -> FoundServers:
    """Reads files and looks for programs: call it in a thread. Starts nothing."""
    stamps = stamps_of(KIND.names, cwd, paths)
    problems: list[str] = []
    merged = merge_definitions(KIND, _table()["servers"], cwd, paths, problems, idle_ms=900_000.0)
    named = merged.named
    root = project_root(cwd)
    names = names_in(dict.fromkeys((cwd, root)))
    usable: list[ServerSpec] = []
    missing: list[tuple[ServerSpec, str]] = []
    for name, own in merged.fields.items():
        try:
            spec = msgspec.convert({**own, "name": name}, ServerSpec)
        except msgspec.ValidationError as error:
            problems.append(f"{own.get('origin')}: the server {name} is not valid: {error}")
            continue
        fits = has_marker(spec.root_markers, names, (cwd, root)) if spec.root_markers else name in named
        if spec.disabled or not fits:
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
        root,
        tuple(_best(usable, named)),
        tuple(missing),
        tuple(problems),
        max(merged.idle_ms, 0) / 1000,
        stamps,
    )


def _locate(
    spec: ServerSpec, folders: Sequence[Path], environ: Mapping[str, str], *, trusted: bool
) -> ServerSpec | str:
    """The server with its program, or why it cannot start."""
    if spec.project and not trusted:
        return f"{spec.origin} defines it: run tau trust if you trust this project"
    local = local_program(spec.command, folders)
    if local and trusted:
        found = msgspec.structs.replace(spec, program=local, project=True)
    elif program := installed_program(spec.command, spec.origin, environ):
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
