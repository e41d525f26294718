"""`ctx.ui`: dialogs, and what extensions show around the conversation, in modes that have a place for it."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from tau.agent.ui import NoticeLevel
from tau.coding.extensions import ExtensionScreen
from tau.ext.extensions.calls import current_run
from tau.ext.extensions.context import HostClient, on_loop

if TYPE_CHECKING:
    from tau.tui.component import Component
    from tau.tui.input.key import InputEvent
    from tau.tui.style import Theme

T = TypeVar("T")
Dialog = Literal["select", "confirm", "input", "editor"]
Shown = Literal["status", "widget", "title"]
OnScreen = Literal["custom", "header", "footer", "working_message", "paste", "theme", "on_key"]
Capability = Dialog | Shown | OnScreen | Literal["notify", "set_editor", "editor_text", "tools_expanded"]
MODES_THAT_SHOW = frozenset(("interactive", "rpc"))


class ExtensionDialogs(HostClient):
    """Questions to the user. They wait until the user answers, which does not count as the handler's time."""

    @on_loop
    async def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str | None:
        """The chosen option; None if the user cancels, or cannot be asked."""
        ui = self._host.dialog_ui
        with self._dialog():
            return None if ui is None else await ui.select(title, options, timeout=timeout)

    @on_loop
    async def confirm(self, title: str, message: str = "", *, timeout: float | None = None) -> bool:
        """Whether the user said yes; False if they cannot be asked."""
        ui = self._host.dialog_ui
        with self._dialog():
            return False if ui is None else bool(await ui.confirm(title, message, timeout=timeout))

    @on_loop
    async def input(self, title: str, placeholder: str = "", *, timeout: float | None = None) -> str | None:
        ui = self._host.dialog_ui
        with self._dialog():
            return None if ui is None else await ui.input(title, placeholder, timeout=timeout)

    @on_loop
    async def editor(self, title: str, prefill: str = "") -> str | None:
        """Several lines of text."""
        ui = self._host.dialog_ui
        with self._dialog():
            return None if ui is None else await ui.editor(title, prefill)

    @on_loop
    async def custom(
        self,
        factory: "Callable[[Any, Theme, Any, Callable[[T], None]], Component]",
        *,
        overlay: bool = False,
    ) -> T | None:
        """Show what `factory(screen, theme, keys, done)` returns, until it calls `done(result)`."""
        screen = self._screen
        if screen is None:
            return None
        with self._dialog():
            result: T | None = await screen.custom((self._extension.name, factory), overlay=overlay)
            return result

    @property
    def _screen(self) -> ExtensionScreen | None:
        return self._host.screen

    @staticmethod
    def _dialog() -> AbstractContextManager[None]:
        run = current_run.get()
        return nullcontext() if run is None else run.dialog()


class ExtensionUi(ExtensionDialogs):
    """Where a mode cannot do something, the call does nothing and returns its default; see `can`."""

    @on_loop
    def can(self, what: Capability) -> bool:
        """Whether this mode can do it; otherwise the call returns None, False or an empty text."""
        host = self._host
        if what in get_args(Dialog):
            has_fields = host.mode != "acp" or what in ("select", "confirm")
            return host.dialog_ui is not None and has_fields
        if what == "notify":
            return True
        if what in get_args(Shown):
            return host.display is not None and host.mode in MODES_THAT_SHOW
        if what == "set_editor":
            return host.mode in MODES_THAT_SHOW
        return self._screen is not None

    @on_loop
    def notify(self, message: str, level: NoticeLevel = "info") -> None:
        self._host.notify(message, level)

    @on_loop
    def status(self, key: str, text: str | None) -> None:
        """A short text in the status line; None removes it."""
        if self.can("status") and (ui := self._host.display) is not None:
            self._extension.shown["status", key] = lambda: ui.status(name, None)
            ui.status(name := f"{self._extension.name}:{key}", text)

    @on_loop
    def widget(self, key: str, lines: Sequence[str] | None) -> None:
        """Lines above the editor; None removes them."""
        if self.can("widget") and (ui := self._host.display) is not None:
            self._extension.shown["widget", key] = lambda: ui.widget(name, None)
            ui.widget(name := f"{self._extension.name}:{key}", lines)

    @on_loop
    def title(self, text: str) -> None:
        if self.can("title") and (ui := self._host.display) is not None:
            ui.title(text)

    @on_loop
    def working_message(self, text: str | None) -> None:
        """What the line of the running agent says; None restores it."""
        self._place("working_message", text)

    def _place(self, name: OnScreen, what: Any) -> None:
        if (screen := self._screen) is not None:
            self._extension.shown[name, ""] = lambda: getattr(screen, name)(None)
            getattr(screen, name)(what)

    @on_loop
    def header(self, lines: Sequence[str] | None) -> None:
        """Lines above the conversation's end, up to 12; None removes them."""
        self._place("header", lines)

    @on_loop
    def footer(self, lines: Sequence[str] | None) -> None:
        """Lines below the editor, up to 12; None removes them."""
        self._place("footer", lines)

    @on_loop
    def editor_text(self) -> str:
        return "" if (screen := self._screen) is None else screen.editor_text()

    @on_loop
    def set_editor(self, text: str) -> None:
        """Replace the text in the user's editor."""
        if self.can("set_editor"):
            self._host.require_face().set_editor(text)

    @on_loop
    def paste(self, text: str) -> None:
        """Insert text at the cursor of the user's editor."""
        if (screen := self._screen) is not None:
            screen.paste(text)

    @on_loop
    def theme(self, name: str | None = None) -> "Theme | None":
        """The styles of the screen; with a name, the theme to use from now on."""
        if (screen := self._screen) is None:
            return None
        if name is not None:
            screen.use_theme(name)
        theme: Theme = screen.theme()
        return theme

    @on_loop
    def themes(self) -> Sequence[str]:
        return () if (screen := self._screen) is None else screen.themes()

    @on_loop
    def tools_expanded(self, expanded: bool | None = None) -> bool:
        """Whether tool calls are shown in full; with a value, show those that follow so."""
        return False if (screen := self._screen) is None else screen.tools_expanded(expanded)

    @on_loop
    def on_key(self, listener: "Callable[[InputEvent], bool | None]") -> Callable[[], None]:
        """Call `listener` with every key first; True uses it up. Returns a function that stops it."""
        if (screen := self._screen) is None:
            return lambda: None
        stop = screen.on_key(self._host.guarded(self._extension, "on_key", listener, None))
        self._extension.cleanups.append(stop)
        return stop
