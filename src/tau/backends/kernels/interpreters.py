"""Chooses the interpreter and environment for a project's cells."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tau.backends.kernels.cells import KernelError
from tau.backends.kernels.kernel import KernelLaunch
from tau.base.files import typed_path

FOLDER = Path(__file__).parent
ENVIRONMENTS = (".venv", "venv")
NO_NODE = "JavaScript cells need Node.js 18 or newer; install it, or use Python."
# No pager, no prompts, no colors, no windows: nobody is at a terminal.
QUIET = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "MPLBACKEND": "Agg",
}


def python_launch(
    cwd: Path, wanted: str | None = None, environ: Mapping[str, str] = os.environ
) -> KernelLaunch:
    """Launch with the project's Python. Raises KernelError if the configured one is missing."""
    program = find_python(cwd, wanted, environ)
    env = dict(QUIET)
    home = Path(program).parent.parent
    if (home / "pyvenv.cfg").is_file():
        env["VIRTUAL_ENV"] = str(home)
        env["PATH"] = os.pathsep.join(filter(None, (str(Path(program).parent), environ.get("PATH", ""))))
    return KernelLaunch(language="python", argv=[program, str(FOLDER / "guest" / "main.py")], env=env)


def node_launch(wanted: str | None = None, environ: Mapping[str, str] = os.environ) -> KernelLaunch:
    """Raises KernelError if node is not installed."""
    program = shutil.which(wanted or "node", path=environ.get("PATH"))
    if program is None:
        raise KernelError(NO_NODE)
    argv = [program, "--experimental-import-meta-resolve", "--no-warnings", str(FOLDER / "node" / "main.mjs")]
    return KernelLaunch(language="js", argv=argv, env=QUIET)


def find_python(cwd: Path, wanted: str | None = None, environ: Mapping[str, str] = os.environ) -> str:
    """Find the configured interpreter, the project's environment, the active one, python3, or our own."""
    if wanted:
        typed = typed_path(wanted)
        found = shutil.which(str(cwd / typed) if len(typed.parts) > 1 else wanted, path=environ.get("PATH"))
        if found is None:
            raise KernelError(
                f'python.interpreter is "{wanted}", which is not a program; fix or remove the setting.'
            )
        return found
    for place in _environments(cwd, environ):
        program = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        if os.access(program, os.X_OK) and not program.is_dir():
            return str(program)
    return shutil.which("python3", path=environ.get("PATH")) or sys.executable


def _environments(cwd: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """The project's environments, nearest first, then the active one."""
    for folder in _project_folders(cwd):
        for name in ENVIRONMENTS:
            yield folder / name
    if active := environ.get("VIRTUAL_ENV"):
        yield Path(active)


def _project_folders(cwd: Path) -> list[Path]:
    """From `cwd` up to the root of its repository; outside a repository, only `cwd`."""
    folders = [cwd, *cwd.parents]
    for index, folder in enumerate(folders):
        if (folder / ".git").exists():
            return folders[: index + 1]
    return [cwd]
