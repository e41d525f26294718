"""Key bindings: named actions with default keys, and the user's overrides."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import json

from tau.base.late import late
from tau.tui.input.key import InputEvent, Key
from tau.tui.input.names import label as key_label
from tau.tui.input.names import normalize_key

difflib = late("difflib")

EDITOR_SCOPE = "editor"
SELECT_SCOPE = "select"
_TUI = "tui."


class Binding(NamedTuple):
    """An action: its default keys and its description."""

    keys: tuple[str, ...]
    description: str
    scope: str = ""
    """Actions of one scope are looked up together. By default the select actions have their own scope; all
    others share the editor's and are looked up while the editor has the focus."""


class KeyConflict(NamedTuple):
    """A key that the user's overrides bind to more than one action in the same place."""

    key: str
    actions: tuple[str, ...]
    """The winning action, then the losing ones."""
    scope: str

    def __str__(self) -> str:
        winner, *losers = self.actions
        return f"{key_label(self.key)} is bound to {winner} and {' and '.join(losers)}; {winner} wins."


BINDINGS: dict[str, Binding] = {
    action: Binding(tuple(keys.split()), description)
    for action, keys, description in json.decode(
        Path(__file__).with_name("bindings.json").read_bytes(), type=list[tuple[str, str, str]]
    )
}


class Keymap:
    """The keys of every action: the defaults, the application's table, and the user's overrides.

    If the user binds a key that other actions also have, one wins: the user's choice over a default, the
    application's actions over those of the editor and lists, else the first in the table. Callers must not
    cache lookups beyond a change of `version`.
    """

    def __init__(
        self,
        overrides: Mapping[str, Sequence[str]] | None = None,
        *,
        extra: Mapping[str, Binding] | None = None,
    ) -> None:
        self.bindings: dict[str, Binding] = BINDINGS | dict(extra or {})
        self.version = 0
        """Incremented when the keys change."""
        self.problems: list[str] = []
        """Problems in the user's keys, one sentence each."""
        self.conflicts: list[KeyConflict] = []
        self._keys: dict[str, tuple[str, ...]] = {}
        self.use(overrides or {})

    def use(self, overrides: Mapping[str, Sequence[str]]) -> None:
        """Replace the user's keys."""
        self.version += 1
        self.problems = []
        self._keys = {action: _unique(binding.keys) for action, binding in self.bindings.items()}
        changed = self._override(overrides)
        self.conflicts = self._conflicts(changed) if changed else []
        for conflict in self.conflicts:
            self._settle(conflict)

    def matches(self, event: InputEvent, action: str) -> bool:
        """Whether the event presses (or repeats) one of the action's keys; an unknown action has none."""
        return isinstance(event, Key) and event.kind != "release" and event.name in self._keys.get(action, ())

    def keys_of(self, action: str) -> tuple[str, ...]:
        """Return the canonical names of the action's keys; none if it is unbound or unknown."""
        return self._keys.get(action, ())

    def label(self, action: str) -> str:
        """Return the label of the action's first key; "" if there is none."""
        keys = self._keys.get(action)
        return key_label(keys[0]) if keys else ""

    def _override(self, overrides: Mapping[str, Sequence[str]]) -> set[str]:
        changed: set[str] = set()
        for action, written in overrides.items():
            if action not in self.bindings:
                self.problems.append(self._unknown(action))
                continue
            names = [written] if isinstance(written, str) else list(written)
            keys = [key for key in (self._name(action, name) for name in names) if key]
            # All invalid: keep the defaults, so that a typo does not remove a key.
            if names and not keys:
                continue
            self._keys[action] = _unique(keys)
            changed.add(action)
        return changed

    def _name(self, action: str, written: object) -> str:
        if not isinstance(written, str):
            self.problems.append(f"A key of {action} is not a string; write it like ctrl+k.")
            return ""
        try:
            return normalize_key(written)
        except ValueError as error:
            self.problems.append(f"The key {written!r} of {action} is ignored: {error}.")
            return ""

    def _unknown(self, action: str) -> str:
        near = difflib.get_close_matches(action, self.bindings, 1)
        hint = f"; did you mean {near[0]}?" if near else "."
        return f"Unknown action {action!r}{hint}"

    def _conflicts(self, changed: set[str]) -> list[KeyConflict]:
        """Return keys that the user bound to an action although another has them; defaults may share."""
        order = {action: place for place, action in enumerate(self.bindings)}
        conflicts: list[KeyConflict] = []
        for (scope, key), actions in self._actions_by_key().items():
            if len(actions) < 2 or not any(
                key not in self.bindings[action].keys for action in actions if action in changed
            ):
                continue
            actions.sort(key=lambda one: (one not in changed, one.startswith(_TUI), order[one]))
            if (conflict := KeyConflict(key, tuple(actions), scope)) not in conflicts:
                conflicts.append(conflict)
        return conflicts

    def _actions_by_key(self) -> dict[tuple[str, str], list[str]]:
        """Return the actions of each key, by scope."""
        taken: dict[tuple[str, str], list[str]] = {}
        lists = {_scope(*row) for row in self.bindings.items()} - {EDITOR_SCOPE, SELECT_SCOPE}
        for action, keys in self._keys.items():
            scope = _scope(action, self.bindings[action])
            for key in keys:
                taken.setdefault((scope, key), []).append(action)
        for (scope, key), actions in taken.items():
            if scope in lists:  # such a list also has the keys of all lists
                actions += taken.get((SELECT_SCOPE, key), ())
        return taken

    def _settle(self, conflict: KeyConflict) -> None:
        """Remove the key from the losers, unless the winner is looked up first and may be absent."""
        winner, *losers = conflict.actions
        for action in losers:
            rest = tuple(key for key in self._keys[action] if key != conflict.key)
            is_asked_later = action.startswith(_TUI) and not winner.startswith(_TUI)
            self._keys[action] = (*rest, conflict.key) if is_asked_later else rest


def _scope(action: str, binding: Binding) -> str:
    if binding.scope:
        return binding.scope
    return SELECT_SCOPE if action.startswith("tui.select.") else EDITOR_SCOPE


def _unique(keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(keys))
