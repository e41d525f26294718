"""Writes a session to a file, atomically, and never over anything but an earlier export."""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal, get_args

from tau.base.errors import UsageError
from tau.base.files import mode_of, write_all
from tau.base.secrets import SecretMask
from tau.base.sizes import KIB
from tau.coding.export import html, json, markdown, page
from tau.coding.export.exported_session import ExportedSession
from tau.coding.session.stats import UsageStats
from tau.coding.session.storage.log import SessionLog

ExportFormat = Literal["html", "markdown", "json", "pi"]
FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)

_SUFFIXES: dict[str, ExportFormat] = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
}
_WRITE_BYTES = 256 * KIB
_MARKS = (page.MARK.encode(), markdown.MARK.encode(), json.MARK)


def format_of(path: Path) -> ExportFormat | None:
    return _SUFFIXES.get(path.suffix.lower())


def exported(
    log: SessionLog, format: ExportFormat, masker: SecretMask | None, stats: UsageStats | None = None
) -> Iterator[bytes]:
    """The session in chunks. `masker.count` is correct after the last one."""
    session = ExportedSession(log, masker)
    counted = stats or UsageStats(log)
    match format:
        case "html":
            yield from _bytes(html.html_page(session, counted))
        case "markdown":
            yield from _bytes(markdown.markdown_page(session, counted))
        case "json":
            yield from json.json_document(session, counted)
        case "pi":
            yield from json.pi_document(session)


def write_export(path: Path, pieces: Iterable[bytes], *, force: bool = False) -> None:
    """Write the chunks to a file; a new one is readable only by the user.

    Raises OSError, and UsageError if the path has a file that is not an export, or a link to another folder:
    a repository or a command may have made it.
    """
    target = Path(os.path.realpath(path))
    if path.is_symlink() and target.parent != Path(os.path.realpath(path.parent)) and not _is_device(path):
        raise UsageError(f"{path} is a link to {target}; name that file instead.")
    mode = mode_of(path)
    if mode and not stat.S_ISREG(mode):  # a device or a pipe
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # fails if nobody reads the pipe
        os.set_blocking(fd, True)
        _write(fd, pieces)
        return
    if mode and not force and not _is_ours(path):
        raise UsageError(f"{path} exists and is not a tau export; name another file, or add --force.")
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, stat.S_IMODE(mode) or 0o600)
    try:
        _write(fd, pieces)
        part.replace(target)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def _is_device(path: Path) -> bool:
    """Whether it is one of the system's own links, such as /dev/stdout."""
    return path.parts[:2] in (("/", "dev"), ("/", "proc"))


def _write(fd: int, pieces: Iterable[bytes]) -> None:
    try:
        waiting = bytearray()
        for piece in pieces:
            waiting += piece
            if len(waiting) >= _WRITE_BYTES:
                write_all(fd, bytes(waiting))
                waiting.clear()
        write_all(fd, bytes(waiting))
    finally:
        os.close(fd)


def _is_ours(path: Path) -> bool:
    """Whether it is empty or an earlier export."""
    with path.open("rb") as file:
        beginning = file.read(4 * KIB)
    return not beginning or any(mark in beginning for mark in _MARKS)


def _bytes(texts: Iterable[str]) -> Iterator[bytes]:
    for text in texts:
        yield text.encode("utf-8", "replace")
