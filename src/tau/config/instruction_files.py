"""Instructions for agents from the user and the project, such as AGENTS.md, and what they import."""

import codecs
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from tau.base.files import open_at_once, typed_path
from tau.base.sizes import KIB, format_bytes
from tau.base.text import clean_line, shortened
from tau.config.discovery.capabilities import Item
from tau.config.discovery.providers import PROVIDERS, file_identity
from tau.config.discovery.registry import CapabilityRegistry

MAX_FILE_BYTES = 64 * KIB
MAX_TOTAL_BYTES = 4 * MAX_FILE_BYTES
MAX_IMPORT_DEPTH = 5
MAX_IMPORTS = 100
MAX_WARNINGS = 20
MAX_NAMED_CHARS = 200
_DOCUMENTS = (".md", ".mdc", ".txt")
"""What a project may import from hidden places, and if trusted, from elsewhere: no keys, no settings."""
_PRIORITY = {provider.id: provider.priority for provider in PROVIDERS}
# Compiled when first used: few files import others.
_CODE = r"(?ms)^(?P<fence> {0,3}(?:```+|~~~+)).*?(?:^\s*(?:```+|~~~+)\s*$|\Z)|(?P<ticks>`+)[^\n]*?(?P=ticks)"
_IMPORT = r"(?<![\w`@/.])@(?P<path>(?:\\ |[^\s`,;()\[\]{}<>\"'])+)"

Warn = Callable[[str], None]


class ContextFile(Struct, frozen=True):
    path: Path
    text: str
    trusted: bool = True


def find_context_files(discovery: CapabilityRegistry, warn: Warn | None = None) -> list[ContextFile]:
    """The user's files, then those of the folders from the repository root down to the working folder.

    In a folder, those of the higher priority come last, and so do overrides and personal files: later ones
    win. Unreadable files are skipped and reported to `warn`. If the total is too long, the files of the
    outer folders are cut first.
    """
    say = warn or (lambda message: None)
    items = discovery.all("context-files")
    for item in items:
        if item.state == "invalid":
            say(f"Skipped {item.path}: {item.why[:1].lower()}{item.why[1:]}")
    used = [item for item in items if item.state == "active"]
    return ContextReader(Path(os.path.realpath(discovery.root)), say).read(used)


class ContextReader:
    """Reads files and what they import, each once, within the limits. `root` is the project's folder."""

    def __init__(self, root: Path, warn: Warn, seen: Iterable[tuple[int, int]] = ()) -> None:
        self._root = root
        self._warn = warn
        self._budget = MAX_TOTAL_BYTES
        self._seen = set(seen)
        self._texts: set[str] = set()
        self._imports = 0
        self._said: set[str] = set()

    def _say(self, message: str) -> None:
        if message not in self._said and len(self._said) <= MAX_WARNINGS:
            self._said.add(message)
            is_more = len(self._said) > MAX_WARNINGS
            self._warn("More problems of instruction files are not listed." if is_more else message)

    @property
    def seen(self) -> frozenset[tuple[int, int]]:
        """What was read: devices and inodes."""
        return frozenset(self._seen)

    def read(self, items: Sequence[Item]) -> list[ContextFile]:
        own = {item.identity for item in items}
        # What comes first gets its share of the budget first: the user's, then from the inside out.
        found: list[tuple[tuple[object, ...], list[ContextFile]]] = []
        for item in sorted(items, key=lambda item: (item.level == "project", item.rank, _place(item))):
            files = list(self._read_tree(item.path, item, own - {item.identity}, 0))
            found.append(((item.level == "project", -item.rank, _place(item)), files))
        return [file for _, files in sorted(found, key=lambda one: one[0]) for file in files]

    def _read_tree(
        self, path: Path, item: Item, own: set[tuple[int, int]], depth: int
    ) -> Iterator[ContextFile]:
        """The files that it imports, then the file. `own` are found anyway, wherever they are imported."""
        file = self._read(path, trusted=item.trusted)
        if file is None:
            return
        targets = list(self._imported(file, item)) if "@" in file.text else []
        if targets and _only_imports(file.text):
            file = None
        for target in targets:
            if file_identity(target) in own:
                continue
            if depth >= MAX_IMPORT_DEPTH or self._imports >= MAX_IMPORTS:
                limit = f"{MAX_IMPORT_DEPTH} levels" if depth >= MAX_IMPORT_DEPTH else f"{MAX_IMPORTS} files"
                self._say(f"{path} imports {_named(str(target))}: more than {limit} are not imported.")
                break
            self._imports += 1
            yield from self._read_tree(target, item, own, depth + 1)
        if file is not None:
            yield file

    def _imported(self, file: ContextFile, item: Item) -> Iterator[Path]:
        """The existing files that a text names after an @, outside of code."""
        for match in re.finditer(_IMPORT, re.sub(_CODE, "", file.text)):
            name = match["path"].replace("\\ ", " ").rstrip(".:!?*_")
            target = typed_path(name)
            if not target.is_absolute():
                target = file.path.parent / target
            if not _is_file(target):
                if name.startswith(("./", "../", "~/")) or name.endswith(".md"):
                    self._say(f"{file.path} imports {_named(name)}, which does not exist.")
                continue
            if item.level == "project" and (refusal := self._refusal(target, trusted=item.trusted)):
                self._say(f"{file.path} imports {_named(name)}; {refusal}.")
                continue
            yield target

    def _refusal(self, target: Path, *, trusted: bool) -> str:
        """Why a file of the project may not import this one; empty if it may."""
        real = Path(os.path.realpath(target))
        is_document = real.suffix.lower() in _DOCUMENTS
        if real.is_relative_to(self._root):
            is_hidden = any(part.startswith(".") for part in real.relative_to(self._root).parts)
            return "hidden files of a project are not imported" if is_hidden and not is_document else ""
        if not trusted:
            return "it is outside this repository, which you have not trusted"
        return "" if is_document else f"outside the project, only {', '.join(_DOCUMENTS)} files are imported"

    def _read(self, path: Path, *, trusted: bool) -> ContextFile | None:
        limit = min(self._budget, MAX_FILE_BYTES)
        try:
            with open(path, "rb", opener=open_at_once) as file:
                info = os.fstat(file.fileno())
                if (info.st_dev, info.st_ino) in self._seen:
                    return None
                self._seen.add((info.st_dev, info.st_ino))
                if not stat.S_ISREG(info.st_mode):
                    self._say(f"Skipped {path}: not a regular file.")
                    return None
                data = file.read(limit + 1)
            is_whole = len(data) <= limit
            text = codecs.getincrementaldecoder("utf-8")().decode(data[:limit], final=is_whole)
        except OSError as error:
            reason = "not a regular file" if isinstance(error, IsADirectoryError) else error.strerror or error
            self._say(f"Skipped {path}: {reason}.")
            return None
        except UnicodeDecodeError:
            self._say(f"Skipped {path}: not UTF-8 text.")
            return None
        if "\0" in text:
            self._say(f"Skipped {path}: not UTF-8 text.")
            return None
        text = text.removeprefix("\ufeff").strip()
        if not is_whole:
            part = f"{format_bytes(limit)} of {format_bytes(info.st_size)}"
            text += f"\n\n[{path.name} truncated: {part} shown]"
            self._say(f"{path} is too long: only {part} used.")
        if not text or (is_whole and text in self._texts):
            return None
        self._texts.add(text)
        self._budget -= min(len(text.encode()), self._budget)
        return ContextFile(path, text, trusted)


def _place(item: Item) -> tuple[bool, int]:
    """Overrides and personal files come after the others of their folder."""
    is_override = ".override." in item.path.name or ".local." in item.path.name
    provider = "" if item.source is None else item.source.provider
    return is_override, _PRIORITY.get(provider, 0)


def _named(path: str) -> str:
    return shortened(clean_line(path), MAX_NAMED_CHARS)


def _only_imports(text: str) -> bool:
    return all(re.fullmatch(_IMPORT, line.strip()) for line in text.splitlines() if line.strip())


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
