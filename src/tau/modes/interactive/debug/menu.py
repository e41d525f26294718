"""`/debug`: a menu for looking inside."""

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
"""True: the menu is shown again."""


async def open_menu(context: "CommandContext") -> None:
    """Until something was done that ends it, or the person closes it. Raises TauError."""
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
        "Look inside",
        "",
        choices,
        at=at,
        cancels="closes it",
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
    context.say(
        f"The report is {written.path}. {written.told} Look through it before you send it to anybody."
    )
    return False


async def _profile(context: "CommandContext") -> bool:
    context.say(f"What tau does in the next {PROFILED_S:.0f} s is measured.")
    text = await profiling.measured(PROFILED_S)
    written = await reports.write_report(context, ("profile.txt", text))
    context.say(f"The measurement is in the report {written.path}. {written.told}")
    return False


async def _transcript(context: "CommandContext") -> bool:
    await export.export(context, "")
    return False


async def _artifacts(context: "CommandContext") -> bool:
    """The folder of the session's files, in the file browser of a desktop that is here."""
    folder = None if context.session is None else context.session.log.artifacts_folder
    if folder is None or not folder.is_dir():
        context.say("This session has no files of its own yet.")
        return False
    opened = await open_folder(folder)
    context.say(f"The files of this session are in {folder}{', which is open now' if opened else ''}.")
    return False


async def open_folder(folder: Path) -> bool:
    """Whether a desktop could be asked to show it."""
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
    """The program that shows a folder; None where no person sits at this machine's screen."""
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
        f"Full outputs in sessions that are older than 30 days: {len(found.outputs):,}. "
        f"Entries of the cache: {len(found.cache):,}. Together {format_bytes(found.bytes)}. "
        "The sessions themselves stay, and so does what undo needs."
    )
    if not await context.ui.confirm("Remove what can be done without?", message):
        return True
    failed = await asyncio.to_thread(caches.clear, found)
    if failed:
        raise TauError(f"{failed} files could not be removed.")
    context.say(f"Removed {format_bytes(found.bytes)}.")
    return False


_ACTIONS: tuple[tuple[str, str, _Action], ...] = (
    ("Log", "What went wrong, with the details.", _logs),
    ("Answers as they came", "The last events of model servers, with secrets masked.", _requests),
    ("System", "Versions, terminal, machine.", _system),
    ("Write a report", "Log, session, settings and system in one file, with secrets masked.", _report),
    ("Export the session", "As a page to read.", _transcript),
    ("Files of this session", "Full outputs, plans, what undo needs.", _artifacts),
    ("Clear caches", "Asks before it removes anything.", _caches),
    ("Measure the next 10 s", "Where the time of tau goes, as a part of a report.", _profile),
)
