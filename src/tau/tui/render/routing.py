"""Routes input: listeners first, then the focused component, then the application."""

from collections.abc import Callable

from tau.tui.component import Component
from tau.tui.input.key import InputEvent, Key
from tau.tui.render.overlays import Overlay, OverlayOptions


class Consumed:
    """Returned by a listener to stop an event."""


CONSUMED = Consumed()
InputListener = Callable[[InputEvent], InputEvent | Consumed | None]
"""Returns the event or a replacement; None passes it unchanged."""


class Routing:
    """The focus, the stack of overlays and the listeners. `changed` is called when an overlay changes."""

    def __init__(self, size: Callable[[], tuple[int, int]], changed: Callable[[], None]) -> None:
        self.overlays: list[Overlay] = []
        self.focused: Component | None = None
        self._listeners: list[InputListener] = []
        self._size = size
        self._changed = changed

    def listen(self, listener: InputListener) -> Callable[[], None]:
        """Register a listener that sees every event first; call the result to remove it."""
        self._listeners.append(listener)

        def unlisten() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return unlisten

    def focus(self, component: Component | None) -> None:
        if component is not self.focused:
            if self.focused is not None:
                self.focused.focused = False
            self.focused = component
            if component is not None:
                component.focused = True

    def show(self, component: Component, options: OverlayOptions) -> Overlay:
        overlay = Overlay(component, options, self._overlay_changed)
        overlay.focus_before = self.focused
        self.overlays.append(overlay)
        if options.takes_focus and overlay.shows_at(*self._size()):
            self.focus(component)
        self._changed()
        return overlay

    def dispatch(self, event: InputEvent) -> bool:
        """Route one event; False if nothing handled it."""
        for listener in tuple(self._listeners):
            answer = listener(event)
            if isinstance(answer, Consumed):
                return True
            if answer is not None:
                event = answer
        self.correct_focus()
        focused = self.focused
        if isinstance(event, Key) and event.kind == "release" and not (focused and focused.wants_releases):
            return True
        return focused is not None and focused.handle_input(event)

    def correct_focus(self) -> None:
        """Move the focus away from invisible components and to an overlay that wants it."""
        columns, rows = self._size()
        owner = next((item for item in self.overlays if item.component is self.focused), None)
        if owner is not None and owner.shows_at(columns, rows):
            return
        top = self._top(columns, rows)
        if owner is not None:
            self.focus(top.component if top is not None else self._beneath(owner))
        elif top is not None and self._is_beneath(top):
            self.focus(top.component)

    def _top(self, columns: int, rows: int) -> Overlay | None:
        for overlay in reversed(self.overlays):
            if overlay.options.takes_focus and overlay.shows_at(columns, rows):
                return overlay
        return None

    def _is_beneath(self, top: Overlay) -> bool:
        """Whether the focus is still where it was before this overlay, which was hidden and is back."""
        return self.focused is not None and self.focused is top.focus_before

    def _beneath(self, overlay: Overlay) -> Component | None:
        """Return the focus before this overlay, skipping hidden overlays under it."""
        component = overlay.focus_before
        by_component = {id(item.component): item for item in self.overlays}
        seen: set[int] = set()
        while component is not None and id(component) in by_component and id(component) not in seen:
            seen.add(id(component))
            component = by_component[id(component)].focus_before
        return component

    def _overlay_changed(self, overlay: Overlay) -> None:
        """Handle an overlay that was hidden, shown again, or closed."""
        if not overlay.hidden and not overlay.closed:
            if overlay.options.takes_focus and overlay.shows_at(*self._size()):
                if self.focused is not overlay.component:
                    overlay.focus_before = self.focused
                self.focus(overlay.component)
        else:
            self.correct_focus()
        if overlay.closed and overlay in self.overlays:
            self.overlays.remove(overlay)
            for other in self.overlays:
                if other.focus_before is overlay.component:
                    other.focus_before = overlay.focus_before
        self._changed()
