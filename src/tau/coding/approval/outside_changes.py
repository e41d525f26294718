"""Decides whether a file that a command would change is outside the workspace."""

import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

from msgspec import Struct

from tau.coding.approval.shell_words import ShellWord, known_value
from tau.coding.approval.working_folders import Folders
from tau.coding.files.paths import real

MAX_ENTRIES = 10_000  # that globs may look at
MAX_REPORTED = 20  # of the matches of a glob
_HARMLESS_DEVICES = r"/dev/(?:null|zero|full|tty|stdin|stdout|stderr|fd/\d+)"


class Globber:
    """Finds what globs match, up to a limit for all of them together."""

    def __init__(self) -> None:
        self._entries = 0

    def find(self, folder: Path, pattern: str) -> list[Path] | None:
        """All files that a shell may find, or None if there are too many to look at."""
        found = [Path("/") if pattern.startswith("/") else folder]
        for part in filter(None, pattern.split("/")):
            if not re.search(r"[*?[]", part):
                found = [path / part for path in found]
            elif part == "**":
                found = [inner for path in found for inner in self._walk(path)]
            else:
                wanted = part.replace("[^", "[!")
                entries = (entry for path in found for entry in self._list(path))
                found = [entry for entry in entries if fnmatchcase(entry.name, wanted)]
                # Some shells take `.*` for the parent folder too.
                found = [entry for entry in found if entry.name != ".." or wanted[0] == "."]
            if self._entries > MAX_ENTRIES:
                return None
        return found

    def _list(self, folder: Path) -> Iterator[Path]:
        """Hidden files too: an option of the shell includes them."""
        yield folder / ".."
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._entries += 1
                    if self._entries > MAX_ENTRIES:
                        return
                    yield folder / entry.name
        except OSError:
            return

    def _walk(self, folder: Path) -> Iterator[Path]:
        pending = [folder]
        while pending and self._entries <= MAX_ENTRIES:
            path = pending.pop()
            yield path
            if path == folder or not _is_link(path):
                pending += [entry for entry in self._list(path) if entry.name != ".." and entry.is_dir()]


class Change(Struct, frozen=True):
    """A file or folder that a command would change.

    `prefix` is in front of the target in the word, as in `of=FILE`. `of_inode`: permissions, times, owners
    or attributes, which not every sandbox keeps.
    """

    action: str
    word: ShellWord
    prefix: str = ""
    of_inode: bool = False

    def find_outside(self, folders: Folders, roots: Sequence[Path], globber: Globber) -> Iterator[str]:
        """The places outside the roots where it may lead; what is written if that is not known."""
        found = _expand(self.word, self.prefix)
        if found is None or (folders is None and not found.startswith("/")):
            yield self.word.source
            return
        if "glob" not in self.word.expansions and re.fullmatch(_HARMLESS_DEVICES, found):
            return
        for folder in folders if folders is not None else (Path("/"),):
            paths: list[Path] | None = [folder / found]
            if "glob" in self.word.expansions:
                paths = globber.find(folder, found)
            if paths is None:
                yield self.word.source
                return
            places = (_outside_of(path, roots) for path in [folder / found, *paths])
            yield from islice((str(place) for place in places if place is not None), MAX_REPORTED)


def _expand(word: ShellWord, prefix: str) -> str | None:
    """The path of a word, with globs left in it; None if it is not known."""
    value = known_value(ShellWord(word.text, word.source, word.expansions - {"glob", "option-glob", "found"}))
    return value.removeprefix(prefix) if value is not None else None


def _outside_of(path: Path, roots: Sequence[Path]) -> Path | None:
    """The real path if it is outside of the roots, or if the link itself is.

    What is deleted or moved is the link; what is written is its target.
    """
    places = [real(path)]
    if path.name not in ("", "..") and _is_link(path):
        places.append(real(path.parent) / path.name)
    for place in places:
        if not any(place.is_relative_to(root) for root in roots):
            return place
    return None


def _is_link(path: Path) -> bool:
    """Unlike `Path.is_symlink`, false for a path that cannot be looked at."""
    return os.path.islink(path)  # noqa: PTH114
