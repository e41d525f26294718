"""The repositories in which commands are watched; one that cannot be asked is told and left out."""

import os
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TypeAlias

from tau.base.run import Runner
from tau.coding.undo.repository import DirtyFile, GitUnavailable, Repository, find_root

MAX_REPOSITORIES = 16

Found: TypeAlias = tuple[Repository, DirtyFile]


class Repositories:
    """`folder` is where copies of their indexes are kept."""

    def __init__(self, folder: Callable[[], Path], run: Runner, tell: Callable[[str], None]) -> None:
        self._folder = folder
        self._run = run
        self._tell = tell
        self._known: dict[Path, Repository] = {}
        self._silent: set[Path] = set()  # those that could not be asked
        self._looked_at: set[str] = set()  # folders whose repository is known

    @property
    def roots(self) -> list[Path]:
        return list(self._known)

    def find(self, folders: Iterable[Path], read: Collection[str]) -> list[Path]:
        """Those of the folders, and of folders in which tau has read; which of them are new.

        Submodules come with what names them.
        """
        known = set(self._known)
        places = [Path(os.path.realpath(folder)) for folder in folders]
        places += [Path(place) for place in sorted(set(read) - self._looked_at)]
        self._looked_at.update(read)
        for place in places:
            root = find_root(place)
            if root is not None:
                self._add(root)
        return [root for root in self._known if root not in known]

    def remember(self, roots: Iterable[Path] | None = None) -> None:
        """Compare with the files as they are tracked now."""
        for root in self.roots if roots is None else roots:
            try:
                self._known[root].remember()
            except (OSError, GitUnavailable) as error:
                self.give_up(root, error)

    def recall(self, roots: Iterable[Path]) -> None:
        """Go on with what an earlier process remembered."""
        for root in roots:
            self._known[root] = repository = Repository(root, self._folder(), self._run)
            repository.recall()

    async def changed(self, only: Collection[Path] | None = None) -> dict[str, Found]:
        """The files that are not as they were tracked, by path."""
        found: dict[str, Found] = {}
        for root, repository in list(self._known.items()):
            if only is not None and root not in only:
                continue
            try:
                for entry in await repository.changed():
                    found[f"{repository.root}/{entry.name}"] = (repository, entry)
            except GitUnavailable as error:
                self.give_up(root, error)
        return found

    def give_up(self, root: Path, error: Exception) -> None:
        self._known.pop(root, None)
        self._silent.add(root)
        reason = getattr(error, "strerror", None) or error
        self._tell(
            f"The repository {root} cannot be watched, because {reason}: what commands change in it can be "
            "undone only for files that tau has read or changed."
        )

    def _add(self, root: Path) -> None:
        if root in self._known or root in self._silent:
            return
        if len(self._known) >= MAX_REPOSITORIES:
            self._tell(
                f"Commands are watched in {MAX_REPOSITORIES} repositories at most; what they change in "
                "others can be undone only for files that tau has read."
            )
            return
        self._known[root] = repository = Repository(root, self._folder(), self._run)
        for path in repository.submodules():
            self._add(path)
