"""`/debug`: the debug menu."""

import asyncio
import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tau.base.errors import TauError
from tau.base.late import late
from tau.base.run import Limits, LocalRunner
from tau.base.sizes import format_bytes
from tau.modes.interactive.dialogs.basic import ChoicePanel
from tau.modes.interactive.dialogs.parts import DialogChoice
from tau.tui.component import Component

if TYPE_CHECKING:
    from tau.modes.interactive.command_context import CommandContext

caches = late("tau.modes.interactive.debug.caches")
export = late("tau.modes.interactive.commands.export")
logs = late("tau.modes.interactive.debug.logs")
profiling = late("tau.modes.interactive.debug.profiling")
reports = late("tau.modes.interactive.debug.report")
requests = late("tau.modes.interactive.debug.requests")
system = late("tau.modes.interactive.debug.system")

PROFILED_S = 10.0
_Action = Callable[["CommandContext"], Awaitable[bool]]
"""True shows the menu again."""


async def open_menu(context: "CommandContext") -> None:
    """Show the menu until an action ends it or the user closes. Raises TauError."""
    at = 0
    while True:
        chosen = await context.ask(_menu(context, at))
        if chosen is None:
            return
        at = chosen
        if not await _ACTIONS[chosen][2](context):
            return


def _menu(context: "CommandContext", at: int) -> Callable[[Callable[[int | None], None]], Component]:
    choices = [DialogChoice(place, label, about) for place, (label, about, _) in enumerate(_ACTIONS)]
    return lambda done: ChoicePanel(
        context.display,
        "Debug",
        "",
        choices,
        at=at,
        cancels="closes",
        on_answer=lambda choice: done(choice.value),
        on_cancel=lambda: done(None),
    )


async def _logs(context: "CommandContext") -> bool:
    await logs.show_logs(context)
    return True


async def _requests(context: "CommandContext") -> bool:
    await requests.show_requests(context)
    return True


async def _system(context: "CommandContext") -> bool:
    context.say(system.told(context))
    return False


async def _report(context: "CommandContext") -> bool:
    context.activity.show("Writing a report")
    try:
        written = await reports.write_report(context)
    finally:
        context.activity.hide()
    context.say(f"Wrote {written.path}. {written.told} Review it before sharing.")
    return False


async def _profile(context: "CommandContext") -> bool:
    context.say(f"Profiling for {PROFILED_S:.0f} s.")
    text = await profiling.measured(PROFILED_S)
    written = await reports.write_report(context, ("profile.txt", text))
    context.say(f"Wrote the profile to {written.path}. {written.told}")
    return False


async def _transcript(context: "CommandContext") -> bool:
    await export.export(context, "")
    return False


async def _artifacts(context: "CommandContext") -> bool:
    """Open the session's folder in the file browser, if there is a desktop."""
    folder = None if context.session is None else context.session.log.artifacts_folder
    if folder is None or not folder.is_dir():
        context.say("This session has no files yet.")
        return False
    opened = await open_folder(folder)
    context.say(f"The files of this session are in {folder}{' (opened)' if opened else ''}.")
    return False


async def open_folder(folder: Path) -> bool:
    """Whether a desktop could open it."""
    argv = opener(os.environ, sys.platform)
    if argv is None:
        return False
    try:
        process = await LocalRunner().start([argv, str(folder)], cwd=folder, limits=Limits(timeout=5))
        async with process:
            return (await process.wait()).code == 0
    except OSError:
        return False


def opener(environ: "os._Environ[str] | dict[str, str]", platform: str) -> str | None:
    """The program that opens a folder; None if no user sits at this machine."""
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        return None
    if platform == "darwin":
        return "open"
    if not (environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")):
        return None
    return shutil.which("xdg-open", path=environ.get("PATH"))


async def _caches(context: "CommandContext") -> bool:
    current = None if context.session is None else context.session.log.path
    found = await asyncio.to_thread(caches.find, context.paths.sessions, context.paths.cache, current)
    if not found.outputs and not found.cache:
        context.say("There is nothing to clear.")
        return False
    message = (
        f"Full outputs of sessions older than 30 days: {len(found.outputs):,}. "
        f"Cache entries: {len(found.cache):,}. Total: {format_bytes(found.bytes)}. "
        "Sessions and undo data are kept."
    )
    if not await context.ui.confirm("Remove these files?", message):
        return True
    failed = await asyncio.to_thread(caches.clear, found)
    if failed:
        raise TauError(f"{failed} files could not be removed.")
    context.say(f"Removed {format_bytes(found.bytes)}.")
    return False


_ACTIONS: tuple[tuple[str, str, _Action], ...] = (
    ("Log", "Errors with details.", _logs),
    ("Raw responses", "Recent events from model servers, with secrets masked.", _requests),
    ("System", "Versions, terminal, machine.", _system),
    ("Write a report", "Log, session, settings and system in one file, with secrets masked.", _report),
    ("Export the session", "As an HTML page.", _transcript),
    ("Session files", "Full outputs, plans, undo data.", _artifacts),
    ("Clear caches", "Asks before removing anything.", _caches),
    ("Profile the next 10 s", "Adds a CPU profile to a report.", _profile),
)
