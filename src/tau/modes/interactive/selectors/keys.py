"""Keys of the selectors beside those of lists in general, and what of them a person is told."""

from tau.tui.input.bindings import Keymap
from tau.tui.input.key import InputEvent
from tau.tui.input.names import label as plain_label


def pressed(keys: Keymap, event: InputEvent, action: str) -> bool:
    """Whether the event is a key of the action."""
    return keys.matches(event, action)


def label(keys: Keymap, action: str) -> str:
    """The first key of the action as a person reads it; "" where it has none."""
    names = keys.keys_of(action)
    return key_label(names[0]) if names else ""


def key_label(name: str) -> str:
    """A key as a person reads it; a capital letter takes Shift, where small ones are typed to search."""
    return f"Shift+{name}" if len(name) == 1 and name.isalpha() and name.isupper() else plain_label(name)
