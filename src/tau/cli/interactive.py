"""`tau` in a terminal: paints the screen first, then loads the session."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tau.base.files import OwnStdout
from tau.base.late import late
from tau.cli import timing
from tau.cli.parse import ParsedArgs
from tau.cli.working_folder import config_files, flag_settings, is_home, resolve_working_folder
from tau.config.layers import RunOverrides, load_settings
from tau.config.paths import Paths, user_paths
from tau.config.settings import ApprovalMode, Settings
from tau.modes.interactive.early_screen import open_front

if TYPE_CHECKING:
    from tau.coding.session.session import Session
    from tau.modes.interactive.app import Opening
    from tau.modes.interactive.current_session import SessionSwitch
    from tau.modes.interactive.early_screen import EarlyScreen
    from tau.modes.interactive.ui_controller import ScreenUi

apps = late("tau.modes.interactive.app")
asyncio = late("asyncio")
launching = late("tau.cli.launch")
prompts_of = late("tau.cli.initial_prompt")
sdk = late("tau.sdk")
signalling = late("tau.cli.signals")
structs = late("msgspec.structs")
trust_question = late("tau.modes.trust_question")

# Imported one by one: importing all at once would delay keys.
NEEDED = (
    late("tau.agent.events"),
    late("tau.ai.client"),
    late("tau.coding.session.runner"),
    late("tau.coding.session.session"),
    late("tau.coding.tools.registry"),
    late("tau.modes.interactive.app"),
    late("tau.sdk"),
    late("tau.cli.launch"),
)

HOME_REMARK = "This is your home folder, not a project; start tau in your project folder, or use --cwd DIR."


def run(parsed: ParsedArgs) -> int:
    """Run until the user quits and return the exit code."""
    cwd = resolve_working_folder(parsed.value("cwd"))
    paths = user_paths()
    given = RunOverrides(config_files(parsed), flag_settings(parsed))
    settings = load_settings(paths, cwd, files=given.files, flags=given.flags).settings
    front, loop = open_front(settings, paths, cwd)
    timing.mark("first paint")

    async def main() -> int:
        loop.attach(asyncio.get_running_loop())
        for part in NEEDED:  # keys are handled in between
            await asyncio.sleep(0)
            _ = part.__name__
        return await _run(parsed, front, settings, paths, given)

    try:
        return asyncio.run(main())
    finally:
        front.close()
        _print_exit_message(front.exit_message)
        timing.report()


def _print_exit_message(words: str) -> None:
    if words:
        with suppress(OSError):  # the terminal may be gone
            os.write(OwnStdout.fd, f"{words}\n".encode())


async def _run(
    parsed: ParsedArgs, front: "EarlyScreen", settings: Settings, paths: Paths, given: RunOverrides
) -> int:
    with signalling.Signals() as signals:
        try:
            async with asyncio.TaskGroup() as tasks:
                app = apps.App(front, settings, paths, tasks, given)
                signals.stop = app.quit
                if is_home(front.cwd) and not parsed.has("allow-home"):
                    app.say(HOME_REMARK, "warning")
                if parsed.value("resume") == "":
                    app.run_first("/resume")
                prompts = await prompts_of.read_prompts(parsed.words, "")
                code = await app.run(_opening(parsed, front.cwd), prompts)
        except asyncio.CancelledError:
            if signals.code is None:
                raise
            code = signals.code
        return code if signals.code is None else signals.code


def _opening(parsed: ParsedArgs, cwd: Path) -> "Opening":
    """How the app opens sessions: the first by the flags, later ones by the user's choice."""

    key_owner = ""
    mode: ApprovalMode | None = None

    @asynccontextmanager
    async def opening(change: "SessionSwitch", ui: "ScreenUi") -> AsyncIterator["Session"]:
        nonlocal key_owner, mode
        options = launching.session_options(parsed, cwd, ui=ui, dialogs=ui)
        if change.kind != "first":
            options = options.next(
                resume=change.session if change.kind == "resume" else None,
                fork=change.session if change.kind == "fork" else None,
                fork_entry=change.entry or None,
                start_reason="resume" if change.kind == "resume" else change.kind,
            )
        if change.carried is not None:
            options = options.with_model(change.carried, key_owner)
        elif change.model:
            options = structs.replace(options, provider=None, model=change.model, base_url=None)
        if change.kind == "resume" and change.carried is not None:  # keep the thinking level
            options = structs.replace(options, thinking=None)
        if not options.trust:
            await trust_question.ask_trust(ui, cwd, user_paths())
        async with sdk.create_session(options) as session:
            key_owner = key_owner or session.model.provider
            session.permissions.keep(mode)
            try:
                yield session
            finally:
                mode = session.permissions.chosen

    return opening
