"""What is staged: files, their hunks, and what a model may see of them."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from tau.base import secrets
from tau.base.errors import TauError, UsageError
from tau.base.sizes import MIB
from tau.coding.commit.repository import CommitRepository
from tau.coding.edits.generated import LOCK_FILES

GITLINK = "160000"
MAX_BLOB_BYTES = 8 * MIB  # of a binary file that is searched for secrets
NOTHING_STAGED = "Nothing is staged. Stage changes with git add, or pass --all for all tracked files."
_PATCH = (
    "diff-index",
    "--cached",
    "-M",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--ignore-submodules=none",
)
_GENERATED = re.compile(
    r"\.(?:min\.(?:js|css)|map|snap|pb\.go|svg)$|_pb2(?:_grpc)?\.py$|(?:^|/)(?:dist|vendor)/"
)
_MARKED_GENERATED = re.compile(rb"@generated|Code generated .* DO NOT EDIT")
_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_WHITESPACE = b" \t\r\n\f\v"


class StagedHunk(Struct, frozen=True):
    """Lines `old_start` and on, of which there are `old_count`, become those of the new file; from 1."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    text: bytes


class StagedFile(Struct, frozen=True, kw_only=True):
    status: str
    path: bytes
    old_path: bytes
    old_mode: str
    new_mode: str
    old_blob: str
    new_blob: str
    patch: bytes
    hunks: tuple[StagedHunk, ...] = ()

    @property
    def name(self) -> str:
        return os.fsdecode(self.path).encode("utf-8", "replace").decode()

    @property
    def change(self) -> str:
        """One line: `modified src/a.py (+3 -1)`."""
        kind = {"A": "added", "D": "deleted", "R": "renamed", "C": "copied", "T": "type changed"}
        name = self.name
        if self.old_path != self.path:
            name = f"{self.old_path.decode('utf-8', 'replace')} -> {name}"
        size = (
            "submodule"
            if GITLINK in (self.old_mode, self.new_mode)
            else f"+{len(self.added)} -{len(self.removed)}"
        )
        return f"{kind.get(self.status, 'modified')} {name} ({'binary' if self.is_binary else size})"

    @property
    def is_binary(self) -> bool:
        return not self.hunks and b"\nBinary files " in self.patch

    @property
    def is_hidden(self) -> bool:
        """Whether a model sees only its name and size: a lock, generated or binary file."""
        name = self.name
        return (
            self.is_binary
            or PurePosixPath(name).name.lower() in LOCK_FILES
            or _GENERATED.search(name) is not None
            or _MARKED_GENERATED.search(self.patch[:4_000]) is not None
        )

    @property
    def can_split(self) -> bool:
        """Whether its hunks can go to different commits."""
        return self.status == "M" and len(self.hunks) > 1 and self.old_mode == self.new_mode

    @property
    def added(self) -> list[bytes]:
        return self._lines(b"+")

    @property
    def removed(self) -> list[bytes]:
        return self._lines(b"-")

    def _lines(self, sign: bytes) -> list[bytes]:
        return [line[1:] for hunk in self.hunks for line in hunk.text.split(b"\n")[1:] if line[:1] == sign]

    @property
    def is_whitespace_only(self) -> bool:
        return bool(self.hunks) and self.status == "M" and _squeezed(self.added) == _squeezed(self.removed)

    @property
    def is_rename_only(self) -> bool:
        return self.status == "R" and not self.hunks and not self.is_binary


class Staged(Struct, frozen=True):
    """All that is staged, and the tree it makes."""

    tree: str
    base: str
    files: tuple[StagedFile, ...]


async def read_staged(repository: CommitRepository, env: dict[str, str] | None = None) -> Staged:
    """Raises UsageError if nothing is staged, TauError if conflicts are left."""
    if await repository.git("ls-files", "-u", "-z", env=env):
        raise TauError("There are unresolved conflicts; resolve and stage them first.")
    base = await repository.base()
    tree = await repository.write_tree(env)
    raw = await repository.git(*_PATCH, "--raw", "-z", "--full-index", "--abbrev=64", base, "--", env=env)
    patch = await repository.git(*_PATCH, "-p", "-U3", "--full-index", base, "--", env=env)
    files = _parse(raw.split(b"\0"), _sections(patch))
    if not files and not repository.in_progress():
        raise UsageError(NOTHING_STAGED)
    return Staged(tree, base, tuple(files))


def _sections(patch: bytes) -> list[bytes]:
    """One text per file; a line of a hunk never starts with these words."""
    starts = [match.start() for match in re.finditer(rb"^diff --git ", patch, re.MULTILINE)]
    return [patch[start:end] for start, end in zip(starts, [*starts[1:], len(patch)], strict=False)]


def _parse(fields: Sequence[bytes], sections: list[bytes]) -> list[StagedFile]:
    files: list[StagedFile] = []
    at = taken = 0
    while at < len(fields) and fields[at]:
        old_mode, new_mode, old_blob, new_blob, status = fields[at][1:].decode().split(" ")
        kind = status[0]
        moved = kind in "RC"
        old_path, path = fields[at + 1], fields[at + 2 if moved else at + 1]
        at += 3 if moved else 2
        count = 2 if kind == "T" else 1  # a deletion and an addition
        text = b"".join(sections[taken : taken + count])
        taken += count
        files.append(
            StagedFile(
                status=kind,
                path=path,
                old_path=old_path,
                old_mode=old_mode,
                new_mode=new_mode,
                old_blob=old_blob,
                new_blob=new_blob,
                patch=text,
                hunks=tuple(_hunks(text)),
            )
        )
    if taken != len(sections):
        raise TauError("The staged changes could not be read; commit with git.")
    return files


def _hunks(text: bytes) -> list[StagedHunk]:
    matches = list(_HUNK.finditer(text))
    ends = [*(match.start() for match in matches[1:]), len(text)]
    return [
        StagedHunk(*_numbers(match), text[match.start() : end])
        for match, end in zip(matches, ends, strict=False)
    ]


def _numbers(match: "re.Match[bytes]") -> tuple[int, int, int, int]:
    old, old_count, new, new_count = (1 if part is None else int(part) for part in match.groups())
    return old, old_count, new, new_count


def _squeezed(lines: Sequence[bytes]) -> bytes:
    return b"".join(lines).translate(None, _WHITESPACE)


def apply_hunks(old: bytes, new: bytes, hunks: Sequence[StagedHunk]) -> bytes:
    """The old content with only these hunks applied."""
    before, after = _split(old), _split(new)
    pieces: list[bytes] = []
    at = 0
    for hunk in sorted(hunks, key=lambda one: one.old_start):
        start = hunk.old_start - 1 if hunk.old_count else hunk.old_start
        first = hunk.new_start - 1 if hunk.new_count else hunk.new_start
        pieces += before[at:start]
        pieces += after[first : first + hunk.new_count]
        at = start + hunk.old_count
    return b"".join([*pieces, *before[at:]])


def _split(content: bytes) -> list[bytes]:
    """Lines as git counts them."""
    lines = content.split(b"\n")
    return [*(line + b"\n" for line in lines[:-1]), *([lines[-1]] if lines[-1] else [])]


async def read_blobs(repository: CommitRepository, files: Sequence[StagedFile]) -> dict[str, bytes]:
    """The new contents that no hunk shows, by file: binary ones, and those that attributes call so."""
    found: dict[str, bytes] = {}
    for file in files:
        if file.is_binary and file.status != "D" and file.new_mode != GITLINK:
            size = await repository.line("cat-file", "-s", file.new_blob)
            if size.isdigit() and int(size) <= MAX_BLOB_BYTES:
                found[file.name] = await repository.git("cat-file", "blob", file.new_blob)
    return found


def find_secrets(files: Sequence[StagedFile], blobs: Mapping[str, bytes]) -> list[str]:
    """`FILE:LINE` of each added line that looks like a secret, or `FILE` of a blob; may take long."""
    mask = secrets.new_mask()
    known = secrets.known_secrets()
    mask.learn(known.values, known.patterns)
    found: list[str] = []
    for name, data in blobs.items():
        text = data.replace(b"\0", b"").decode("utf-8", "replace")  # ASCII in UTF-16 too
        if mask.mask(text, context=b"\0" not in data) != text:
            found.append(name)
    for file in files:
        for hunk in file.hunks:
            lines = _numbered(hunk)
            text = "\n".join(line for _, line in lines)
            if mask.mask(text) == text:
                continue
            places = [number for number, line in lines if "PRIVATE KEY-" in line or mask.mask(line) != line]
            places = places or [lines[0][0]]
            found += [f"{file.name}:{number}" for number in places]
    return found


def _numbered(hunk: StagedHunk) -> list[tuple[int, str]]:
    """The added lines and their numbers."""
    number = hunk.new_start
    lines: list[tuple[int, str]] = []
    for line in hunk.text.split(b"\n")[1:]:
        if line[:1] == b"+":
            lines.append((number, line[1:].decode("utf-8", "replace")))
        number += line[:1] in (b"+", b" ")
    return lines
