"""A task that was made for a container, run with its folders over this machine's files."""

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from tau.base.errors import TauError
from tau.base.files import make_private
from tau.base.text import clean_line

TESTS, SOLUTION, LOGS = "/tests", "/solution", "/logs"
REWARD_FOLDER = f"{LOGS}/verifier"
_HELD = ("proc", "dev", "sys")  # as they are, or nothing inside could have a sandbox


class TaskContainer(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """What a task expects of its container. `copies` are paths here and there; `run` are shell commands.

    `tests` and `solution` are paths here, each with its name in /tests or /solution.
    """

    workdir: str = "/app"
    copies: list[tuple[str, str]] = []
    env: dict[str, str] = {}
    run: list[str] = []
    tests: list[tuple[str, str]] = []
    solution: list[tuple[str, str]] = []
    check_minutes: float | None = None
    unsupported: str = ""  # why it cannot run without a container engine


class ContainerRoot:
    """The folders of a container below `folder`, and the command line that mounts them at their places."""

    def __init__(self, container: TaskContainer, folder: Path) -> None:
        self._container = container
        self._folder = folder / "root"

    def problem(self) -> str:
        """Why the task cannot run here."""
        if self._container.unsupported:
            return self._container.unsupported
        if shutil.which("bwrap") is None:
            return "Its folders can only be mounted with bubblewrap, which is not installed."
        for top in self.tops:
            if top not in (TESTS, SOLUTION, LOGS, "/app") and Path(top).exists():
                return f"It uses {top}, which belongs to this machine."
        return ""

    @property
    def tops(self) -> list[str]:
        """The folders of / that belong to the task."""
        named = [self._container.workdir, *(place for _, place in self._container.copies), LOGS]
        used = [os.path.normpath(f"/{one.lstrip('/')}") for one in named]
        return list(dict.fromkeys("/" + PurePosixPath(one).parts[1] for one in used if one != "/"))

    @property
    def commands(self) -> list[str]:
        return self._container.run

    def make(self) -> None:
        """Create the folders and copy what the task brings."""
        for name in (*self.tops, self._container.workdir, f"{LOGS}/agent", REWARD_FOLDER):
            make_private(self.path(name))
        for source, place in self._container.copies:
            _copy(Path(source), self.path(place))

    def path(self, inside: str) -> Path:
        """Where a path of the container is here. Raises TauError for one that a link leads out of it."""
        place = self._folder / os.path.normpath(f"/{inside}").lstrip("/")
        if not Path(os.path.realpath(place.parent)).is_relative_to(os.path.realpath(self._folder)):
            raise TauError(f'The path "{clean_line(inside)}" leads out of the container.')
        return place

    def place_tests(self) -> None:
        """For the check: fresh tests, and no reward but the one that it writes."""
        _empty(self.path(REWARD_FOLDER))
        _place(self._container.tests, self.path(TESTS))

    def place_solution(self) -> None:
        _place(self._container.solution, self.path(SOLUTION))

    def argv(self, *more: str) -> list[str]:
        """What to put before a command; `more` are folders to mount read-only."""
        words = ["bwrap", "--die-with-parent", "--tmpfs", "/"]
        for name in _HELD:
            words += ["--dev-bind", f"/{name}", f"/{name}"]
        words += _machine({*self.tops, *more})
        for top in self.tops:
            words += ["--bind", str(self.path(top)), top]
        for top in more:
            words += ["--ro-bind", str(self.path(top)), top]
        return [*words, "--remount-ro", "/", "--chdir", self._container.workdir, "--"]


def _machine(own: set[str]) -> Iterator[str]:
    """Everything in / of this machine, as it is."""
    for entry in sorted(os.scandir("/"), key=lambda one: one.name):
        if entry.path in own or entry.name in _HELD:
            continue
        if entry.is_symlink():
            yield from ("--symlink", os.readlink(entry.path), entry.path)  # noqa: PTH115
        else:
            yield from ("--bind", entry.path, entry.path)


def _empty(folder: Path) -> None:
    """Make it an empty folder, whatever the agent has put there."""
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    shutil.rmtree(folder, ignore_errors=True)
    make_private(folder)


def _place(files: Sequence[tuple[str, str]], folder: Path) -> None:
    _empty(folder)
    for source, name in files:
        _copy(Path(source), folder / os.path.normpath(f"/{name}").lstrip("/"))


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True, symlinks=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
