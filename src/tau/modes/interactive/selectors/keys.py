"""Keys of the selectors beside those of lists in general, and what of them a person is told."""

from tau.tui.input.bindings import Keymap
from tau.tui.input.key import InputEvent


def pressed(keys: Keymap, event: InputEvent, action: str) -> bool:
    """Whether the event is a key of the action."""
    return keys.matches(event, action)


def label(keys: Keymap, action: str) -> str:
    """The first key of the action as a person reads it; "" where it has none."""
    return keys.label(action)
