"""`tau` at a terminal: paints the screen first, then loads what a session needs, and keeps both together."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tau.base.late import late
from tau.cli import timing
from tau.cli.folders import config_files, flag_settings, is_home, working_folder
from tau.cli.parse import Parsed
from tau.cli.signals import Signals
from tau.config.layers import load_settings
from tau.config.paths import user_paths
from tau.modes.interactive.front import Front
from tau.modes.interactive.themes.looks import look_of
from tau.tui.terminal.process import ProcessTerminal

if TYPE_CHECKING:
    from tau.agent.ui import Ui
    from tau.coding.session.session import Session
    from tau.modes.interactive.app import App, Change

apps = late("tau.modes.interactive.app")
launching = late("tau.cli.launch")
prompts_of = late("tau.cli.prompts")
structs = late("msgspec.structs")


def run(parsed: Parsed) -> int:
    """Until the person quits; the exit code."""
    try:
        return asyncio.run(_run(parsed))
    finally:
        timing.report()


async def _run(parsed: Parsed) -> int:
    cwd = working_folder(parsed.value("cwd"))
    paths = user_paths()
    settings = load_settings(paths, cwd, files=config_files(parsed), flags=flag_settings(parsed)).settings
    loop = asyncio.get_running_loop()
    terminal = ProcessTerminal(timer=loop)
    front = Front(terminal, look_of(settings, terminal.capabilities, os.environ), timer=loop, cwd=cwd)
    with Signals() as signals:
        front.open()
        timing.mark("first paint")
        try:
            await asyncio.sleep(0)
            async with asyncio.TaskGroup() as tasks:
                app: App = apps.App(front, settings, paths, tasks)
                signals.stop = app.quit
                prompts = prompts_of.build_prompts(parsed.words, "")
                code = await app.run(_opening(parsed, cwd), prompts)
        except asyncio.CancelledError:
            if signals.code is None:
                raise
            code = signals.code
        finally:
            front.close()
        return code if signals.code is None else signals.code


def _opening(parsed: Parsed, cwd: Path) -> Any:
    """How the app gets a session: the flags say how the first one is made, the person's wish the others."""

    @asynccontextmanager
    async def opening(change: "Change", ui: "Ui") -> AsyncIterator["Session"]:
        options = launching.options(parsed, cwd, ui=ui)
        if change.kind != "first":
            options = structs.replace(
                options,
                continue_recent=False,
                resume=change.session if change.kind == "resume" else None,
                fork=change.session if change.kind == "fork" else None,
            )
        async with launching.create_session(options) as session:
            yield session

    return opening


def in_home(cwd: Path, parsed: Parsed) -> bool:
    """Whether the person stands in the home folder and has not said that this is meant."""
    return is_home(cwd) and not parsed.has("allow-home")
