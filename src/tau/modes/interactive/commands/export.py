"""Commands that export the conversation to a file or the clipboard."""

import asyncio
import os
from pathlib import Path

from tau.base.errors import TauError
from tau.base.files import make_private, temporary_folder, write_atomic
from tau.base.secrets import masked_text
from tau.coding.export.files import exported
from tau.coding.session.session import Session
from tau.config.secret_mask import make_mask
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.composer.clipboard import Clipboard, copy
from tau.modes.session_export import closing_log, export_session, readable_log


async def export(context: CommandContext, rest: str) -> None:
    """Raises TauError."""
    context.activity.show("Exporting")
    try:
        done = await export_session(
            context.require_session(), rest, context.paths, lambda problem: context.say(problem, "warning")
        )
    finally:
        context.activity.hide()
    context.say(done)


async def dump(context: CommandContext, rest: str) -> None:
    """Copy the active branch as Markdown with secrets masked, or save it if it exceeds the clipboard."""
    session = context.require_session()
    log = readable_log(session)
    masker = make_mask(os.environ, context.paths, lambda problem: context.say(problem, "warning"))

    def text() -> str:
        with closing_log(log, session):
            return b"".join(exported(log, "markdown", masker)).decode()

    dumped = await asyncio.to_thread(text) if log is not session.log else text()
    if await copy(dumped, context.display.terminal, Clipboard()):
        context.say(f"Copied {len(dumped):,} characters. {masked_text(masker)}")
        return
    path = _save(session, dumped)
    context.say(f"{len(dumped):,} characters do not fit the clipboard; saved to {path}.", "warning")


def _save(session: Session, text: str) -> Path:
    folder = session.log.artifacts_folder or temporary_folder()
    path = folder / f"conversation-{session.log.header.id[:8]}.md"
    try:
        make_private(folder)
        write_atomic(path, text.encode("utf-8", "replace"), mode=0o600)
    except OSError as error:
        raise TauError(f"Cannot write {path}: {error.strerror or error}.") from error
    return path
