"""Which debug adapters a folder has: the table, `dap.json` files, markers and programs."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct, json

from tau.backends.dap import TABLE
from tau.base.programs import find_program
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
from tau.config.program_markers import folder_names

Transport = Literal["stdio", "socket", "connect", "server"]
"""Its own pipes; a Unix socket; a TCP port, for one connection or for one of each child session."""


class AdapterSpec(Struct, frozen=True, rename="camel", kw_only=True):
    """A row of the table, or an entry of `dap.json`. `program` is its command's path.

    `entry_stop`: what makes a launch stop before its first line. `module`: the Python package that its
    interpreter needs, `standalone`: a program that brings both. `data_file`: a file below the program's
    `share` folder without which it is `unusable`. `carrier`: another program that brings the adapter along
    as the file `carried`, run by `carried_by`. `is_at_port`: a program that waits at a port is the adapter
    itself. `takes_program`: what to debug is in the adapter's own arguments. `project` marks an adapter whose
    definition or program the project supplies. `fits`: the folder has one of its markers.
    """

    name: str = ""
    command: str = ""
    alternatives: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    transport: Transport = "stdio"
    adapter_id: str = ""
    file_types: tuple[str, ...] = ()
    root_markers: tuple[str, ...] = ()
    is_native: bool = False
    launch_defaults: dict[str, Any] = {}
    entry_stop: dict[str, Any] = {}
    attach_defaults: dict[str, Any] = {}
    attach_pid: dict[str, Any] = {}
    attach_port: dict[str, Any] = {}
    exception_filters: tuple[str, ...] = ()
    is_at_port: bool = False
    takes_program: bool = False
    module: str = ""
    standalone: str = ""
    data_file: str = ""
    unusable: str = ""
    carrier: str = ""
    carried: str = ""
    carried_by: str = ""
    disabled: bool = False
    install: str = ""
    program: str = ""
    origin: str = ""
    project: bool = False
    fits: bool = False

    def matches(self, program: Path) -> bool:
        return program.suffix.lower() in self.file_types


KIND = DefinitionKind(
    "debug adapter", "dap", "adapters", AdapterSpec, frozenset({"disabled", "fileTypes", "rootMarkers"})
)


class FoundAdapters(Struct, frozen=True):
    """`usable` can start; `missing` fits the folder but cannot, with a reason each."""

    root: Path
    usable: tuple[AdapterSpec, ...] = ()
    missing: tuple[tuple[AdapterSpec, str], ...] = ()
    problems: tuple[str, ...] = ()
    interpreter: str = ""  # of Python programs
    idle_s: float = 600.0
    stamps: tuple[tuple[str, int], ...] | None = None  # of the files that were read; None if not complete

    @property
    def fits(self) -> bool:
        """Whether one of them is for this folder."""
        return any(spec.fits for spec in self.usable)


def find_adapters(
    cwd: Path, paths: Paths, environ: Mapping[str, str], *, trusted: bool, fitting_only: bool = False
) -> FoundAdapters:
    """Reads files and looks for programs: call it in a thread, unless `fitting_only`. Starts nothing.

    `fitting_only`: no others, which saves the search for their programs.
    """
    stamps = None if fitting_only else stamps_of(KIND.names, cwd, paths)
    problems: list[str] = []
    table = json.decode(TABLE.read_bytes(), type=dict[str, dict[str, Any]])
    merged = merge_definitions(KIND, table, cwd, paths, problems, idle_ms=600_000.0)
    root = project_root(cwd)
    folders = tuple(dict.fromkeys((cwd, root)))
    names = names_in(folders)
    usable: list[AdapterSpec] = []
    missing: list[tuple[AdapterSpec, str]] = []
    for name, own in merged.fields.items():
        root_markers = own.get("rootMarkers", ())
        fits = has_marker(root_markers, names, folders) or (not root_markers and name in merged.named)
        if own.get("disabled") or (fitting_only and not fits):
            continue
        spec = msgspec.convert({**own, "name": name}, AdapterSpec)
        if not spec.command:
            problems.append(f"{spec.origin}: the debug adapter {name} needs a command.")
            continue
        found = _locate(msgspec.structs.replace(spec, fits=fits), folders, environ, trusted=trusted)
        if not isinstance(found, str):
            usable.append(found)
        elif fits:
            missing.append((spec, found))
    own_python = next(filter(None, (local_program(name, folders) for name in ("python", "python3"))), "")
    return FoundAdapters(
        root,
        tuple(usable),
        tuple(missing),
        tuple(problems),
        (own_python if trusted else "") or find_program("python3", environ=environ) or "python3",
        max(merged.idle_ms, 1) / 1000,
        stamps,
    )


def _locate(
    spec: AdapterSpec, folders: Sequence[Path], environ: Mapping[str, str], *, trusted: bool
) -> AdapterSpec | str:
    """The adapter with its program, or why it cannot start."""
    if spec.project and not trusted:
        return f"{spec.origin} defines it: run tau trust if you trust this project"
    commands = (spec.command, *(spec.alternatives if spec.origin == "tau" else ()))
    why = ""
    for command in commands:
        local = local_program(command, folders)
        for program in (local, installed_program(command, spec.origin, environ)):
            if not program or (problem := _problem_of(spec, program)):
                why = why or (program and problem)
                continue
            if program == local and not trusted:
                why = "it is in the project's own environment: run tau trust if you trust this project"
                continue
            return msgspec.structs.replace(spec, program=program, project=spec.project or program == local)
    own = (local_program(spec.standalone, folders) if trusted else "") if spec.standalone else ""
    if spec.standalone and (program := own or find_program(spec.standalone, environ=environ) or ""):
        return msgspec.structs.replace(spec, program=program, args=(), project=bool(own))
    if spec.carrier and (found := _carried(spec, folders if trusted else (), environ)) is not None:
        return found
    what = spec.module or spec.command
    hint = f": {spec.install}" if spec.install else ""
    return why or f"{what} is not installed{hint}"


def _problem_of(spec: AdapterSpec, program: str) -> str:
    """Why a program is not the adapter after all."""
    if spec.origin != "tau":
        return ""
    if spec.module and not _has_module(program, spec.module):
        return f"{program} has no {spec.module}: {spec.install}"
    if (
        spec.data_file
        and not (Path(os.path.realpath(program)).parents[1] / "share" / spec.data_file).is_file()
    ):
        return spec.unusable
    return ""


def _has_module(interpreter: str, module: str) -> bool:
    """Whether a Python has a package, from its folders alone: nothing is run."""
    prefixes = (Path(interpreter).parents[1], Path(os.path.realpath(interpreter)).parents[1])
    places = prefixes[:1] if (prefixes[0] / "pyvenv.cfg").is_file() else prefixes
    return any(
        os.path.isdir(f"{place}/{lib}/{version}/{packages}/{module}")  # noqa: PTH112
        for place in places
        for lib in ("lib", "local/lib")
        for version in folder_names(place / lib)
        if version.startswith("python3")
        for packages in ("site-packages", "dist-packages")
    )


def _carried(spec: AdapterSpec, folders: Sequence[Path], environ: Mapping[str, str]) -> AdapterSpec | None:
    """The adapter as a file of another program's package."""
    runner = find_program(spec.carried_by, environ=environ)
    local = local_program(spec.carrier, folders)
    carrier = local or find_program(spec.carrier, environ=environ)
    if not runner or not carrier:
        return None
    for folder in Path(os.path.realpath(carrier)).parents[:4]:
        if (file := folder / spec.carried).is_file():
            return msgspec.structs.replace(
                spec, program=runner, args=(str(file), *spec.args), project=bool(local)
            )
    return None
