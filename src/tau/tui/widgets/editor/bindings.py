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


class ActionKeys:
    """Which of some actions a key means, as the keys are now; the first one, if there are several."""

    __slots__ = ("_actions", "_found", "_keys", "_version")

    def __init__(self, keys: Keymap, actions: Iterable[str]) -> None:
        self._keys = keys
        self._actions = tuple(actions)
        self._found: dict[str, str] = {}
        self._version = -1

    def get(self, key: str) -> str:
        """The action; "" if the key means none of them."""
        if self._version != self._keys.version:
            self._version = self._keys.version
            self._found = {}
            for action in self._actions:
                for name in keys_of(self._keys, action):
                    self._found.setdefault(name, action)
        return self._found.get(key, "")
