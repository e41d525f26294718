"""Commands that export the conversation to a file or the clipboard."""

import asyncio
import os
from pathlib import Path

from tau.base.errors import TauError, UsageError
from tau.base.files import make_private, temporary_folder, typed_path, write_atomic
from tau.coding.export.files import MASKED, ExportFormat, exported, format_of, write_export
from tau.coding.export.secrets import Masker, known_secrets, masked_text
from tau.coding.session.session import Session
from tau.coding.session.storage.log import SessionLog
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.composer.clipboard import Clipboard, copy

OPTIONS = ("--no-mask", "--force")
USAGE = "Usage: /export [--no-mask] [--force] [FILE.html|FILE.md|FILE.json]."


async def export(context: CommandContext, rest: str) -> None:
    """Export the session; by default to an HTML page in the working folder. Raises TauError."""
    session = context.require_session()
    words = rest.split()
    options = [word for word in words if word.startswith("--")]
    name = rest
    for option in options:
        if option not in OPTIONS:
            raise UsageError(f'Unknown option "{option}". {USAGE}')
        name = name.replace(option, " ", 1)
    path = session.cwd / typed_path(name.strip() or default_name(session))
    format = format_of(path)
    if format is None:
        raise UsageError(f"The file name must end in .html, .md or .json. {USAGE}")
    mask = format in MASKED and "--no-mask" not in options
    context.activity.show("Exporting")
    try:
        told = await _exported(context, session, format, path, mask=mask, force="--force" in options)
    finally:
        context.activity.hide()
    context.say(f"Exported the session to {path}. {told}")


def default_name(session: Session) -> str:
    """A file name for the page, from the session name."""
    name = session.names.name or session.log.header.id[:8]
    words = "".join(letter if letter.isalnum() else " " for letter in name).split()
    return f"tau-{'-'.join(words)[:60] or 'session'}.html"


async def dump(context: CommandContext, rest: str) -> None:
    """Copy the active branch as Markdown with secrets masked, or save it if it exceeds the clipboard."""
    session = context.require_session()
    log = _readable(session)
    masker = Masker(_known_secrets(context))

    def text() -> str:
        with _closing(log, session):
            return b"".join(exported(log, "markdown", masker)).decode()

    dumped = await asyncio.to_thread(text) if log is not session.log else text()
    if await copy(dumped, context.display.terminal, Clipboard()):
        context.say(f"Copied {len(dumped):,} characters. {masked_text(masker)}")
        return
    path = _keep(session, dumped)
    context.say(f"{len(dumped):,} characters do not fit the clipboard; saved to {path}.", "warning")


def _known_secrets(context: CommandContext) -> list[str]:
    return known_secrets(os.environ, context.paths.auth, lambda problem: context.say(problem, "warning"))


async def _exported(
    context: CommandContext, session: Session, format: ExportFormat, path: Path, *, mask: bool, force: bool
) -> str:
    """Write the export, off the event loop if it is on disk; returns what to say about its secrets."""
    masker = Masker(_known_secrets(context)) if mask else None
    log = _readable(session)

    def write() -> None:
        with _closing(log, session):
            write_export(path, exported(log, format, masker), force=force)

    try:
        if log is session.log:
            write()
        else:
            await asyncio.to_thread(write)
    except OSError as error:
        raise TauError(f"Cannot write {path}: {error.strerror or error}.") from error
    return masked_text(masker)


def _readable(session: Session) -> SessionLog:
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


class _closing:
    """Closes a log opened for the export."""

    def __init__(self, log: SessionLog, session: Session) -> None:
        self._log = None if log is session.log else log

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        if self._log is not None:
            self._log.close()


def _keep(session: Session, text: str) -> Path:
    folder = session.log.artifacts_folder or temporary_folder()
    path = folder / f"conversation-{session.log.header.id[:8]}.md"
    try:
        make_private(folder)
        write_atomic(path, text.encode("utf-8", "replace"), mode=0o600)
    except OSError as error:
        raise TauError(f"Cannot write {path}: {error.strerror or error}.") from error
    return path
