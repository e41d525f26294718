"""The files that a plain command would surely change, if nothing kept it from doing so."""

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from tau.coding.shell.plain_commands import PlainCommand

_Find: TypeAlias = Callable[["_Operands"], Iterator[Path]]
_SED_FAILED_TO_WRITE = 4
_CONFIG_KEY = r"[A-Za-z][A-Za-z0-9-]*(\..+)?\.[A-Za-z][A-Za-z0-9-]*"


class _Operands:
    """The words of a command whose options are all in `known`; others make it unknown what it does."""

    def __init__(self, command: PlainCommand, code: int | None, known: str, hidden: Sequence[Path]) -> None:
        self.command = command
        self.code = code
        self.hidden = hidden
        self.options = ""
        self.words: list[str] = []
        self.is_known = True
        words = iter(command.words[1:])
        for word in words:
            if word == "--":
                self.words += words
            elif word.startswith("-") and len(word) > 1:
                self.options += word[1:]
                self.is_known = self.is_known and set(word[1:]) <= set(known)
            else:
                self.words.append(word)

    def has(self, letters: str) -> bool:
        return any(letter in self.options for letter in letters)

    def paths(self, first: int = 0) -> list[Path]:
        return [self.command.path(word) for word in self.words[first:]]

    def exists(self, path: Path) -> bool:
        """Whether it is there, and can be seen inside the sandbox too."""
        return os.path.lexists(path) and not any(
            path == place or place in path.parents for place in self.hidden
        )


def find_writes(command: PlainCommand, code: int | None, hidden: Sequence[Path]) -> Iterator[Path]:
    """Yield the files it writes to, in order, that we could write to ourselves."""
    for text in command.writes:
        path = command.path(text)
        if _can_write(path):
            yield _target(path)
        elif not str(path).startswith("/dev/"):
            return  # it fails for another reason, and nothing else happens
    known, find = _PROGRAMS.get(command.name, ("", None))
    if find is not None:
        operands = _Operands(command, code, known, hidden)
        if operands.is_known:
            yield from find(operands)


def _target(path: Path) -> Path:
    """Where a write ends up: at the end of a link."""
    return Path(os.path.realpath(path))


def _can_write(path: Path) -> bool:
    """Whether the file could be written, or made."""
    if os.path.lexists(path):
        return path.is_file() and os.access(path, os.W_OK) and _can_change(_target(path).parent)
    return _can_change(path.parent)


def _can_change(folder: Path) -> bool:
    """What the kernel only shows as files follows its own rules."""
    if folder.parts[1:2] in (("proc",), ("sys",), ("dev",)):
        return False
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


def _touch(given: _Operands) -> Iterator[Path]:
    for path in given.paths():
        if not _can_write(path) or (given.has("c") and not os.path.lexists(path)):
            return
        yield _target(path)


def _mkdir(given: _Operands) -> Iterator[Path]:
    for path in given.paths():
        if os.path.lexists(path):
            return
        above = path.parent
        while given.has("p") and not above.exists():
            path, above = above, above.parent
        if not _can_change(above):
            return
        yield path


def _rmdir(given: _Operands) -> Iterator[Path]:
    for path in given.paths():
        if not given.exists(path) or not path.is_dir() or any(path.iterdir()):
            return
        if not _can_change(path.parent):
            return
        yield path


def _rm(given: _Operands) -> Iterator[Path]:
    for path in given.paths():
        is_folder = path.is_dir() and not path.is_symlink()
        if not given.exists(path) or not _can_change(path.parent) or (is_folder and not given.has("rR")):
            return
        yield path


def _copy(given: _Operands) -> Iterator[Path]:
    for source, target in _pairs(given):
        if not os.access(source, os.R_OK) or (source.is_dir() and not given.has("rRa")):
            return
        if os.path.lexists(target) and (source.is_dir() or os.path.realpath(source) == str(_target(target))):
            return
        if not _can_write(target):
            return
        yield _target(target)


def _move(given: _Operands) -> Iterator[Path]:
    for source, target in _pairs(given):
        if target.is_dir() or not _can_change(source.parent) or not _can_change(target.parent):
            return
        yield target
        yield source


def _link(given: _Operands) -> Iterator[Path]:
    for source, target in _pairs(given, exists=not given.has("s")):
        if (os.path.lexists(target) and not given.has("f")) or not _can_change(target.parent):
            return
        if not given.has("s") and (source.is_dir() or source.stat().st_dev != target.parent.stat().st_dev):
            return
        yield target


def _pairs(given: _Operands, *, exists: bool = True) -> Iterator[tuple[Path, Path]]:
    """Each source with its place in the target."""
    *sources, target = given.paths() or [Path()]
    if not sources or (len(sources) > 1 and not target.is_dir()):
        return
    for source in sources:
        if exists and not given.exists(source):
            return
        yield source, target / source.name if target.is_dir() else target


def _tee(given: _Operands) -> Iterator[Path]:
    for path in given.paths():
        if not _can_write(path):
            return
        yield _target(path)


def _chmod(given: _Operands) -> Iterator[Path]:
    if not given.words or not re.fullmatch(r"[0-7]{3,4}|[ugoa]*[-+=][rwxX]+", given.words[0]):
        return
    for path in given.paths(1):
        if not given.exists(path) or not path.exists() or not _is_ours(path):
            return
        yield _target(path)


def _is_ours(path: Path) -> bool:
    return os.geteuid() in (0, path.stat().st_uid)


def _dd(given: _Operands) -> Iterator[Path]:
    values = dict(word.split("=", 1) for word in given.words if "=" in word)
    source = given.command.path(values.get("if", ""))
    if (
        len(values) != len(given.words)
        or "of" not in values
        or not set(values) <= {"if", "of", "bs", "count"}
    ):
        return
    numbers = [values[name] for name in ("bs", "count") if name in values]
    if not all(re.fullmatch(r"[1-9]\d*[kKMG]?", number) for number in numbers):
        return
    if "if" in values and not (given.exists(source) and os.access(source, os.R_OK)):
        return
    path = given.command.path(values["of"])
    if _can_write(path):
        yield _target(path)


def _sed(given: _Operands) -> Iterator[Path]:
    if given.code != _SED_FAILED_TO_WRITE or not given.has("i"):
        return
    for path in given.paths(1):
        if given.exists(path) and path.is_file() and _can_change(path.parent):
            yield path
            return


def _git(given: _Operands) -> Iterator[Path]:
    """Only a change of one setting, which fails if its file cannot be replaced."""
    words = list(given.command.words[1:])
    if not words or words.pop(0) != "config" or not given.code:
        return
    is_global = words[:1] == ["--global"]
    words = words[1:] if is_global else words
    if len(words) != 2 or not re.fullmatch(_CONFIG_KEY, words[0]):
        return
    folders = (given.command.cwd, *given.command.cwd.parents)
    local = next((folder / ".git" / "config" for folder in folders if (folder / ".git").is_dir()), None)
    path = Path.home() / ".gitconfig" if is_global else local
    if path is None or not _can_change(path.parent):
        return
    if path.exists() and not (stat.S_ISREG(path.stat().st_mode) and os.access(path, os.W_OK)):
        return
    yield _target(path)


# Options after which a program still does what we think.
_PROGRAMS: dict[str, tuple[str, _Find]] = {
    "touch": ("acm", _touch),
    "mkdir": ("pv", _mkdir),
    "rmdir": ("v", _rmdir),
    "rm": ("rRfvd", _rm),
    "cp": ("rRapfv", _copy),
    "mv": ("fv", _move),
    "ln": ("sfv", _link),
    "tee": ("a", _tee),
    "chmod": ("Rv", _chmod),
    "dd": ("", _dd),
    "sed": ("inEr", _sed),
    "git": ("globalpush-", _git),
}
