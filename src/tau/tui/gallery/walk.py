"""The gallery on a terminal: a list of specimens, the chosen one below it, and the keys."""

import asyncio
from collections.abc import Sequence

from tau.tui.component import Component
from tau.tui.gallery.catalogue import SPECIMENS
from tau.tui.gallery.printed import PALETTES
from tau.tui.gallery.specimen import Bench, Specimen
from tau.tui.input.bindings import Binding, Keymap
from tau.tui.input.key import InputEvent
from tau.tui.render.screen import CONSUMED, Consumed, Overlay, OverlayOptions, Screen
from tau.tui.style import Theme
from tau.tui.terminal.port import Terminal
from tau.tui.terminal.process import ProcessTerminal
from tau.tui.timer import Timer
from tau.tui.widgets.box import Box
from tau.tui.widgets.container import Container
from tau.tui.widgets.scroll_view import ScrollView
from tau.tui.widgets.select_list import SelectItem, SelectList
from tau.tui.widgets.spacer import Spacer
from tau.tui.widgets.text import Text
from tau.tui.widgets.truncated import TruncatedText

BINDINGS = {
    "gallery.switch": Binding(("ctrl+o",), "Give the keys to the specimen, or back to the list"),
    "gallery.keys": Binding(("ctrl+g",), "Show all keys over the gallery"),
    "gallery.theme": Binding(("ctrl+t",), "Change the theme"),
    "gallery.quit": Binding(("ctrl+q",), "Leave the gallery"),
}
LIST_ROWS = 8


class Rule(Component):
    """A line across the screen; a blank row for a screen reader."""

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


class Walk:
    """What is on the screen, and what the keys do."""

    def __init__(self, terminal: Terminal, theme: Theme, timer: Timer, palette: str = "dark") -> None:
        self.keys = Keymap(extra=BINDINGS)
        self.screen = Screen(terminal, theme=theme, timer=timer)
        self.is_over = asyncio.Event()
        self._theme = theme
        self._timer = timer
        self._palette = palette
        self._bench: Bench | None = None
        self._overlay: Overlay | None = None
        self._specimen: Component = Spacer(0)
        self._holder = Container()
        self._about = TruncatedText(theme, "", "muted")
        self._help = Text(theme, "", "dim")
        self._list = SelectList(
            theme,
            self.keys,
            [SelectItem(s.name, s.name.partition("/")[2], s.about, s.component) for s in SPECIMENS.values()],
            LIST_ROWS,
            on_select=lambda item: self._give_keys(),
            on_change=lambda item: self._show(SPECIMENS[item.value]),
            on_cancel=self.is_over.set,
        )
        self.screen.root.add(
            self._list, Rule(theme), self._about, Spacer(), self._holder, Spacer(), self._help
        )
        self.screen.listen(self._listen)
        self.screen.on_terminal_closed = self.is_over.set
        self._show(next(iter(SPECIMENS.values())))

    def start(self) -> None:
        self.screen.start()
        self.screen.focus(self._list)

    def stop(self) -> None:
        if self._bench is not None:
            self._bench.close()
        self.screen.stop("final")

    def _show(self, specimen: Specimen) -> None:
        if self._bench is not None:
            self._bench.close()
        self._bench = Bench(self._theme, self.keys, self._timer, self.screen.render_component)
        self._specimen = specimen.build(self._bench)
        self._specimen.focused = False
        self._holder.clear()
        self._holder.add(self._specimen)
        self._about.set_text(f"{specimen.name}: {specimen.about}")
        self._explain()
        self.screen.request_render()

    def _listen(self, event: InputEvent) -> InputEvent | Consumed | None:
        if self.keys.matches(event, "gallery.quit"):
            self.is_over.set()
        elif self.keys.matches(event, "gallery.theme"):
            self._next_theme()
        elif self.keys.matches(event, "gallery.keys"):
            self._show_keys()
        elif self.keys.matches(event, "gallery.switch"):
            if self.screen.focused is self._list:
                self._give_keys()
            else:
                self.screen.focus(self._list)
                self._explain()
        else:
            return event
        return CONSUMED

    def _give_keys(self) -> None:
        self.screen.focus(self._specimen)
        self._explain()

    def _next_theme(self) -> None:
        names = list(PALETTES)
        self._palette = names[(names.index(self._palette) + 1) % len(names)]
        self._theme.use(PALETTES[self._palette], "none" if self._palette == "none" else "truecolor")
        self.screen.invalidate()

    def _show_keys(self) -> None:
        """All keys, in a box over the rest; the same key or escape takes it away."""
        if self._overlay is not None:
            self._overlay.hide()
            self._overlay = None
            return
        lines = [f"{self.keys.label(action):12} {b.description}" for action, b in self.keys.bindings.items()]
        view = ScrollView(
            self._theme, self.keys, Text(self._theme, "\n".join(lines)), 15, on_cancel=self._show_keys
        )
        box = Box(self._theme, view, "Keys", border_token="borderActive")
        self._overlay = self.screen.show_overlay(box, OverlayOptions(width="80%"))

    def _explain(self) -> None:
        label = self.keys.label
        in_list = self.screen.focused is not self._specimen
        first = "Enter tries the specimen" if in_list else f"{label('gallery.switch')} goes back to the list"
        leave = f"{label('gallery.quit')} leaves"
        others = f"{label('gallery.keys')} shows all keys; {label('gallery.theme')} changes the theme"
        self._help.set_text(f"{first}; {others}; {leave}.")


async def walk(theme: Theme, palette: str) -> None:
    """Show the gallery until the user leaves it."""
    loop = asyncio.get_running_loop()
    shown = Walk(ProcessTerminal(loop=loop), theme, loop, palette)
    shown.start()
    try:
        await shown.is_over.wait()
    finally:
        shown.stop()
