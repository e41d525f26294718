"""Keys of the selectors beside those of lists in general, and what of them a person is told."""

from collections.abc import Mapping

from tau.tui.input.bindings import Binding, Keymap
from tau.tui.input.key import InputEvent, Key
from tau.tui.input.names import label as plain_label

SELECTOR_BINDINGS: Mapping[str, Binding] = {
    "app.models.scope": Binding(("tab",), "Models: only your own set, or all", "models"),
    "app.models.saveDefault": Binding(("ctrl+s",), "Models: use it here and in new sessions", "models"),
    "app.thinking.saveDefault": Binding(("ctrl+s",), "Thinking: use it here and in new sessions", "thinking"),
    "app.settings.nextTab": Binding(("tab",), "Settings: next group", "settings"),
    "app.settings.previousTab": Binding(("shift+tab",), "Settings: previous group", "settings"),
    "app.settings.reset": Binding(("delete", "ctrl+r"), "Settings: back to the default", "settings"),
}
"""What the screen's own table need not know: an action that stands there too follows the user's keys."""


def pressed(keys: Keymap, event: InputEvent, action: str) -> bool:
    """Whether the event is a key of the action."""
    if action in keys.bindings:
        return keys.matches(event, action)
    return isinstance(event, Key) and event.kind != "release" and event.name in SELECTOR_BINDINGS[action].keys


def label(keys: Keymap, action: str) -> str:
    """The first key of the action as a person reads it; "" where it has none."""
    if action in keys.bindings or action not in SELECTOR_BINDINGS:
        names = keys.keys_of(action)
        return key_label(names[0]) if names else ""
    return key_label(SELECTOR_BINDINGS[action].keys[0])


def key_label(name: str) -> str:
    """A key as a person reads it; a capital letter takes Shift, where small ones are typed to search."""
    return f"Shift+{name}" if len(name) == 1 and name.isalpha() and name.isupper() else plain_label(name)
