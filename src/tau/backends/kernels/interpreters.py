"""Chooses the interpreter and environment for a project's cells."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tau.backends.kernels.cells import KernelError
from tau.backends.kernels.kernel import KernelLaunch
from tau.base.files import typed_path
from tau.base.programs import find_program
from tau.base.run import QUIET

FOLDER = Path(__file__).parent
ENVIRONMENTS = (".venv", "venv")
VARIABLE = "TAU_PYTHON"
NO_NODE = "JavaScript cells need Node.js 18 or newer; install it, or use Python."
KERNEL_ENV = {**QUIET, "MPLBACKEND": "Agg"}  # matplotlib must not open windows


def python_launch(
    cwd: Path, wanted: str | None = None, environ: Mapping[str, str] = os.environ
) -> KernelLaunch:
    """Launch with the project's Python. Raises KernelError if the configured one is missing."""
    program = find_python(cwd, wanted, environ)
    env = dict(KERNEL_ENV)
    home = Path(program).parent.parent
    if (home / "pyvenv.cfg").is_file():
        env["VIRTUAL_ENV"] = str(home)
        env["PATH"] = os.pathsep.join(filter(None, (str(Path(program).parent), environ.get("PATH", ""))))
    return KernelLaunch(language="python", argv=[program, str(FOLDER / "guest" / "main.py")], env=env)


def node_launch(wanted: str | None = None, environ: Mapping[str, str] = os.environ) -> KernelLaunch:
    """Raises KernelError if node is not installed."""
    program = (
        shutil.which(wanted, path=environ.get("PATH")) if wanted else find_program("node", environ=environ)
    )
    if program is None:
        raise KernelError(NO_NODE)
    argv = [program, "--experimental-import-meta-resolve", "--no-warnings", str(FOLDER / "node" / "main.mjs")]
    return KernelLaunch(language="js", argv=argv, env=KERNEL_ENV)


def find_python(cwd: Path, wanted: str | None = None, environ: Mapping[str, str] = os.environ) -> str:
    """Find the configured interpreter, the project's environment, the active one, python3, or our own.

    The variable TAU_PYTHON overrides the setting.
    """
    named_by = "python.interpreter"
    if environ.get(VARIABLE):
        named_by, wanted = VARIABLE, environ[VARIABLE]
    if wanted:
        typed = typed_path(wanted)
        interpreter = shutil.which(
            str(cwd / typed) if len(typed.parts) > 1 else wanted, path=environ.get("PATH")
        )
        if interpreter is None:
            raise KernelError(f'{named_by} is "{wanted}", which is not a program; correct it, or remove it.')
        return interpreter
    for environment in _environments(cwd, environ):
        program = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        if os.access(program, os.X_OK) and not program.is_dir():
            return str(program)
    return find_program("python3", environ=environ) or sys.executable


def _environments(cwd: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the project's environments, nearest first, then the active one."""
    for folder in _project_folders(cwd):
        for name in ENVIRONMENTS:
            yield folder / name
    if active := environ.get("VIRTUAL_ENV"):
        yield Path(active)


def _project_folders(cwd: Path) -> list[Path]:
    """Return the folders from `cwd` up to the root of its repository; only `cwd` outside a repository."""
    folders = [cwd, *cwd.parents]
    for index, folder in enumerate(folders):
        if (folder / ".git").exists():
            return folders[: index + 1]
    return [cwd]
