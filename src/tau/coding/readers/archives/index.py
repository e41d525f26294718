"""The index of an archive: entries by path, folder listings, and limits."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Literal

from msgspec import Struct

from tau.base.errors import ToolError
from tau.base.sizes import MIB, format_bytes
from tau.base.text import clean_line
from tau.base.threads import ThreadStopped

MAX_NAME_CHARS = 4_000  # of a new entry; no system can unpack longer paths
MemberKind = Literal["file", "folder", "symlink", "hardlink", "device"]


class ArchiveLimits(Struct, frozen=True, kw_only=True):
    """`ratio` is the maximum compression ratio for content above `ratio_from_bytes`."""

    archive_bytes: int = 256 * MIB
    entry_bytes: int = 64 * MIB
    entries: int = 100_000
    unpacked_bytes: int = 1024 * MIB
    rewritten_bytes: int = 256 * MIB
    ratio: int = 200
    ratio_from_bytes: int = 16 * MIB

    def check_unpacking(self, what: str, unpacked: int, packed: int) -> None:
        """Raise ToolError if the ratio is that of an archive bomb."""
        if unpacked > self.ratio_from_bytes and unpacked > self.ratio * max(packed, 1):
            raise ToolError(
                f"{what} unpacks to more than {self.ratio} times its packed size "
                f"({format_bytes(packed)}), like an archive bomb; it was not unpacked."
            )


class ArchiveMember(Struct, frozen=True, kw_only=True):
    """`path` is `/`-separated, without `.` or `..`; `position` is the index among all entries."""

    path: str
    position: int
    kind: MemberKind
    size: int = 0
    target: str = ""
    encrypted: bool = False


class ArchiveIndex(Struct, frozen=True):
    """Entries by path; the last duplicate wins. `left_out` are names that point outside."""

    entries: dict[str, ArchiveMember]
    left_out: list[str]
    remark: str = ""


def make_index(
    entries: Iterable[tuple[str, ArchiveMember]], limits: ArchiveLimits, remark: str = ""
) -> ArchiveIndex:
    """Index the entries, each given with its raw name. Raises ToolError if there are too many."""
    kept: dict[str, ArchiveMember] = {}
    left_out: list[str] = []
    for count, (name, entry) in enumerate(entries):
        if count >= limits.entries:
            raise too_many(limits)
        if entry.path:
            kept[entry.path] = entry
        elif is_unsafe(name):
            left_out.append(name)
    return ArchiveIndex(kept, left_out, remark)


def too_many(limits: ArchiveLimits) -> ToolError:
    return ToolError(
        f"The archive has more than {limits.entries:,} entries, which is the limit; use unzip -l or tar -t."
    )


def is_unsafe(name: str) -> bool:
    """Whether a name escapes the folder that an archive is unpacked to, or is invalid."""
    path = name.replace("\\", "/")
    return (
        "\0" in name or path.startswith("/") or bool(re.match("[A-Za-z]:/", path)) or ".." in path.split("/")
    )


def member_path(name: str) -> str:
    """Return the path of an entry; empty for the root and for names that point outside."""
    return "" if is_unsafe(name) else _normalize(name)


def asked_path(text: str, *, writing: bool = False) -> str:
    """Normalize a requested path inside an archive; empty for its root. Raises ToolError."""
    path = text.replace("\\", "/")
    if "\0" in text:
        raise ToolError("The path inside the archive contains a NUL character.")
    if len(text) > MAX_NAME_CHARS and writing:
        raise ToolError(
            f"The path inside the archive has more than {MAX_NAME_CHARS:,} characters; shorten it."
        )
    if re.search("[\ud800-\udfff]", text):
        raise ToolError("The path inside the archive contains a lone surrogate, which no name can have.")
    if ".." in path.split("/"):
        raise ToolError("A path inside an archive cannot contain '..'.")
    if path.startswith("/") or re.match("[A-Za-z]:" if writing else "[A-Za-z]:(?:/|$)", path):
        raise ToolError(f"A path inside an archive is relative to its root; write it without {path[:3]!r}.")
    if writing and not _normalize(path):
        raise ToolError("Name a file inside the archive, as in archive.zip:folder/file.txt.")
    if writing and path.endswith("/"):
        raise ToolError(f"{path} is a directory; an archive write must name a file.")
    return _normalize(path)


def children(index: ArchiveIndex, folder: str) -> list[str] | None:
    """List the direct children of a folder, sorted; None if there is no such folder."""
    prefix = f"{folder}/" if folder else ""
    found: dict[str, ArchiveMember | None] = {}
    for path, entry in index.entries.items():
        if path.startswith(prefix):
            name, _, below = path[len(prefix) :].partition("/")
            if below or entry.kind == "folder":
                found[name] = None
            else:
                found.setdefault(name, entry)
    known = not folder or found or (folder in index.entries and index.entries[folder].kind == "folder")
    if not known:
        return None
    return [_row(name, entry) for name, entry in sorted(found.items(), key=lambda item: _order(item[0]))]


def refuse_write(index: ArchiveIndex, path: str) -> None:
    """Raise ToolError if writing the file would conflict with other entries."""
    old = index.entries.get(path)
    if old is not None and old.kind not in ("file", "folder"):
        raise ToolError(f"{path} is a link or a device in the archive; it was not replaced by a file.")
    if old is not None and old.encrypted:
        raise ToolError(f"{path} is encrypted in the archive; it was not replaced by a file that is not.")
    if children(index, path) is not None:
        raise ToolError(f"{path} is a directory in the archive; name a file inside it.")
    parts = path.split("/")
    for count in range(1, len(parts)):
        above = index.entries.get("/".join(parts[:count]))
        if above is not None and above.kind != "folder":
            raise ToolError(f"{above.path} is not a directory in the archive; cannot write into it.")


@contextmanager
def explain_parse_errors(what: str) -> Iterator[None]:
    """Turn any parser failure on untrusted bytes into a one-sentence ToolError."""
    try:
        yield
    except (ToolError, ThreadStopped):
        raise
    except RecursionError as error:
        raise ToolError(f"{what} is damaged: its headers are nested endlessly.") from error
    except Exception as error:
        reason = clean_line(str(error)) or type(error).__name__
        raise ToolError(f"{what} is damaged or not what its name says: {reason[:200]}.") from error


def _normalize(path: str) -> str:
    return "/".join(part for part in path.replace("\\", "/").split("/") if part not in ("", "."))


def _row(name: str, entry: ArchiveMember | None) -> str:
    name = clean_line(name)
    if entry is None:
        return f"{name}/"
    if entry.kind in ("symlink", "hardlink"):
        kind = "symbolic link" if entry.kind == "symlink" else "hard link"
        return f"{name} -> {clean_line(entry.target)} ({kind})" if entry.target else f"{name} ({kind})"
    if entry.kind == "device":
        return f"{name} (device)"
    size = format_bytes(entry.size) if entry.size else ""
    remarks = ", ".join(part for part in (size, "encrypted" if entry.encrypted else "") if part)
    return f"{name} ({remarks})" if remarks else name


def _order(name: str) -> tuple[str, str]:
    return name.casefold(), name
