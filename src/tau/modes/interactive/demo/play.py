"""Runs the demo: a home and project in a temporary folder, a screen, and simulated typing."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

import msgspec

from tau.agent.events import AgentEvent, AgentStart
from tau.ai.faux import FAUX_MODEL, Faux
from tau.coding.session.session import Session
from tau.config.layers import RunOverrides, load_settings
from tau.config.paths import user_paths
from tau.config.setting_table import setting_values
from tau.modes.interactive.app import App, Opening
from tau.modes.interactive.current_session import SessionSwitch
from tau.modes.interactive.demo.repository import make_repository
from tau.modes.interactive.demo.script import ENDING, OPENING, REQUEST, answers
from tau.modes.interactive.early_screen import EarlyScreen, open_front
from tau.modes.interactive.selectors.setting_changes import LIVE_GROUPS
from tau.modes.interactive.ui_controller import ScreenUi
from tau.sdk import SessionOptions, create_session

# Always in the status line, so that nobody mistakes it for a real model.
MODEL = msgspec.structs.replace(FAUX_MODEL, id="scripted-demo", name="scripted demo", provider="scripted")
FLAGS = {
    "titles.enabled": False,
    "edit.mode": "replace",
    "tools.approvalMode": "workspace",
    "local.discover": False,
    "contextFiles.enabled": False,
    "display.hideThinking": False,
}
KEY_S, READ_S, PAUSE_S, LOOK_S = 0.06, 6.0, 0.6, 0.02


class _SignalGuard(Protocol):
    """Around the work: the first signal calls `stop`, or cancels the task if there is none.

    `code` is the exit code a signal asks for.
    """

    code: int | None
    stop: Callable[[], None] | None

    def __enter__(self) -> "_SignalGuard": ...
    def __exit__(self, *_: object) -> None: ...


def play(guard: Callable[[], _SignalGuard], *, fast: bool) -> int:
    """Run until the user quits; with `fast`, at full speed, then exit. Returns the exit code.

    `guard` is created inside the loop, before anything is written to disk.
    """
    return asyncio.run(_play(guard, fast=fast))


async def _play(guard: Callable[[], _SignalGuard], *, fast: bool) -> int:
    with guard() as signals:
        try:
            with tempfile.TemporaryDirectory(prefix="tau-demo-", ignore_cleanup_errors=True) as name:
                code = await _show(Path(name).resolve(), signals, fast=fast)
        except asyncio.CancelledError:
            if signals.code is None:
                raise
            code = signals.code
        return code if signals.code is None else signals.code


async def _show(folder: Path, signals: _SignalGuard, *, fast: bool) -> int:
    home, project = folder / "home", folder / "shop"
    home.mkdir()
    # The theme is the user's own; everything written goes into the temporary folder.
    settings = load_settings(user_paths(), folder, flags=FLAGS).settings
    look = {key: value for key, value in setting_values(settings).items() if key.split(".")[0] in LIVE_GROUPS}
    overrides = RunOverrides(flags={**look, **FLAGS})
    environ = {**os.environ, "TAU_HOME": str(home)}
    paths = user_paths(environ)
    await make_repository(project)
    front, loop = open_front(settings, paths, project)
    try:
        loop.attach(asyncio.get_running_loop())
        async with asyncio.TaskGroup() as tasks:
            app = App(front, settings, paths, tasks, overrides)
            signals.stop = app.quit
            app.parts.tasks.start(_run_script(app, front, fast=fast))
            return await app.run(_opening(project, environ, overrides, fast=fast), ())
    finally:
        front.close()


def _opening(project: Path, environ: dict[str, str], overrides: RunOverrides, *, fast: bool) -> Opening:
    faux = Faux(answers(fast=fast))
    options = SessionOptions(cwd=project, stream=faux.stream, settings=overrides.flags)

    @asynccontextmanager
    async def opening(change: SessionSwitch, ui: ScreenUi) -> AsyncIterator[Session]:
        wanted = msgspec.structs.replace(
            options,
            ui=ui,
            dialogs=ui,
            resume=change.session if change.kind == "resume" else None,
            fork=change.session if change.kind == "fork" else None,
        )
        async with create_session(wanted, environ) as session:
            session.models.default = MODEL
            yield session

    return opening


async def _run_script(app: App, front: EarlyScreen, *, fast: bool) -> None:
    """Type and send the request, and say at the end what to do next."""
    while app.current.session is None:  # noqa: ASYNC110
        await asyncio.sleep(LOOK_S)
    session = app.current.session
    begun = asyncio.Event()

    def on_event(event: AgentEvent) -> None:
        if isinstance(event, AgentStart):
            begun.set()

    session.subscribe(on_event)
    app.say(OPENING)
    if not fast:
        await asyncio.sleep(READ_S)
        await _type(front)
    if not begun.is_set():  # otherwise the user was faster
        app.submit(REQUEST)
    await begun.wait()
    while app.current.running:  # noqa: ASYNC110
        await asyncio.sleep(LOOK_S)
    if app.current.session is session:
        app.say(ENDING.format(quit=front.keys.label("app.exit") or "/exit"))
        front.request_render()
    if fast:
        app.quit()


async def _type(front: EarlyScreen) -> None:
    """Type key by key unless the user types; keep what they typed."""
    typed = ""
    while typed != REQUEST and front.editor.text == typed:
        typed = REQUEST[: len(typed) + 1]
        front.editor.set_text(typed)
        front.request_render()
        await asyncio.sleep(KEY_S)
    await asyncio.sleep(PAUSE_S)
    front.editor.set_text(front.editor.text.removeprefix(typed))
