"""Finds the programs that tau itself starts: never one that the workspace supplies.

An activated environment in the working folder is on the search path, and commands in the sandbox can write
there: what they leave under the name of one of our programs must not run outside.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path


class _Avoided:
    """The folders of the workspace, for the whole process."""

    folders: tuple[str, ...] = ()


def avoid_folders(folders: Iterable[Path]) -> None:
    """From now on, find no program in these folders, nor in the repositories that they are in."""
    roots = (_repository(os.path.realpath(folder)) for folder in folders)
    _Avoided.folders = tuple(dict.fromkeys((*_Avoided.folders, *roots)))


def search_path(
    avoid: Path | None = None, environ: Mapping[str, str] = os.environ, program: str = ""
) -> Iterator[str]:
    """The folders of PATH, without relative ones and those inside the workspace or `avoid`.

    With `program`, only those that have it: to find out where the others really are takes longest.

    A relative folder, such as `node_modules/.bin`, means whatever the current folder contains. Folders in a
    workspace that contains the home folder come last: the user's own programs are there, and a command may
    have added one with the name of another.
    """
    home = os.path.realpath(environ.get("HOME") or "/")
    workspace = {*_Avoided.folders, *_current_folder()}
    avoided = [folder for folder in workspace if not _is_in(home, (folder,))]
    if avoid is not None:
        avoided.append(str(avoid))
    last: list[str] = []
    for folder in os.get_exec_path(environ):
        if program and not os.access(f"{folder}/{program}", os.X_OK):
            continue
        if not folder.startswith("/") or _is_in(place := os.path.realpath(folder), avoided):
            continue
        if _is_in(place, workspace):
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
    for folder in search_path(avoid, environ, name):
        path = f"{folder}/{name}"
        if os.path.isfile(path):  # noqa: PTH113
            return path
    return None


def _current_folder() -> list[str]:
    try:
        return [_repository(os.path.realpath(os.getcwd()))]  # noqa: PTH109 - a string
    except FileNotFoundError:
        return []


def _repository(folder: str) -> str:
    """The nearest folder above that has a `.git`, else the folder itself."""
    each = folder
    while not os.path.lexists(f"{each.rstrip('/')}/.git"):
        above = os.path.dirname(each)  # noqa: PTH120 - a string
        if above == each:
            return folder
        each = above
    return each


def _is_in(place: str, folders: Iterable[str]) -> bool:
    """Whether a real path is one of these folders, or below one."""
    return any(place == folder or place.startswith(f"{folder.rstrip('/')}/") for folder in folders)
