"""The keys of the editor: which action a key means, and actions that only the editor knows."""

from collections.abc import Iterable

from tau.tui.input.bindings import Binding, Keymap

EDITOR_BINDINGS: dict[str, Binding] = {
    "tui.editor.expandPaste": Binding(("alt+e",), "Show a pasted text in full, or fold it again"),
    "tui.editor.deleteLine": Binding(("ctrl+shift+k",), "Delete the whole line"),
    "tui.editor.transpose": Binding((), "Exchange the two characters around the cursor"),
    "tui.editor.historySearch": Binding(("ctrl+r",), "Search what was sent before"),
}
"""Used where the table of keys does not have them; applications add them to theirs, so that users can."""


def keys_of(keys: Keymap, action: str) -> tuple[str, ...]:
    """The keys of an action, also of one that the table does not know."""
    if action in EDITOR_BINDINGS and action not in keys.bindings:
        return EDITOR_BINDINGS[action].keys
    return keys.keys_of(action)


def actions_by_key(keys: Keymap, actions: Iterable[str]) -> dict[str, str]:
    """Which of the actions a key means; the first one, if there are several."""
    found: dict[str, str] = {}
    for action in actions:
        for key in keys_of(keys, action):
            found.setdefault(key, action)
    return found
