"""Editor key bindings: key lookup, and actions that only the editor has."""

from collections.abc import Iterable

from tau.tui.input.bindings import Binding, Keymap

EDITOR_BINDINGS: dict[str, Binding] = {
    "tui.editor.expandPaste": Binding(("alt+e",), "Expand or collapse pasted text"),
    "tui.editor.deleteLine": Binding(("ctrl+shift+k",), "Delete the whole line"),
    "tui.editor.transpose": Binding((), "Swap the two characters around the cursor"),
    "tui.editor.historySearch": Binding(("ctrl+r",), "Search prompt history"),
    "tui.editor.normalMode": Binding((), "Vim keys: return to normal mode, as Esc does"),
}
"""Defaults if the keymap lacks them; applications add them to theirs so that users can rebind them."""


def keys_of(keys: Keymap, action: str) -> tuple[str, ...]:
    """Return the keys of an action, including those missing from the keymap."""
    if action in EDITOR_BINDINGS and action not in keys.bindings:
        return EDITOR_BINDINGS[action].keys
    return keys.keys_of(action)


class ActionKeys:
    """Looks up which of some actions a key currently triggers; the first one wins."""

    __slots__ = ("_actions", "_found", "_keys", "_version")

    def __init__(self, keys: Keymap, actions: Iterable[str]) -> None:
        self._keys = keys
        self._actions = tuple(actions)
        self._found: dict[str, str] = {}
        self._version = -1

    def get(self, key: str) -> str:
        """Return the action; "" if the key triggers none of them."""
        if self._version != self._keys.version:
            self._version = self._keys.version
            self._found = {}
            for action in self._actions:
                for name in keys_of(self._keys, action):
                    self._found.setdefault(name, action)
        return self._found.get(key, "")
