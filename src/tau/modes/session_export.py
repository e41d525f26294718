"""Exports the session of a mode to a file."""

import asyncio
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path

from tau.base.errors import TauError, UsageError
from tau.base.files import typed_path
from tau.base.secrets import SecretMask, masked_text
from tau.coding.export.files import ExportFormat, exported, format_of, write_export
from tau.coding.session.session import Session
from tau.coding.session.storage.log import SessionLog
from tau.config.paths import Paths
from tau.config.secret_mask import make_mask

OPTIONS = ("--raw", "--force")
USAGE = "Usage: /export [--raw] [--force] [FILE.html|FILE.md|FILE.json]."


async def export_session(session: Session, rest: str, paths: Paths, warn: Callable[[str], None]) -> str:
    """Export as the arguments say, by default to an HTML page in the working folder; returns what was done.

    Secrets are masked unless `--raw`. Raises TauError.
    """
    options = [word for word in rest.split() if word.startswith("--")]
    name = rest
    for option in options:
        if option not in OPTIONS:
            raise UsageError(f'Unknown option "{option}". {USAGE}')
        name = name.replace(option, " ", 1)
    path = session.cwd / typed_path(name.strip() or default_name(session))
    format = format_of(path)
    if format is None:
        raise UsageError(f"The file name must end in .html, .md or .json. {USAGE}")
    masker = None if "--raw" in options else make_mask(os.environ, paths, warn)
    await _write(session, path, format, masker, force="--force" in options)
    return f"Exported the session to {path}. {masked_text(masker)}"


async def export_page(session: Session, name: str | None, paths: Paths) -> Path:
    """Write the session as an HTML page with secrets masked, and return its path. Raises TauError.

    Only a file that the caller names is replaced if it is not an export.
    """
    path = session.cwd / typed_path(name or default_name(session))
    mask = make_mask(os.environ, paths, lambda warning: None)
    await _write(session, path, "html", mask, force=name is not None)
    return path


async def _write(
    session: Session, path: Path, format: ExportFormat, masker: SecretMask | None, *, force: bool
) -> None:
    log = readable_log(session)

    def write() -> None:
        with closing_log(log, session):
            write_export(path, exported(log, format, masker), force=force)

    try:
        if log is session.log:
            write()
        else:
            await asyncio.to_thread(write)
    except OSError as error:
        raise TauError(f"Cannot write {path}: {error.strerror or error}.") from error


def default_name(session: Session) -> str:
    """A file name for the page, from the session name."""
    name = session.names.name or session.log.header.id[:8]
    words = "".join(letter if letter.isalnum() else " " for letter in name).split()
    return f"tau-{'-'.join(words)[:60] or 'session'}.html"


def readable_log(session: Session) -> SessionLog:
    """The session opened as a separate reader, so writing is not blocked; its own log if it has no file."""
    own = session.log
    if own.path is None:
        return own
    if not own.path.exists():
        raise TauError("The conversation is empty.")
    log = SessionLog.open(own.path, blobs=own.blobs, read_only=True)
    if own.leaf in log:
        log.move(own.leaf)
    return log


def closing_log(log: SessionLog, session: Session) -> AbstractContextManager[object]:
    """Close a log opened for the export."""
    return nullcontext() if log is session.log else closing(log)
