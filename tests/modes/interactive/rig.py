"""A real screen on an in-memory terminal, with a real session and a scripted model."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tau.agent.loop_owner import StreamFunction
from tau.ai.faux import Faux, FauxStep
from tau.base.errors import TauError
from tau.coding.session.session import Session
from tau.config.layers import RunOverrides, load_settings
from tau.config.paths import user_paths
from tau.modes.interactive.app import App
from tau.modes.interactive.current_session import SessionSwitch
from tau.modes.interactive.early_screen import EarlyScreen
from tau.modes.interactive.themes.appearance import appearance_of
from tau.modes.interactive.ui_controller import ScreenUi
from tau.modes.user_prompt import UserPrompt
from tau.sdk import SessionOptions, create_session
from tests.modes.interactive.clock import ScreenClock
from tests.support.idle import rest, until
from tests.support.limits import HANG_S
from tests.support.terminal.virtual import VirtualTerminal

DRAWN_S = 0.05
"""How long to wait for something that may draw at any time, like a running command."""


class Rig:
    """`show` waits until a text is on the screen; `screen` is the current content."""

    def __init__(
        self, app: App, front: EarlyScreen, terminal: VirtualTerminal, faux: Faux, clock: ScreenClock
    ) -> None:
        self.app = app
        self.front = front
        self.current = app.current
        self.parts = app.parts
        self.context = app.parts.context
        self.terminal = terminal
        self.faux = faux
        self.clock = clock

    @property
    def session(self) -> Session:
        assert self.current.session is not None
        return self.current.session

    def screen(self) -> str:
        return "\n".join(self.terminal.screen())

    def tape(self) -> str:
        """The history of the terminal and its screen."""
        return "\n".join(self.terminal.tape())

    async def show(self, text: str) -> str:
        """The screen, as soon as this text is on it."""
        await self.until(lambda: text in self.screen(), f"{text!r} on the screen")
        return self.screen()

    async def gone(self, text: str) -> str:
        await self.until(lambda: text not in self.screen(), f"{text!r} gone from the screen")
        return self.screen()

    async def until(self, holds: Callable[[], bool], what: str = "it") -> None:
        await until(holds, HANG_S, lambda: f"waited in vain for {what}:\n{self.screen()}")

    async def idle(self) -> None:
        """Nothing runs, and everything is drawn."""
        await self.until(
            lambda: self.current.session is not None and not self.current.session.busy, "the end of what runs"
        )
        await self.drawn()

    async def drawn(self) -> str:
        """The screen once it shows the result of every action."""
        await rest(DRAWN_S)
        return self.screen()

    async def rested(self) -> None:
        """All work has finished, including threads and children."""
        assert await rest(HANG_S), f"waited in vain for an end of all work:\n{self.screen()}"

    def skip(self, seconds: float) -> None:
        """Let this much screen time pass."""
        self.clock.skip(seconds)

    async def type(self, text: str) -> None:
        self.terminal.type(text)
        await asyncio.sleep(0)

    async def press(self, *names: str) -> None:
        for name in names:
            self.terminal.press(name)
            await asyncio.sleep(0)

    async def send(self, text: str) -> None:
        """Type it and press Enter."""
        await self.type(text)
        await self.press("enter")


@asynccontextmanager
async def rigged(
    folder: Path,
    answers: Sequence[Sequence[FauxStep]] = (),
    *,
    columns: int = 80,
    rows: int = 24,
    prompts: Sequence[str] = (),
    settings: dict[str, Any] | None = None,
    terminal: VirtualTerminal | None = None,
    clock: ScreenClock | None = None,
    refusals: Sequence[TauError] = (),
    stream: StreamFunction | None = None,
    **options: Any,
) -> AsyncIterator[Rig]:
    """The interactive mode as the program starts it; it ends with the block.

    `stream` replaces the script. `clock` replaces that of the screen, to freeze it.
    `refusals` are the errors of the first attempts to open a session.
    """
    terminal = terminal or VirtualTerminal(columns, rows)
    clock = clock or ScreenClock()
    faux = Faux(answers or [[]])
    paths = user_paths(os.environ)
    flags = {"titles.enabled": False, **(settings or {})}
    made = SessionOptions(cwd=folder, stream=stream or faux.stream, settings=flags, **options)
    given = RunOverrides(made.config_files, flags)
    loaded = load_settings(paths, folder, files=given.files, flags=given.flags).settings
    look = appearance_of(loaded, terminal.capabilities, os.environ)
    front = EarlyScreen(terminal, look, timer=clock, cwd=folder)
    refusing = list(refusals)

    @asynccontextmanager
    async def opening(change: SessionSwitch, ui: ScreenUi) -> AsyncIterator[Session]:
        if refusing:
            raise refusing.pop(0)
        wanted = replace(made, ui=ui, dialogs=ui)
        if change.kind != "first":
            wanted = replace(
                wanted,
                continue_recent=False,
                resume=change.session if change.kind == "resume" else None,
                fork=change.session if change.kind == "fork" else None,
            )
        async with create_session(wanted) as session:
            yield session

    front.open()
    try:
        async with asyncio.TaskGroup() as tasks:
            app = App(front, loaded, paths, tasks, given)
            running = tasks.create_task(app.run(opening, [UserPrompt(text) for text in prompts]))
            rig = Rig(app, front, terminal, faux, clock)
            await rig.until(
                lambda: app.current.session is not None or app.parts.dialogs.open or running.done(),
                "a session",
            )
            try:
                yield rig
            finally:
                app.quit()
                await running
    finally:
        front.close()


def run(test: Callable[[], Awaitable[None]]) -> None:
    """Run an async test in its own loop."""

    async def main() -> None:
        await test()

    asyncio.run(main())
