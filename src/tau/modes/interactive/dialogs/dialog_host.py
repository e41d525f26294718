"""Hosts dialogs: a component replaces the editor until it is answered; the draft stays intact."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tau.modes.interactive.layout import ScreenLayout
from tau.tui.component import Component
from tau.tui.input.key import InputEvent
from tau.tui.render.frame_loop import DialogPlace
from tau.tui.render.screen import Screen

T = TypeVar("T")


class _Gap(Component):
    """Holds the focus between an answer and its caller's reaction, so that no key is lost."""

    def __init__(self) -> None:
        self.events: list[InputEvent] = []

    def render(self, width: int) -> Sequence[str]:
        return ()

    def handle_input(self, event: InputEvent) -> bool:
        self.events.append(event)
        return True


class Dialogs:
    """Shows one dialog at a time; others queue."""

    def __init__(self, screen: Screen, layout: ScreenLayout, editor: Component) -> None:
        self._screen = screen
        self._layout = layout
        self._editor = editor
        self._turn = asyncio.Lock()
        self._answer: asyncio.Future[Any] | None = None
        self.queued = 0
        """How many dialogs wait for the open one."""
        self._gap = _Gap()

    @property
    def open(self) -> bool:
        return self._answer is not None

    async def ask(
        self,
        make: Callable[[Callable[[T | None], None]], Component],
        *,
        timeout: float | None = None,
        place: DialogPlace = "alternate",
    ) -> T | None:
        """Show what `make(done)` returns until it calls `done(answer)`; None on timeout."""
        self.queued += 1
        try:
            await self._turn.acquire()
        finally:
            self.queued -= 1
        try:
            answer: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()

            def done(value: T | None) -> None:
                if not answer.done():
                    answer.set_result(value)
                    self._screen.focus(self._gap)

            self._answer = answer
            try:
                self._put(make(done), place)
                async with asyncio.timeout(timeout):
                    return await answer
            except TimeoutError:
                return None
            finally:
                self._answer = None
                self._put(self._editor)
                if self._gap.events:  # the caller may open the next dialog before this runs
                    asyncio.get_running_loop().call_soon(self._pass_on)
        finally:
            self._turn.release()

    def _pass_on(self) -> None:
        events, self._gap.events = self._gap.events, []
        self._screen.on_input(events)

    def cancel(self) -> None:
        """Close the open dialog without an answer."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(None)

    def _put(self, component: Component, place: DialogPlace | None = None) -> None:
        self._layout.slot.clear()
        self._layout.slot.add(component)
        self._screen.set_dialog(place)
        self._screen.focus(component)
        self._screen.request_render()
