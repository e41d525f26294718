"""Finds the programs that tau itself starts: never one that the workspace supplies.

An activated environment in the working folder is on the search path, and commands in the sandbox can write
there: what they leave under the name of one of our programs must not run outside.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path


class _Avoided:
    """The folders of the workspace, for the whole process."""

    folders: tuple[Path, ...] = ()


def avoid_folders(folders: Iterable[Path]) -> None:
    """From now on, find no program in these folders, nor in the repositories that they are in."""
    roots = (_repository(Path(os.path.realpath(folder))) for folder in folders)
    _Avoided.folders = tuple(dict.fromkeys((*_Avoided.folders, *roots)))


def search_path(avoid: Path | None = None, environ: Mapping[str, str] = os.environ) -> Iterator[str]:
    """The folders of PATH, without relative ones and those inside the workspace or `avoid`.

    A relative folder, such as `node_modules/.bin`, means whatever the current folder contains. Folders in a
    workspace that contains the home folder come last: the user's own programs are there, and a command may
    have added one with the name of another.
    """
    home = Path(os.path.realpath(environ.get("HOME") or "/"))
    workspace = {*_Avoided.folders, *_current_folder()}
    avoided = {folder for folder in workspace if not home.is_relative_to(folder)} | (
        {avoid} if avoid else set()
    )
    last: list[str] = []
    for folder in os.get_exec_path(environ):
        place = Path(os.path.realpath(folder))
        if not folder.startswith("/") or any(place.is_relative_to(each) for each in avoided):
            continue
        if any(place.is_relative_to(each) for each in workspace):
            last.append(folder)
        else:
            yield folder
    yield from last


def safe_path() -> str:
    """PATH for a program that runs outside the sandbox, and for what it starts."""
    return os.pathsep.join(search_path())


def find_program(
    name: str, *, avoid: Path | None = None, environ: Mapping[str, str] = os.environ
) -> str | None:
    """The absolute path of a program on the search path, or None."""
    for folder in search_path(avoid, environ):
        path = f"{folder}/{name}"
        if os.access(path, os.X_OK) and Path(path).is_file():
            return path
    return None


def _current_folder() -> list[Path]:
    try:
        return [_repository(Path(os.path.realpath(os.getcwd())))]  # noqa: PTH109 - a string
    except FileNotFoundError:
        return []


def _repository(folder: Path) -> Path:
    """The nearest folder above that has a `.git`, else the folder itself."""
    return next((each for each in (folder, *folder.parents) if os.path.lexists(each / ".git")), folder)
