"""`/debug`: the debug menu."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from io import StringIO
from pathlib import Path

from tau.base.clock import now_ms
from tau.base.errors import TauError
from tau.base.files import temporary_folder
from tau.base.late import late
from tau.base.programs import find_program
from tau.base.run import Limits, LocalRunner
from tau.base.sizes import format_bytes
from tau.base.threads import in_thread
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.dialogs.basic import ChoicePanel
from tau.modes.interactive.dialogs.dialog_widgets import DialogChoice
from tau.tui.component import Component

cprofile = late("cProfile")
pstats = late("pstats")
cleanup = late("tau.modes.interactive.debug.cleanup")
export = late("tau.modes.interactive.commands.export")
logs = late("tau.modes.interactive.debug.logs")
memory_report = late("tau.modes.interactive.debug.memory_report")
reports = late("tau.modes.interactive.debug.report")
requests = late("tau.modes.interactive.debug.requests")
system = late("tau.modes.interactive.debug.system")
work_profile = late("tau.modes.interactive.debug.work_profile")

MAX_PROFILE_ROWS = 60
_Action = Callable[[CommandContext], Awaitable[bool | None]]
"""True shows the menu again."""


async def open_menu(context: CommandContext) -> None:
    """Show the menu until an action ends it or the user closes. Raises TauError."""
    at = 0
    while True:
        chosen = await context.ask(_menu(context, at))
        if chosen is None:
            return
        at = chosen
        if not await _ACTIONS[chosen][2](context):
            return


def _menu(context: CommandContext, at: int) -> Callable[[Callable[[int | None], None]], Component]:
    choices = [DialogChoice(place, label, about) for place, (label, about, _) in enumerate(_ACTIONS)]
    return lambda done: ChoicePanel(context.display, "Debug", "", choices, done, at=at, cancels="closes")


async def _logs(context: CommandContext) -> bool:
    await logs.show_logs(context)
    return True


async def _requests(context: CommandContext) -> bool:
    await requests.show_requests(context)
    return True


async def _system(context: CommandContext) -> None:
    context.say(system.system_text(context))


async def _report(context: CommandContext) -> None:
    context.activity.show("Writing a report")
    try:
        written = await reports.write_report(context)
    finally:
        context.activity.hide()
    context.say(f"Wrote {written.path}. {written.note} Review it before sharing.")


async def _profile(context: CommandContext) -> None:
    text = await profile(context.ask(_stop_panel(context)))
    written = await reports.write_report(context, ("profile.txt", text))
    context.say(f"Wrote the profile to {written.path}. {written.note}")


def _stop_panel(context: CommandContext) -> Callable[[Callable[[int | None], None]], Component]:
    text = "tau keeps working while it records."
    choices = [DialogChoice(0, "Stop", "Writes the report.")]
    return lambda done: ChoicePanel(
        context.display, "Recording a CPU profile", text, choices, done, cancels="stops"
    )


async def profile(until: Awaitable[object]) -> str:
    """What runs in this time, most expensive first."""
    profiler = cprofile.Profile()
    profiler.enable()
    try:
        await until
    finally:
        profiler.disable()
    text = StringIO()
    stats = pstats.Stats(profiler, stream=text)
    for order in ("cumulative", "tottime"):
        stats.sort_stats(order).print_stats(MAX_PROFILE_ROWS)
    return text.getvalue()


async def _memory(context: CommandContext) -> None:
    text = await asyncio.to_thread(memory_report.memory_text)
    written = await reports.write_report(context, ("memory.txt", text))
    context.say(f"Wrote what is in memory to {written.path}. {written.note}")


async def _work(context: CommandContext) -> None:
    """Write a picture of half a minute, and open it if there is a desktop."""
    context.activity.show(f"Recording what tau works on for {work_profile.SECONDS:g} seconds")
    try:
        root = await in_thread(work_profile.sample)
    finally:
        context.activity.hide()
    path = temporary_folder() / f"work-profile-{now_ms()}.svg"
    await asyncio.to_thread(path.write_text, work_profile.flame_graph(root), encoding="utf-8")
    opened = await open_folder(path)
    context.say(f"Wrote {root.count:,} samples to {path}{' (opened)' if opened else ''}.")


async def _transcript(context: CommandContext) -> None:
    await export.export(context, "")


async def _artifacts(context: CommandContext) -> None:
    """Open the session's folder in the file browser, if there is a desktop."""
    folder = None if context.session is None else context.session.log.artifacts_folder
    if folder is None or not folder.is_dir():
        context.say("This session has no files yet.")
        return
    opened = await open_folder(folder)
    context.say(f"The files of this session are in {folder}{' (opened)' if opened else ''}.")


async def open_folder(path: Path) -> bool:
    """Whether a desktop could open a folder or file."""
    argv = opener(os.environ, sys.platform)
    if argv is None:
        return False
    try:
        process = await LocalRunner().start([argv, str(path)], cwd=path.parent, limits=Limits(timeout=5))
        async with process:
            return (await process.wait()).code == 0
    except OSError:
        return False


def opener(environ: os._Environ[str] | dict[str, str], platform: str) -> str | None:
    """The program that opens a folder; None if no user sits at this machine."""
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        return None
    if platform == "darwin":
        return "open"
    if not (environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")):
        return None
    return find_program("xdg-open", environ=environ)


async def _caches(context: CommandContext) -> bool:
    current = None if context.session is None else context.session.log.path
    files = await asyncio.to_thread(cleanup.find_files, context.paths.sessions, context.paths.cache, current)
    if not files.outputs and not files.cache:
        context.say("There is nothing to clear.")
        return False
    message = (
        f"Full outputs of sessions older than 30 days: {len(files.outputs):,}. "
        f"Cache entries: {len(files.cache):,}. Total: {format_bytes(files.bytes)}. "
        "Sessions and undo data are kept."
    )
    if not await context.ui.confirm("Remove these files?", message):
        return True
    failed = await asyncio.to_thread(cleanup.remove_files, files)
    if failed:
        raise TauError(f"{failed} files could not be removed.")
    context.say(f"Removed {format_bytes(files.bytes)}.")
    return False


_ACTIONS: tuple[tuple[str, str, _Action], ...] = (
    ("Log", "Errors with details.", _logs),
    ("Raw responses", "Recent events from model servers, with secrets masked.", _requests),
    ("System", "Versions, terminal, machine.", _system),
    ("Write a report", "Log, session, settings and system in one file, with secrets masked.", _report),
    ("Export the session", "As an HTML page.", _transcript),
    ("Session files", "Full outputs, plans, undo data.", _artifacts),
    ("Clear caches", "Asks before removing anything.", _caches),
    ("Record a CPU profile", "Until you stop it; adds it to a report.", _profile),
    ("Memory", "Objects by type; adds it to a report.", _memory),
    ("Record a flame graph", "For 30 seconds; shows what tau works on.", _work),
)
