"""An interactive gallery: a list of specimens, the selected one below it, and key hints."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from tau.tui.component import Component
from tau.tui.input.bindings import Binding, Keymap
from tau.tui.input.key import InputEvent
from tau.tui.render.screen import CONSUMED, Consumed, Screen
from tau.tui.style import Theme
from tau.tui.terminal.port import Terminal
from tau.tui.terminal.process_terminal import ProcessTerminal
from tau.tui.timer import Timer
from tau.tui.widgets.container import Container, Spacer
from tau.tui.widgets.select_list import SelectItem, SelectList
from tau.tui.widgets.text import Text
from tools.gallery.widgets.printed import PALETTES
from tools.gallery.widgets.truncated import TruncatedText

BINDINGS = {
    "gallery.theme": Binding(("ctrl+t",), "Change the theme"),
    "gallery.quit": Binding(("ctrl+q",), "Leave the gallery"),
}
LIST_ROWS = 8


class Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def about(self) -> str: ...


S = TypeVar("S", bound=Named)


class Rule(Component):
    """A horizontal line; a blank row for screen readers."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self._rows: list[str] = []
        self._width = -1

    def invalidate(self) -> None:
        self._width = -1

    def render(self, width: int) -> Sequence[str]:
        if width != self._width:
            self._width = width
            line = "" if self._theme.linear else self._theme.symbols.rule * width
            self._rows = [self._theme["rule"](line)]
        return self._rows


class Hall(Generic[S]):
    """The screen and its keys. Subclasses list the specimens and build the selected one."""

    specimens: Mapping[str, S]
    bindings: Mapping[str, Binding] = {}

    def __init__(self, terminal: Terminal, theme: Theme, timer: Timer, palette: str = "dark") -> None:
        self.keys = Keymap(extra={**self.bindings, **BINDINGS})
        self.screen = Screen(terminal, theme=theme, timer=timer)
        self.is_over = asyncio.Event()
        self._theme = theme
        self._timer = timer
        self._palette = palette
        self._holder = Container()
        self._about = TruncatedText(theme, "", "muted")
        self._help = Text(theme, "", "dim")
        self._list = SelectList(
            theme,
            self.keys,
            [
                SelectItem(one.name, one.name.partition("/")[2], one.about, self._group(one))
                for one in self.specimens.values()
            ],
            LIST_ROWS,
            on_select=lambda item: self._try(),
            on_change=lambda item: self._show(self.specimens[item.value]),
            on_cancel=self.is_over.set,
        )
        self.screen.root.add(
            self._list, Rule(theme), self._about, Spacer(), self._holder, Spacer(), self._help
        )
        self.screen.listen(self._listen)
        self.screen.on_terminal_closed = self.is_over.set

    @classmethod
    async def through(cls, theme: Theme, palette: str) -> None:
        """Show the gallery on this terminal until the user leaves it."""
        loop = asyncio.get_running_loop()
        shown = cls(ProcessTerminal(loop=loop), theme, loop, palette)
        shown.start()
        try:
            await shown.is_over.wait()
        finally:
            shown.stop()

    def start(self) -> None:
        self.screen.start()
        self.screen.focus(self._list)

    def stop(self) -> None:
        self.screen.stop("final")

    def _group(self, specimen: S) -> str:
        """Return the group of a specimen."""
        raise NotImplementedError

    def _built(self, specimen: S) -> Component:
        """Build the component to show."""
        raise NotImplementedError

    def _try(self) -> None:
        """Focus the specimen, if it takes input."""

    def _show(self, specimen: S) -> None:
        built = self._built(specimen)
        self._holder.clear()
        self._holder.add(built)
        self._about.set_text(f"{specimen.name}: {specimen.about}")
        self.screen.request_render()

    def _listen(self, event: InputEvent) -> InputEvent | Consumed | None:
        if self.keys.matches(event, "gallery.quit"):
            self.is_over.set()
        elif self.keys.matches(event, "gallery.theme"):
            self._next_theme()
        else:
            return event
        return CONSUMED

    def _next_theme(self) -> None:
        names = list(PALETTES)
        self._palette = names[(names.index(self._palette) + 1) % len(names)]
        self._theme.use(PALETTES[self._palette], "none" if self._palette == "none" else "truecolor")
        self.screen.invalidate()
