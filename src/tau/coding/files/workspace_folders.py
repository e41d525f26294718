"""The folders of a session: where it works, and those that the user adds, at the start or later."""

from collections.abc import Callable, Iterable
from pathlib import Path

from tau.base.errors import UsageError
from tau.coding.files.paths import real

FoldersChanged = Callable[[tuple[Path, ...]], None]


class WorkspaceFolders:
    """The first is the working folder. `on_change` gets all of them when one is added."""

    def __init__(self, cwd: Path, added: Iterable[Path] = ()) -> None:
        self._all = tuple(dict.fromkeys((cwd, *added)))
        self._listeners: list[FoldersChanged] = []

    @property
    def all(self) -> tuple[Path, ...]:
        return self._all

    @property
    def added(self) -> tuple[Path, ...]:
        return self._all[1:]

    def on_change(self, listener: FoldersChanged) -> None:
        self._listeners.append(listener)

    def add(self, folder: Path) -> bool:
        """False if it belongs to the workspace already. Raises UsageError if it is not a folder."""
        if not folder.is_dir():
            raise UsageError(f'"{folder}" is not a folder.')
        if any(real(folder).is_relative_to(real(each)) for each in self._all):
            return False
        self._all = (*self._all, folder)
        for listener in self._listeners:
            listener(self._all)
        return True
