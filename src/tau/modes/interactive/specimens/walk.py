"""The gallery on a terminal: a list of specimens, the chosen one below it, and the keys."""

import asyncio

from tau.modes.interactive.specimens.block import block_of, scene_of
from tau.modes.interactive.specimens.case import Specimen
from tau.modes.interactive.specimens.catalogue import SPECIMENS
from tau.tui.gallery.printed import PALETTES
from tau.tui.gallery.walk import Rule
from tau.tui.input.bindings import Binding, Keymap
from tau.tui.input.key import InputEvent
from tau.tui.render.screen import CONSUMED, Consumed, Screen
from tau.tui.style import Theme
from tau.tui.terminal.port import Terminal
from tau.tui.terminal.process import ProcessTerminal
from tau.tui.timer import Timer
from tau.tui.widgets.container import Container
from tau.tui.widgets.select_list import SelectItem, SelectList
from tau.tui.widgets.spacer import Spacer
from tau.tui.widgets.text import Text
from tau.tui.widgets.truncated import TruncatedText

BINDINGS = {
    "app.tools.expand": Binding(("ctrl+o",), "Show the specimen in full, or folded"),
    "gallery.theme": Binding(("ctrl+t",), "Change the theme"),
    "gallery.quit": Binding(("ctrl+q",), "Leave the gallery"),
}
LIST_ROWS = 8


class Walk:
    """What is on the screen, and what the keys do."""

    def __init__(self, terminal: Terminal, theme: Theme, timer: Timer, palette: str = "dark") -> None:
        self.keys = Keymap(extra=BINDINGS)
        self.screen = Screen(terminal, theme=theme, timer=timer)
        self.is_over = asyncio.Event()
        self._theme = theme
        self._palette = palette
        self._scene = scene_of(theme, self.keys, terminal.capabilities)
        self._specimen = next(iter(SPECIMENS.values()))
        self._holder = Container()
        self._about = TruncatedText(theme, "", "muted")
        self._list = SelectList(
            theme,
            self.keys,
            [SelectItem(s.name, s.name.partition("/")[2], s.about, s.tool) for s in SPECIMENS.values()],
            LIST_ROWS,
            on_change=lambda item: self._show(SPECIMENS[item.value]),
            on_cancel=self.is_over.set,
        )
        label = self.keys.label
        words = (
            f"{label('app.tools.expand')} shows it in full; {label('gallery.theme')} changes the theme; "
            f"{label('gallery.quit')} leaves."
        )
        help_text = Text(theme, words, "dim")
        self.screen.root.add(
            self._list, Rule(theme), self._about, Spacer(), self._holder, Spacer(), help_text
        )
        self.screen.listen(self._listen)
        self.screen.on_terminal_closed = self.is_over.set
        self._show(self._specimen)

    def start(self) -> None:
        self.screen.start()
        self.screen.focus(self._list)

    def stop(self) -> None:
        self.screen.stop("final")

    def _show(self, specimen: Specimen) -> None:
        self._specimen = specimen
        self._holder.clear()
        self._holder.add(block_of(specimen, self._scene))
        self._about.set_text(f"{specimen.name}: {specimen.about}")
        self.screen.request_render()

    def _listen(self, event: InputEvent) -> InputEvent | Consumed | None:
        if self.keys.matches(event, "gallery.quit"):
            self.is_over.set()
        elif self.keys.matches(event, "gallery.theme"):
            self._next_theme()
        elif self.keys.matches(event, "app.tools.expand"):
            self._scene.expanded = not self._scene.expanded
            self._show(self._specimen)
        else:
            return event
        return CONSUMED

    def _next_theme(self) -> None:
        names = list(PALETTES)
        self._palette = names[(names.index(self._palette) + 1) % len(names)]
        self._theme.use(PALETTES[self._palette], "none" if self._palette == "none" else "truecolor")
        self.screen.invalidate()


async def walk(theme: Theme, palette: str) -> None:
    """Show the gallery until the user leaves it."""
    loop = asyncio.get_running_loop()
    shown = Walk(ProcessTerminal(loop=loop), theme, loop, palette)
    shown.start()
    try:
        await shown.is_over.wait()
    finally:
        shown.stop()
