"""The interactive gallery of tool calls, folded or expanded."""

from tau.tui.component import Component
from tau.tui.input.bindings import Binding
from tau.tui.input.key import InputEvent
from tau.tui.render.screen import CONSUMED, Consumed
from tau.tui.style import Theme
from tau.tui.terminal.port import Terminal
from tau.tui.timer import Timer
from tools.gallery.specimens.block import block_of, scene_of
from tools.gallery.specimens.case import Specimen
from tools.gallery.specimens.catalogue import SPECIMENS
from tools.gallery.widgets.hall import Hall

BINDINGS = {"app.tools.expand": Binding(("ctrl+o",), "Show the specimen in full, or folded")}


class Walk(Hall[Specimen]):
    """Shows each specimen as a transcript block."""

    specimens = SPECIMENS
    bindings = BINDINGS

    def __init__(self, terminal: Terminal, theme: Theme, timer: Timer, palette: str = "dark") -> None:
        super().__init__(terminal, theme, timer, palette)
        self._context = scene_of(theme, self.keys, terminal.capabilities)
        label = self.keys.label
        self._help.set_text(
            f"{label('app.tools.expand')} shows it in full; {label('gallery.theme')} changes the theme; "
            f"{label('gallery.quit')} leaves."
        )
        self._specimen = next(iter(SPECIMENS.values()))
        self._show(self._specimen)

    def _group(self, specimen: Specimen) -> str:
        return specimen.tool

    def _built(self, specimen: Specimen) -> Component:
        self._specimen = specimen
        return block_of(specimen, self._context)

    def _listen(self, event: InputEvent) -> InputEvent | Consumed | None:
        if not self.keys.matches(event, "app.tools.expand"):
            return super()._listen(event)
        self._context.expanded = not self._context.expanded
        self._show(self._specimen)
        return CONSUMED
