"""The interactive mode as extensions see it: its screen, its editor, its sessions."""

import asyncio
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tau.agent.ui import NoticeLevel
from tau.base.errors import TauError
from tau.base.late import late
from tau.coding.extensions import SessionChange
from tau.coding.session.session import Session
from tau.modes.interactive.composition import ScreenParts
from tau.modes.interactive.current_session import SessionSwitch
from tau.modes.interactive.extension_component import ExtensionComponent, FixedRows
from tau.modes.interactive.screen_protocols import AppActions
from tau.tui.component import Component
from tau.tui.input.key import InputEvent
from tau.tui.render.overlays import OverlayOptions
from tau.tui.render.screen import CONSUMED, Consumed

appearance = late("tau.modes.interactive.themes.appearance")

MAX_LINES = 12
MESSAGE = "extension"
OVERLAY = OverlayOptions(width="100%", anchor="bottom-center")


class ScreenFace:
    """Implements `tau.coding.extensions.Face`."""

    mode = "interactive"

    def __init__(self, actions: AppActions, parts: ScreenParts, session: Session) -> None:
        self.display = parts.ui
        self.screen = ScreenForExtensions(parts)
        self._actions = actions
        self._session = session

    def prompt(self, text: str) -> None:
        self._actions.send(text)

    def wake(self) -> None:
        self._actions.wake()

    def set_editor(self, text: str) -> None:
        self.screen.set_editor(text)

    def shutdown(self) -> None:
        self._actions.quit()

    async def change_session(self, change: SessionChange) -> bool:
        path = self._session.log.path
        target = change.target if change.kind == "resume" else str(path or "")
        if change.kind == "fork" and (path is None or not path.exists()):
            raise TauError("This session is not saved, so it cannot be copied.")
        if not await self._session.hooks.before_leave(change.kind, change.target):
            return False
        self._actions.leave(
            SessionSwitch(
                change.kind,
                session="" if change.kind == "new" else target,
                entry=change.target if change.kind == "fork" else "",
                draft=change.draft,
                carried=self._session.model,
                is_agreed=True,
            )
        )
        return True


class ScreenForExtensions:
    """Implements `tau.coding.extensions.ExtensionScreen`."""

    def __init__(self, parts: ScreenParts) -> None:
        self._parts = parts
        self._context = parts.context
        self._display = parts.context.display
        self._header: Component | None = None
        self._footer: Component | None = None
        self._open: list[Callable[[None], None]] = []
        self._has_message = False

    async def custom(self, factory: Any, *, overlay: bool) -> object:
        """Show a component until it is done; it is disposed whatever happens."""
        name, make = factory
        text = self._display.editor.text
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()

        def finish(value: object) -> None:
            loop.call_soon_threadsafe(lambda: None if answer.done() else answer.set_result(value))

        def fault(problem: str, error: BaseException | None) -> None:
            self._say_fault(name, problem, error)
            finish(None)

        inner = make(self._display.screen, self._display.theme, self._display.keys, finish)
        if inspect.isawaitable(inner):
            inner = await inner
        if not callable(getattr(inner, "render", None)):
            raise TypeError(f"the function returned {type(inner).__name__}, not a component")
        component = ExtensionComponent(inner, fault)
        self._open.append(finish)
        try:
            return await (self._over(component, answer) if overlay else self._instead(component, answer))
        finally:
            self._open.remove(finish)
            component.dispose()
            if not overlay and self._display.editor.text != text:
                self._display.editor.set_text(text)
            self._display.request_render()

    async def _over(self, component: Component, answer: "asyncio.Future[object]") -> Any:
        shown = self._display.screen.show_overlay(component, OVERLAY)
        try:
            return await answer
        finally:
            shown.hide()

    async def _instead(self, component: Component, answer: "asyncio.Future[object]") -> Any:
        def make(done: Callable[[object], None]) -> Component:
            answer.add_done_callback(lambda ended: done(None if ended.cancelled() else ended.result()))
            return component

        return await self._parts.dialogs.ask(make, place="inline")

    def working_message(self, text: str | None) -> None:
        if text:
            self._context.activity.show(text, beside=MESSAGE)
        elif self._has_message:
            self._context.activity.hide(MESSAGE)
        self._has_message = bool(text)

    def header(self, lines: object) -> None:
        self._header = self._place(self._display.layout.above, self._header, lines)

    def footer(self, lines: object) -> None:
        self._footer = self._place(self._display.layout.below, self._footer, lines)

    def editor_text(self) -> str:
        return self._display.editor.text

    def set_editor(self, text: str) -> None:
        self._display.editor.set_text(text)
        self._display.request_render()

    def paste(self, text: str) -> None:
        self._display.editor.paste(text)
        self._display.request_render()

    def themes(self) -> Sequence[str]:
        return appearance.theme_names()

    def use_theme(self, name: str) -> None:
        self._context.themes.use(name)

    def theme(self) -> object:
        return self._display.theme

    def tools_expanded(self, expanded: bool | None) -> bool:
        return self._context.transcript.expand_tools(expanded)

    def on_key(self, listener: Callable[[object], bool | None]) -> Callable[[], None]:
        def listen(event: InputEvent) -> Consumed | None:
            return CONSUMED if listener(event) is True else None

        return self._display.screen.listen(listen)

    def close(self) -> None:
        for finish in tuple(self._open):
            finish(None)
        self.header(None)
        self.footer(None)
        self.working_message(None)

    def _place(self, box: Any, old: Component | None, lines: Any) -> Component | None:
        if old is not None:
            box.remove(old)
        new = FixedRows(list(lines)[:MAX_LINES]) if lines else None
        if new is not None:
            box.add(new)
        self._display.request_render()
        return new

    def _say_fault(self, name: str, problem: str, error: BaseException | None) -> None:
        detail = f": {type(error).__name__}: {error}" if error is not None else ""
        level: NoticeLevel = "warning"
        self._context.say(f"Extension {name}: its part of the screen was closed: {problem}{detail}.", level)
