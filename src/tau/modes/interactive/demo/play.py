"""Plays the demonstration: a home and a project in a temporary folder, a screen, a person who types."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from tau.agent.ui import Ui
from tau.ai.faux import Faux
from tau.coding.session.session import Session
from tau.config.layers import load_settings
from tau.config.paths import Paths, user_paths
from tau.config.settings import Settings
from tau.modes.interactive.app import App, Change
from tau.modes.interactive.demo.repository import make_repository
from tau.modes.interactive.demo.script import ENDING, OPENING, REQUEST, answers
from tau.modes.interactive.front import Front
from tau.modes.interactive.opening import open_front
from tau.sdk import SessionOptions, create_session

NAME = "scripted"
MODEL = {
    "id": "scripted-demo",
    "name": "scripted demo",
    "reasoning": True,
    "contextWindow": 200_000,
    "maxTokens": 8192,
}
# Nothing is ever sent there: the script stands in for the request.
PROVIDER = {"baseUrl": "http://127.0.0.1:9", "api": "openai-completions", "apiKey": "none", "models": [MODEL]}
FLAGS = {
    "titles.enabled": False,
    "edit.mode": "replace",
    "tools.approvalMode": "workspace",
    "local.discover": False,
    "contextFiles.enabled": False,
    "display.hideThinking": False,
}
KEY_S, PAUSE_S, LOOK_S = 0.045, 1.2, 0.02


def play(*, fast: bool) -> int:
    """Until the person leaves; with `fast` it runs at full speed and leaves by itself. The exit code."""
    with tempfile.TemporaryDirectory(prefix="tau-demo-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        home, project = folder / "home", folder / "shop"
        home.mkdir()
        (home / "models.json").write_bytes(msgspec.json.encode({"providers": {NAME: PROVIDER}}))
        # The look is the user's own; all that is written goes into the temporary folder.
        settings = load_settings(user_paths(), folder, flags=FLAGS).settings
        paths = user_paths({**os.environ, "TAU_HOME": str(home)})
        asyncio.run(make_repository(project))
        front, loop = open_front(settings, paths, project)

        async def main() -> int:
            loop.attach(asyncio.get_running_loop())
            return await _run(front, settings, paths, fast=fast)

        try:
            return asyncio.run(main())
        finally:
            front.close()


async def _run(front: Front, settings: Settings, paths: Paths, *, fast: bool) -> int:
    faux = Faux(answers(fast=fast))
    options = SessionOptions(
        cwd=front.cwd, provider=NAME, model=str(MODEL["id"]), stream=faux.stream, settings=FLAGS
    )
    environ = {**os.environ, "TAU_HOME": str(paths.home)}

    @asynccontextmanager
    async def opening(change: Change, ui: Ui) -> AsyncIterator[Session]:
        wanted = msgspec.structs.replace(
            options,
            ui=ui,
            resume=change.session if change.kind == "resume" else None,
            fork=change.session if change.kind == "fork" else None,
        )
        async with create_session(wanted, environ) as session:
            yield session

    async with asyncio.TaskGroup() as tasks:
        app = App(front, settings, paths, tasks)
        app.start(_person(app, fast=fast))
        return await app.run(opening, ())


async def _person(app: App, *, fast: bool) -> None:
    """Types the request, sends it, and says at the end how to go on."""
    while app.session is None:  # noqa: ASYNC110
        await asyncio.sleep(LOOK_S)
    app.say(OPENING)
    if not fast:
        await asyncio.sleep(PAUSE_S)
        for end in range(1, len(REQUEST) + 1):
            app.editor.set_text(REQUEST[:end])
            app.screen.request_render()
            await asyncio.sleep(KEY_S)
        await asyncio.sleep(PAUSE_S / 2)
        app.editor.set_text("")
    session = app.session
    app.submit(REQUEST)
    await asyncio.sleep(LOOK_S)
    while app.session_runs:  # noqa: ASYNC110
        await asyncio.sleep(LOOK_S)
    if app.session is session:
        app.say(ENDING.format(quit=app.keys.label("app.exit") or "/exit"))
        app.screen.request_render()
    if fast:
        app.quit()
