"""/share: puts the conversation, with secrets masked, into a secret gist, after a preview and a question."""

import asyncio
import os
import tempfile
from pathlib import Path

from tau.backends.github.gh import Gh
from tau.base.run import LocalRunner
from tau.base.secrets import masked_text
from tau.base.sizes import format_bytes
from tau.base.text import clean_line, shortened
from tau.coding.export.files import exported
from tau.config.secret_mask import make_mask
from tau.modes.interactive.command_context import CommandContext
from tau.modes.session_export import closing_log, readable_log

PREVIEW_LINES, PREVIEW_CHARS = 8, 120


async def share(context: CommandContext, rest: str) -> None:
    """Raises TauError."""
    session = context.require_session()
    log = readable_log(session)
    masker = make_mask(os.environ, context.paths, lambda problem: context.say(problem, "warning"))

    def export() -> bytes:
        with closing_log(log, session):
            return b"".join(exported(log, "markdown", masker))

    data = await asyncio.to_thread(export) if log is not session.log else export()
    lines = [clean_line(line) for line in data.decode("utf-8", "replace").splitlines() if line.strip()]
    preview = [shortened(line, PREVIEW_CHARS) for line in lines[:PREVIEW_LINES]]
    about = f"{len(lines):,} lines, {format_bytes(len(data))}. {masked_text(masker)}"
    warning = "Whoever knows the address of a secret gist can read it. It goes to GitHub."
    if not await context.ui.confirm(
        "Share this conversation as a secret gist?", "\n".join([*preview, "…", about, warning])
    ):
        context.say("Not shared.")
        return
    runner = LocalRunner()
    context.activity.show("Sharing")
    try:
        with tempfile.TemporaryDirectory(prefix="tau-share-") as folder:
            path = Path(folder) / f"conversation-{session.log.header.id[:8]}.md"
            path.write_bytes(data)
            words = ("gist", "create", "--desc", "A conversation with tau", str(path))
            said = await Gh(runner, context.cwd).text(*words)
    finally:
        context.activity.hide()
        runner.close()
    context.say(f"Shared: {said.strip().splitlines()[-1] if said.strip() else 'gh printed no address'}")
