"""Commands that user and project have written as files: prompts in Markdown, skills with their folders."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from tau.base.errors import ConfigError
from tau.base.files import mode_of, open_at_once, typed_path
from tau.base.sizes import KIB, format_bytes
from tau.base.text import clean_line, shortened
from tau.config.paths import PROJECT_FOLDER, Paths, project_folders

Origin = Literal["user", "project"]
Warn = Callable[[str], None]

MAX_FILE_BYTES = 128 * KIB
MAX_FILES = 500
MAX_DEPTH = 3
"""Folders within a folder of commands."""
NAME_CHARS = 64
DESCRIPTION_CHARS = 300
SKILL_FILE = "SKILL.md"
SKILL_PREFIX = "skill:"
PROJECT_PREFIX = "project:"
_CLAUDE_FOLDER = ".claude"
_FENCE = "---"


class CommandFile(Struct, frozen=True, kw_only=True):
    """One command, by the name that is typed behind the slash."""

    name: str
    path: Path
    origin: Origin
    description: str = ""
    hint: str = ""
    """What to type behind the name."""
    mark: tuple[int, int] = (0, 0)
    """Time of change and size: as long as they stay, the file need not be read again."""

    @property
    def is_skill(self) -> bool:
        return self.name.removeprefix(PROJECT_PREFIX).startswith(SKILL_PREFIX)

    def read(self) -> str:
        """The prompt as it is now, without the front matter. Raises ConfigError."""
        return parse(_read(self.path), self.path).body


class ParsedCommandFile(NamedTuple):
    """A file in its parts: the fields of its front matter, and what stands behind that."""

    fields: dict[str, str]
    body: str


def find_command_files(
    cwd: Path, paths: Paths, warn: Warn | None = None, known: Iterable[CommandFile] = ()
) -> list[CommandFile]:
    """The user's own commands first, then those of the project from `cwd` up to the repository's root.

    The first one of a name has it. One of the project that comes second is `project:NAME`, so that no
    repository can put its text in the place of the user's. What cannot be used is told to `warn`. What is
    in `known` and has not changed since is not read again.
    """
    say = warn or (lambda message: None)
    search = _Search(say, {file.path: file for file in known})
    home = typed_path("~")
    own = (paths.home, home / _CLAUDE_FOLDER)
    for folder in own:
        search.look_in(folder, "user", None)
    root = None
    for project in (folders := list(project_folders(cwd))):
        root = root or folders[-1].resolve()
        for name in (PROJECT_FOLDER, _CLAUDE_FOLDER):
            folder = project / name
            if not _is_any_of(folder, (*own, paths.home.parent, home / PROJECT_FOLDER)):
                search.look_in(folder, "project", root)
    return list(search.found.values())


class _Search:
    def __init__(self, warn: Warn, known: dict[Path, CommandFile]) -> None:
        self.found: dict[str, CommandFile] = {}
        self._warn = warn
        self._known = known
        self._count = 0

    def look_in(self, folder: Path, origin: Origin, root: Path | None) -> None:
        """`root`: what leads out of it is left out, so that no repository can have us fetch other files."""
        for kind in ("commands", "prompts"):
            for path in _markdown_files(folder / kind, self._warn):
                names = path.relative_to(folder / kind).with_suffix("").parts
                self._take(path, ":".join(names), origin, root)
        for path in _skill_files(folder / "skills", self._warn):
            self._take(path, f"{SKILL_PREFIX}{path.parent.name}", origin, root)

    def _take(self, path: Path, name: str, origin: Origin, root: Path | None) -> None:
        self._count += 1
        if self._count > MAX_FILES:
            if self._count == MAX_FILES + 1:
                self._warn(f"There are more than {MAX_FILES} command files; {path} and others are left out.")
            return
        try:
            if root is not None and not path.resolve().is_relative_to(root):
                raise ConfigError(f"It leads to {path.resolve()}, outside the project.", path=path)
            file = self._file(path, name, origin)
        except ConfigError as error:
            self._warn(f"{error} It is left out.")
            return
        if file.name not in self.found:
            self.found[file.name] = file
        elif origin == "project" and self.found[file.name].origin == "user":
            second = replace(file, name=f"{PROJECT_PREFIX}{file.name}")
            self.found.setdefault(second.name, second)

    def _file(self, path: Path, name: str, origin: Origin) -> CommandFile:
        mark = _mark(path)
        known = self._known.get(path)
        if known is not None and known.mark == mark and known.origin == origin:
            return replace(known, name=known.name.removeprefix(PROJECT_PREFIX))
        fields, body = parse(_read(path), path)
        is_skill = name.startswith(SKILL_PREFIX)
        if is_skill and fields.get("name"):
            name = f"{SKILL_PREFIX}{fields['name']}"
        _check_name(name, path)
        if not body.strip():
            raise ConfigError("There is no text in it.", path=path)
        description = fields.get("description") or ("" if is_skill else _first_line(body))
        return CommandFile(
            name=name,
            path=path,
            origin=origin,
            description=shortened(clean_line(description), DESCRIPTION_CHARS),
            hint=shortened(clean_line(fields.get("argument-hint", "")), DESCRIPTION_CHARS),
            mark=mark,
        )


def parse(text: str, path: Path) -> ParsedCommandFile:
    """Front matter is `name: value` lines between two lines of three dashes. Raises ConfigError.

    A value may be quoted, or stand indented below its name (`>` and `|`); anything else in it is passed over.
    """
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != _FENCE:
        return ParsedCommandFile({}, text.strip())
    end = next((at for at in range(1, len(lines)) if lines[at].rstrip() == _FENCE), None)
    if end is None:
        raise ConfigError("Its front matter has no end: a line of three dashes.", path=path, line=1)
    fields: dict[str, str] = {}
    key = ""
    for line in lines[1:end]:
        name, colon, value = line.partition(":")
        if line[:1] in (" ", "\t"):
            if key:
                fields[key] = f"{fields[key]} {line.strip()}".strip()
        elif colon and name.strip() and not line.startswith("#"):
            key = name.strip().lower()
            fields[key] = _unquoted(value.strip())
    return ParsedCommandFile(fields, "\n".join(lines[end + 1 :]).strip())


def _unquoted(value: str) -> str:
    if value in (">", "|", ">-", "|-", ">+", "|+"):
        return ""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value


def _markdown_files(folder: Path, warn: Warn, depth: int = 0) -> Iterator[Path]:
    """By name, those of a folder before those of the folders in it; what is hidden is passed over."""
    entries = _entries(folder, warn)
    yield from (path for path in entries if path.suffix.lower() == ".md")
    if depth < MAX_DEPTH:
        for path in entries:
            if not path.suffix and stat.S_ISDIR(mode_of(path)) and not path.is_symlink():
                yield from _markdown_files(path, warn, depth + 1)


def _skill_files(folder: Path, warn: Warn) -> Iterator[Path]:
    for path in _entries(folder, warn):
        if mode_of(path / SKILL_FILE):
            yield path / SKILL_FILE


def _entries(folder: Path, warn: Warn) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return sorted(Path(entry.path) for entry in entries if not entry.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        warn(f"{folder} cannot be looked at: {error.strerror or error}.")
        return []


def _read(path: Path) -> str:
    try:
        with open(path, "rb", opener=open_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ConfigError("It is not a file.", path=path)
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"It cannot be read: {error.strerror or error}.", path=path) from error
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(f"It is larger than {format_bytes(MAX_FILE_BYTES)}.", path=path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError("It is not UTF-8 text.", path=path) from None
    if "\0" in text:
        raise ConfigError("It is not UTF-8 text.", path=path)
    return text


def _mark(path: Path) -> tuple[int, int]:
    try:
        info = path.stat()
    except OSError as error:
        raise ConfigError(f"It cannot be read: {error.strerror or error}.", path=path) from error
    return info.st_mtime_ns, info.st_size


def _check_name(name: str, path: Path) -> None:
    """A name is typed behind a slash: letters, digits and a few signs, and not too many of them."""
    if len(name) > NAME_CHARS:
        raise ConfigError(f"Its name is longer than {NAME_CHARS} characters.", path=path)
    if not name or not all(letter.isalnum() or letter in "-_.:" for letter in name):
        message = f'"{clean_line(name)}" cannot be the name of a command: use letters, digits, "-" and "_".'
        raise ConfigError(message, path=path)


def _first_line(body: str) -> str:
    """The first words of a prompt that describes itself nowhere else."""
    lines = (line.strip().lstrip("#>*- ") for line in body.splitlines())
    return next((line for line in lines if line), "")


def _is_any_of(folder: Path, others: Iterable[Path]) -> bool:
    try:
        return any(folder.samefile(other) for other in others if other.exists())
    except OSError:
        return False
