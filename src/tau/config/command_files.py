"""Slash commands from user and project files: Markdown prompts, and skills with their folders."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from tau.base.errors import ConfigError
from tau.base.files import mode_of, typed_path
from tau.base.sizes import KIB
from tau.base.text import clean_line, shortened
from tau.config.json_file import read_limited
from tau.config.paths import PROJECT_FOLDER, Paths, project_folders

Origin = Literal["user", "project"]
Warn = Callable[[str], None]

MAX_FILE_BYTES = 128 * KIB
MAX_FILES = 500
MAX_DEPTH = 3
"""Maximum depth of folders within a command folder."""
NAME_CHARS = 64
DESCRIPTION_CHARS = 300
SKILL_FILE = "SKILL.md"
SKILL_PREFIX = "skill:"
PROJECT_PREFIX = "project:"
_CLAUDE_FOLDER = ".claude"
_FENCE = "---"


class CommandFile(Struct, frozen=True, kw_only=True):
    """One command; `name` is what follows the slash."""

    name: str
    path: Path
    origin: Origin
    description: str = ""
    hint: str = ""
    """The arguments to type after the name."""
    mark: tuple[int, int] = (0, 0)
    """Modification time and size: while they match, the file is not read again."""

    @property
    def is_skill(self) -> bool:
        return self.name.removeprefix(PROJECT_PREFIX).startswith(SKILL_PREFIX)

    def read(self) -> str:
        """Read the current prompt, without front matter. Raises ConfigError."""
        return parse_command_file(_read(self.path), self.path).body


class ParsedCommandFile(NamedTuple):
    """The front matter fields and the body."""

    fields: dict[str, str]
    body: str


def find_command_files(
    cwd: Path, paths: Paths, warn: Warn | None = None, known: Iterable[CommandFile] = ()
) -> list[CommandFile]:
    """Find the user's commands, then the project's from `cwd` up to the repository root.

    The first command with a name gets it. A project command with the name of a user command becomes
    `project:NAME`, so a repository cannot override the user's text. Unusable files are reported to `warn`.
    Unchanged files in `known` are not read again.
    """
    say = warn or (lambda message: None)
    search = _Search(say, {file.path: file for file in known})
    home = typed_path("~")
    own = (paths.home, home / _CLAUDE_FOLDER)
    for folder in own:
        search.scan_folder(folder, "user", None)
    root = None
    for project in (folders := list(project_folders(cwd))):
        root = root or folders[-1].resolve()
        for name in (PROJECT_FOLDER, _CLAUDE_FOLDER):
            folder = project / name
            if not _is_any_of(folder, (*own, paths.home.parent, home / PROJECT_FOLDER)):
                search.scan_folder(folder, "project", root)
    return list(search.found.values())


class _Search(Struct):
    warn: Warn
    known: dict[Path, CommandFile]
    found: dict[str, CommandFile] = {}
    _count: int = 0

    def scan_folder(self, folder: Path, origin: Origin, root: Path | None) -> None:
        """Skip links that leave `root`, so a repository cannot make us read other files."""
        for kind in ("commands", "prompts"):
            for path in _markdown_files(folder / kind, self.warn):
                names = path.relative_to(folder / kind).with_suffix("").parts
                self._take(path, ":".join(names), origin, root)
        for path in _skill_files(folder / "skills", self.warn):
            self._take(path, f"{SKILL_PREFIX}{path.parent.name}", origin, root)

    def _take(self, path: Path, name: str, origin: Origin, root: Path | None) -> None:
        self._count += 1
        if self._count > MAX_FILES:
            if self._count == MAX_FILES + 1:
                self.warn(f"There are more than {MAX_FILES} command files; skipped {path} and others.")
            return
        try:
            if root is not None and not path.resolve().is_relative_to(root):
                raise ConfigError(f"It links to {path.resolve()}, outside the project.", path=path)
            file = self._file(path, name, origin)
        except ConfigError as error:
            self.warn(f"{error} Skipped.")
            return
        if file.name not in self.found:
            self.found[file.name] = file
        elif origin == "project" and self.found[file.name].origin == "user":
            second = replace(file, name=f"{PROJECT_PREFIX}{file.name}")
            self.found.setdefault(second.name, second)

    def _file(self, path: Path, name: str, origin: Origin) -> CommandFile:
        mark = _fingerprint(path)
        known = self.known.get(path)
        if known is not None and known.mark == mark and known.origin == origin:
            return replace(known, name=known.name.removeprefix(PROJECT_PREFIX))
        fields, body = parse_command_file(_read(path), path)
        is_skill = name.startswith(SKILL_PREFIX)
        if is_skill and fields.get("name"):
            name = f"{SKILL_PREFIX}{fields['name']}"
        _check_name(name, path)
        if not body.strip():
            raise ConfigError("The file is empty.", path=path)
        description = fields.get("description") or ("" if is_skill else _first_line(body))
        return CommandFile(
            name=name,
            path=path,
            origin=origin,
            description=shortened(clean_line(description), DESCRIPTION_CHARS),
            hint=shortened(clean_line(fields.get("argument-hint", "")), DESCRIPTION_CHARS),
            mark=mark,
        )


def parse_command_file(text: str, path: Path) -> ParsedCommandFile:
    """Front matter is `name: value` lines between two lines of three dashes. Raises ConfigError.

    A value may be quoted, or indented below its name (`>` and `|`); anything else is ignored.
    """
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != _FENCE:
        return ParsedCommandFile({}, text.strip())
    end = next((at for at in range(1, len(lines)) if lines[at].rstrip() == _FENCE), None)
    if end is None:
        raise ConfigError("The front matter has no closing line of three dashes.", path=path, line=1)
    fields: dict[str, str] = {}
    key = ""
    for line in lines[1:end]:
        name, colon, value = line.partition(":")
        if line[:1] in (" ", "\t"):
            if key:
                fields[key] = f"{fields[key]} {line.strip()}".strip()
        elif colon and name.strip() and not line.startswith("#"):
            key = name.strip().lower()
            fields[key] = _unquote(value.strip())
    return ParsedCommandFile(fields, "\n".join(lines[end + 1 :]).strip())


def _unquote(value: str) -> str:
    if value in (">", "|", ">-", "|-", ">+", "|+"):
        return ""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value


def _markdown_files(folder: Path, warn: Warn, depth: int = 0) -> Iterator[Path]:
    """Sorted by name, a folder's files before its subfolders; hidden files are skipped."""
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
        warn(f"Cannot list {folder}: {error.strerror or error}.")
        return []


def _read(path: Path) -> str:
    try:
        text = read_limited(path, MAX_FILE_BYTES).decode("utf-8-sig")
    except FileNotFoundError as error:
        raise ConfigError(f"The file cannot be read: {error.strerror}.", path=path) from error
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ConfigError("The file is not UTF-8 text.", path=path)
    return text


def _fingerprint(path: Path) -> tuple[int, int]:
    try:
        info = path.stat()
    except OSError as error:
        raise ConfigError(f"The file cannot be read: {error.strerror or error}.", path=path) from error
    return info.st_mtime_ns, info.st_size


def _check_name(name: str, path: Path) -> None:
    """Names are typed after a slash: letters, digits and a few signs, limited in length."""
    if len(name) > NAME_CHARS:
        raise ConfigError(f"The name is longer than {NAME_CHARS} characters.", path=path)
    if not name or not all(letter.isalnum() or letter in "-_.:" for letter in name):
        message = f'"{clean_line(name)}" is not a valid command name: use letters, digits, "-" and "_".'
        raise ConfigError(message, path=path)


def _first_line(body: str) -> str:
    """The description of a prompt without one: its first line."""
    lines = (line.strip().lstrip("#>*- ") for line in body.splitlines())
    return next((line for line in lines if line), "")


def _is_any_of(folder: Path, others: Iterable[Path]) -> bool:
    try:
        return any(folder.samefile(other) for other in others if other.exists())
    except OSError:
        return False
