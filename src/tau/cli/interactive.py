"""`tau` at a terminal: paints the screen first, then loads what a session needs, and keeps both together."""

import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tau.base.late import late
from tau.cli import timing
from tau.cli.parse import ParsedArgs
from tau.cli.working_folder import config_files, flag_settings, is_home, working_folder
from tau.config.layers import RunOverrides, load_settings
from tau.config.paths import Paths, user_paths
from tau.config.settings import Settings
from tau.modes.interactive.early_screen import open_front

if TYPE_CHECKING:
    from tau.agent.ui import Ui
    from tau.coding.session.session import Session
    from tau.modes.interactive.app import App, Opening, SessionSwitch
    from tau.modes.interactive.early_screen import EarlyScreen
    from tau.sdk import SessionOptions

apps = late("tau.modes.interactive.app")
asyncio = late("asyncio")
launching = late("tau.cli.launch")
prompts_of = late("tau.cli.prompts")
signalling = late("tau.cli.signals")
structs = late("msgspec.structs")

# What a session needs, in pieces: importing all of it at once would let a key wait.
NEEDED = (
    late("tau.agent.events"),
    late("tau.ai.client"),
    late("tau.coding.session.session_loop"),
    late("tau.coding.session.session"),
    late("tau.coding.tools"),
    late("tau.modes.interactive.app"),
    late("tau.sdk"),
    late("tau.cli.launch"),
)

STDOUT = 1
HOME_REMARK = (
    "This is your home folder, which tau does not look through by itself; "
    "start it in the folder of your project, or name that with --cwd DIR."
)


def run(parsed: ParsedArgs) -> int:
    """Until the person quits; the exit code."""
    cwd = working_folder(parsed.value("cwd"))
    paths = user_paths()
    given = RunOverrides(config_files(parsed), flag_settings(parsed))
    settings = load_settings(paths, cwd, files=given.files, flags=given.flags).settings
    front, loop = open_front(settings, paths, cwd)
    timing.mark("first paint")

    async def main() -> int:
        loop.attach(asyncio.get_running_loop())
        for part in NEEDED:  # keys are answered in between
            await asyncio.sleep(0)
            _ = part.__name__
        return await _run(parsed, front, settings, paths, given)

    try:
        code: int = asyncio.run(main())
        return code
    finally:
        front.close()
        _say_goodbye(front.farewell)
        timing.report()


def _say_goodbye(words: str) -> None:
    if words:
        with suppress(OSError):  # the terminal may be gone
            os.write(STDOUT, f"{words}\n".encode())


async def _run(
    parsed: ParsedArgs, front: "EarlyScreen", settings: Settings, paths: Paths, given: RunOverrides
) -> int:
    with signalling.Signals() as signals:
        try:
            async with asyncio.TaskGroup() as tasks:
                app: App = apps.App(front, settings, paths, tasks, given)
                signals.stop = app.quit
                if is_home(front.cwd) and not parsed.has("allow-home"):
                    app.say(HOME_REMARK, "warning")
                if parsed.value("resume") == "":
                    app.input.sending.later("/resume")
                prompts = prompts_of.build_prompts(parsed.words, "")
                code = await app.run(_opening(parsed, front.cwd), prompts)
        except asyncio.CancelledError:
            if signals.code is None:
                raise
            code = signals.code
        return code if signals.code is None else signals.code


def _opening(parsed: ParsedArgs, cwd: Path) -> "Opening":
    """How the app gets a session: the flags say how the first one is made, the person's wish the others."""

    @asynccontextmanager
    async def opening(change: "SessionSwitch", ui: "Ui") -> AsyncIterator["Session"]:
        options: SessionOptions = launching.options(parsed, cwd, ui=ui)
        if change.kind != "first":
            options = structs.replace(
                options,
                continue_recent=False,
                resume=change.session if change.kind == "resume" else None,
                fork=change.session if change.kind == "fork" else None,
            )
        if change.model:
            options = structs.replace(options, provider=None, model=change.model)
            if change.kind == "resume":  # as hard as it was thinking there
                options = structs.replace(options, thinking=None)
        opened: AbstractAsyncContextManager[Session] = launching.create_session(options)
        async with opened as session:
            yield session

    return opening
