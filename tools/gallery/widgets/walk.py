"""The interactive gallery of widgets."""

from tau.tui.component import Component
from tau.tui.input.bindings import Binding
from tau.tui.input.key import InputEvent
from tau.tui.render.screen import CONSUMED, Consumed, Overlay, OverlayOptions
from tau.tui.style import Theme
from tau.tui.terminal.port import Terminal
from tau.tui.timer import Timer
from tau.tui.widgets.container import Spacer
from tau.tui.widgets.text import Text
from tools.gallery.widgets.catalogue import SPECIMENS
from tools.gallery.widgets.hall import Hall
from tools.gallery.widgets.scroll_view import ScrollView
from tools.gallery.widgets.specimen import Bench, Specimen

BINDINGS = {
    "gallery.switch": Binding(("ctrl+o",), "Give the keys to the specimen, or back to the list"),
    "gallery.keys": Binding(("ctrl+g",), "Show all keys over the gallery"),
}


class Walk(Hall[Specimen]):
    """A selected specimen gets the focus until the user returns to the list."""

    specimens = SPECIMENS
    bindings = BINDINGS

    def __init__(self, terminal: Terminal, theme: Theme, timer: Timer, palette: str = "dark") -> None:
        super().__init__(terminal, theme, timer, palette)
        self._bench: Bench | None = None
        self._overlay: Overlay | None = None
        self._specimen: Component = Spacer(0)
        self._show(next(iter(SPECIMENS.values())))

    def stop(self) -> None:
        if self._bench is not None:
            self._bench.close()
        super().stop()

    def _group(self, specimen: Specimen) -> str:
        return specimen.component

    def _built(self, specimen: Specimen) -> Component:
        if self._bench is not None:
            self._bench.close()
        self._bench = Bench(self._theme, self.keys, self._timer, self.screen.render_component)
        self._specimen = specimen.build(self._bench)
        self._specimen.focused = False
        self._explain()
        return self._specimen

    def _listen(self, event: InputEvent) -> InputEvent | Consumed | None:
        if self.keys.matches(event, "gallery.keys"):
            self._show_keys()
        elif self.keys.matches(event, "gallery.switch"):
            if self.screen.focused is self._list:
                self._try()
            else:
                self.screen.focus(self._list)
                self._explain()
        else:
            return super()._listen(event)
        return CONSUMED

    def _try(self) -> None:
        self.screen.focus(self._specimen)
        self._explain()

    def _show_keys(self) -> None:
        """Show all keys in an overlay; the same key or Escape closes it."""
        if self._overlay is not None:
            self._overlay.hide()
            self._overlay = None
            return
        lines = [f"{self.keys.label(action):12} {b.description}" for action, b in self.keys.bindings.items()]
        view = ScrollView(
            self._theme, self.keys, Text(self._theme, "\n".join(lines)), 15, on_cancel=self._show_keys
        )
        self._overlay = self.screen.show_overlay(view, OverlayOptions(width="80%"))

    def _explain(self) -> None:
        label = self.keys.label
        in_list = self.screen.focused is not self._specimen
        first = "Enter tries the specimen" if in_list else f"{label('gallery.switch')} goes back to the list"
        leave = f"{label('gallery.quit')} leaves"
        others = f"{label('gallery.keys')} shows all keys; {label('gallery.theme')} changes the theme"
        self._help.set_text(f"{first}; {others}; {leave}.")
