"""Parses a model's list of paths and globs: splits joined entries, separates globs from their base."""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from tau.base.errors import ToolError
from tau.base.late import late
from tau.coding.files.paths import Selector, resolve, split_selector, unquote
from tau.coding.files.targets import archive_of, url_scheme
from tau.coding.output import list_names
from tau.coding.search.globs import is_glob

if TYPE_CHECKING:
    from tau.agent.approved_effects import ApprovedEffects

credentials = late("tau.coding.files.credential_stores")

MAX_ENTRIES = 1000
MISSING_NAMED = 20


class PathTarget(Struct, frozen=True, kw_only=True):
    """One target. Without `glob` it is `base` itself, and everything below it if that is a folder.

    `member` is set for `bundle.zip:src/a.py`, whose `base` is the archive; `url` for an internal URL.
    """

    text: str
    base: Path
    glob: str = ""
    selector: Selector = Selector()
    url: str = ""
    member: str = ""

    @property
    def exists(self) -> bool:
        return bool(self.url) or os.path.lexists(self.base)


def entries(given: str | Sequence[str], cwd: Path, *, selectors: bool = False) -> list[PathTarget]:
    """All targets in order, without duplicates. With `selectors`, `a.py:5-9` names lines of a file.

    Accidentally joined entries are split by what exists: an existing path with a comma stays whole.
    """
    texts = [part for text in _parse_list(given) for part in _separate(text, cwd, selectors)]
    if not texts or not all(texts):
        raise ToolError("`paths` must contain non-empty paths or globs.")
    if len(texts) > MAX_ENTRIES:
        raise ToolError(
            f"`paths` has {len(texts)} entries, at most {MAX_ENTRIES} are allowed; name a folder."
        )
    found = (parse(text, cwd, selectors=selectors) for text in texts)
    return list({(entry.text, entry.selector): entry for entry in found}.values())


def read_paths(found: Iterable[PathTarget]) -> tuple[Path, ...]:
    """What a call reads that searches these targets: everything below a folder, credential stores too."""
    bases = dict.fromkeys(entry.base for entry in found if not entry.url)
    stores = (store for base in bases for store in credentials.stores_below(base))
    return tuple(dict.fromkeys((*bases, *stores)))


def check_approved(found: Iterable[PathTarget], approved: "ApprovedEffects") -> None:
    """For code that walks folders itself. Raises ToolError if one of them was not approved."""
    for entry in found:
        if not entry.url:
            approved.read(entry.base)


def parse(text: str, cwd: Path, *, selectors: bool = False) -> PathTarget:
    """Parse one entry: a URL, an archive member, or a path with or without a glob."""
    if url_scheme(text):
        url, selector = split_selector(text) if selectors else (text, Selector())
        if is_glob(url.partition("://")[2]):
            raise ToolError(f"Glob patterns are not supported for internal URLs: {url}.")
        return PathTarget(text=url, base=cwd, selector=selector, url=url)
    if os.path.lexists(whole := resolve(text, cwd)):
        return PathTarget(text=text, base=whole)
    path_text, selector = split_selector(text) if selectors else (text, Selector())
    archive = archive_of(path_text, cwd) if selectors else None
    if archive is not None and archive.rest:
        return PathTarget(text=path_text, base=archive.path, selector=selector, member=archive.rest)
    if is_glob(path_text) and not os.path.lexists(resolve(path_text, cwd)):
        base_text, glob = split_glob(path_text.replace("\\", "/"))
        return PathTarget(text=path_text, base=resolve(base_text, cwd), glob=glob, selector=selector)
    base = whole if path_text == text else resolve(path_text, cwd)
    return PathTarget(text=path_text, base=base, selector=selector)


def split_glob(text: str) -> tuple[str, str]:
    """The folder to start in and the glob below it: `src/*.py` means that folder only, `*.py` any folder."""
    parts = text.removeprefix("./").split("/")
    first = next(index for index, part in enumerate(parts) if is_glob(part))
    base, glob = "/".join(parts[:first]), "/".join(part for part in parts[first:] if part)
    if first == 0 and not glob.startswith("**/"):
        glob = f"**/{glob}"
    return base or ("." if first == 0 else "/"), glob if glob != "**" else "**/*"


def partition(found: Iterable[PathTarget]) -> tuple[list[PathTarget], list[str]]:
    """The existing targets, and the texts of missing ones. Raises ToolError if all are missing."""
    present: list[PathTarget] = []
    missing: list[str] = []
    for entry in found:
        if entry.exists:
            present.append(entry)
        else:
            missing.append(entry.text)
    if not present:
        raise ToolError(f"Path not found: {list_names(missing, MISSING_NAMED)}.")
    return present, missing


def missing_note(missing: Sequence[str]) -> str:
    return f"Skipped missing paths: {list_names(missing, MISSING_NAMED)}"


def scope_text(targets: Sequence[PathTarget], cwd: Path) -> str:
    """A short description of the searched paths."""
    return list_names([entry.text if entry.text not in ("", ".") else str(cwd) for entry in targets])


def _parse_list(given: str | Sequence[str]) -> list[str]:
    """Accept a JSON list passed as a string."""
    if not isinstance(given, str):
        return [unquote(text) for text in given]
    if given.lstrip().startswith("[") and given.rstrip().endswith("]"):
        try:
            return [unquote(text) for text in msgspec.json.decode(given, type=list[str])]
        except msgspec.MsgspecError:
            pass  # a glob such as [ab]
    return [unquote(given)]


def _separate(text: str, cwd: Path, selectors: bool) -> list[str]:
    """Split a joined entry: at commas and semicolons if any part exists, at blanks only if all do."""
    if not text or url_scheme(text) or not re.search(r"[,;\s]", text):
        return [text]
    whole = parse(text, cwd, selectors=selectors)
    if whole.exists and not re.search(r"[,;\s]", whole.glob):
        return [text]
    for separators, enough in ((",;", any), (" \t\n\r", all)):
        parts = _cut(text, separators)
        if len(parts) < 2:
            continue
        there = [parse(part, cwd, selectors=selectors).exists for part in parts]
        # A glob in the working folder always has an existing base and proves nothing.
        if enough(there) and (not whole.glob or not whole.exists or all(there)):
            return parts
    return [text]


def _cut(text: str, separators: str) -> list[str]:
    """Split outside braces and brackets; a quoted part loses its quotes."""
    parts, depth = [""], 0
    for char in text:
        depth = max(depth + (char in "{[") - (char in "}]"), 0)
        if char in separators and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return [part for part in map(unquote, parts) if part]
