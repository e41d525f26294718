"""Chooses the debug adapter for a program, and builds what it is launched or attached with."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tau.backends.dap.config import AdapterSpec, FoundAdapters
from tau.base.errors import ToolError

NATIVE = ("gdb", "lldb-dap")
BINARY = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"MZ")  # ELF, Mach-O, PE: whatever the name, as in a.out
# The suffix that a script without one would have, by the name of its interpreter.
INTERPRETERS = {"python": ".py", "node": ".js", "ruby": ".rb", "bash": ".sh", "sh": ".sh", "php": ".php"}


def adapter_for_launch(found: FoundAdapters, name: str | None, program: Path) -> AdapterSpec:
    """By its name, else by the program's suffix, the folder's markers, or natively. Raises ToolError."""
    if name:
        return _named(found, name)
    suffix = program.suffix.lower() or _script_suffix(program)
    matching = [spec for spec in found.usable if spec.matches(Path(f"x{suffix}"))] if suffix else []
    if matching:
        return min(matching, key=lambda spec: not spec.fits)
    if program.is_file() and (not suffix or _head(program).startswith(BINARY)):
        for each in (*NATIVE, *(spec.name for spec in found.usable if spec.is_native)):
            for spec in found.usable:
                if spec.name == each:
                    return spec
    fitting = [spec for spec in found.usable if spec.fits]
    if program.is_dir() and fitting:
        return min(fitting, key=lambda spec: spec.is_native)
    raise _none(found, suffix)


def adapter_for_attach(found: FoundAdapters, name: str | None, port: int | None) -> AdapterSpec:
    """Raises ToolError."""
    if name:
        return _named(found, name)
    by_name = {spec.name: spec for spec in found.usable}
    for wanted in ("debugpy", *NATIVE) if port is not None else NATIVE:
        if wanted in by_name:
            return by_name[wanted]
    if not found.usable:
        raise _none(found, "")
    return found.usable[0]


def _named(found: FoundAdapters, name: str) -> AdapterSpec:
    for spec in found.usable:
        if spec.name == name:
            return spec
    why = next((f" ({reason})" for spec, reason in found.missing if spec.name == name), "")
    raise ToolError(f"There is no debug adapter {name!r} here{why}. {_installed(found)}")


def _none(found: FoundAdapters, suffix: str) -> ToolError:
    why = [
        f"{spec.name}: {reason}" for spec, reason in found.missing if suffix in spec.file_types or not suffix
    ]
    missing = f" Missing: {'; '.join(why[:3])}." if why else ""
    return ToolError(f"No debugger adapter available. {_installed(found)}{missing}")


def _installed(found: FoundAdapters) -> str:
    return f"Installed adapters: {', '.join(spec.name for spec in found.usable) or 'none'}."


def _head(program: Path) -> bytes:
    try:
        with program.open("rb") as file:
            return file.read(100)
    except OSError:
        return b""


def _script_suffix(program: Path) -> str:
    first = _head(program).partition(b"\n")[0].decode("utf-8", "replace")
    if not first.startswith("#!"):
        return ""
    words = [os.path.basename(word).rstrip("0123456789.") for word in first[2:].split()]  # noqa: PTH119
    return next((INTERPRETERS[word] for word in words if word in INTERPRETERS), "")


def launch_arguments(
    spec: AdapterSpec, found: FoundAdapters, program: Path, args: Sequence[str], cwd: Path, *, stops: bool
) -> dict[str, object]:
    """`stops`: before the first line, since no breakpoint is set yet."""
    names = {
        "{program}": str(program),
        "{cwd}": str(cwd),
        "{interpreter}": found.interpreter,
        "{goMode}": _go_mode(program),
    }
    own = {"name": "tau", "type": spec.adapter_id or spec.name, "request": "launch"}
    stop = spec.entry_stop if stops else dict.fromkeys(spec.entry_stop, False)
    defaults = _filled({**stop, **spec.launch_defaults}, names)
    return {**own, **defaults, "program": str(program), "args": list(args), "cwd": str(cwd)}


def attach_arguments(
    spec: AdapterSpec, cwd: Path, *, pid: int | None, host: str, port: int | None
) -> dict[str, Any]:
    """Raises ToolError if the adapter cannot attach like this."""
    wanted = spec.attach_pid if pid is not None else spec.attach_port
    if not wanted and not (spec.is_at_port and pid is None):
        raise ToolError(f"{spec.name} cannot attach to a {'process' if pid is not None else 'port'}.")
    names = {"{pid}": str(pid), "{port}": str(port), "{host}": host, "{cwd}": str(cwd)}
    own = {"name": "tau", "type": spec.adapter_id or spec.name, "request": "attach", "cwd": str(cwd)}
    return {**own, **spec.attach_defaults, **_filled(wanted, names)}


def _go_mode(program: Path) -> str:
    if program.name.endswith("_test.go"):
        return "test"
    return "debug" if program.suffix == ".go" or program.is_dir() else "exec"


def _filled(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, names) for each in value]
    if not isinstance(value, str):
        return value
    if value in ("{pid}", "{port}"):
        return int(names[value])
    for name, text in names.items():
        value = value.replace(name, text)
    return value
