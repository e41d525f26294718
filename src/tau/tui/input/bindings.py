"""Which keys do what: actions by name with default keys, and the user's own keys instead of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tau.base.late import late
from tau.tui.input.key import InputEvent, Key
from tau.tui.input.names import label as key_label
from tau.tui.input.names import normalized

difflib = late("difflib")

EDITOR_SCOPE = "editor"
SELECT_SCOPE = "select"
_TUI = "tui."


class Binding(NamedTuple):
    """An action: its default keys and what it does, in words for a list of keys."""

    keys: tuple[str, ...]
    description: str
    scope: str = ""
    """Actions of one scope are looked up together. By default the select actions are a scope of their own;
    all others share the editor's: they are looked up while the editor has the focus."""


class KeyConflict(NamedTuple):
    """A key that, by the user's choice, would mean more than one action where it is pressed."""

    key: str
    actions: tuple[str, ...]
    """The one that wins, and those that lose against it."""
    scope: str

    def __str__(self) -> str:
        winner, *losers = self.actions
        return f"{key_label(self.key)} is a key of {winner} and of {' and of '.join(losers)}; {winner} wins."


def _table(rows: Iterable[tuple[str, str, str]]) -> dict[str, Binding]:
    return {action: Binding(tuple(keys.split()), description) for action, keys, description in rows}


BINDINGS: dict[str, Binding] = _table(
    (
        ("tui.editor.cursorUp", "up", "Move the cursor up"),
        ("tui.editor.cursorDown", "down", "Move the cursor down"),
        ("tui.editor.cursorLeft", "left ctrl+b", "Move the cursor left"),
        ("tui.editor.cursorRight", "right ctrl+f", "Move the cursor right"),
        ("tui.editor.cursorWordLeft", "alt+left ctrl+left alt+b", "Move a word to the left"),
        ("tui.editor.cursorWordRight", "alt+right ctrl+right alt+f", "Move a word to the right"),
        ("tui.editor.cursorLineStart", "home ctrl+a", "Move to the start of the line"),
        ("tui.editor.cursorLineEnd", "end ctrl+e", "Move to the end of the line"),
        ("tui.editor.cursorParagraphUp", "ctrl+up alt+{", "Move to the paragraph above"),
        ("tui.editor.cursorParagraphDown", "ctrl+down alt+}", "Move to the paragraph below"),
        ("tui.editor.cursorStart", "ctrl+home alt+<", "Move to the start of the text"),
        ("tui.editor.cursorEnd", "ctrl+end alt+>", "Move to the end of the text"),
        ("tui.editor.jumpForward", "ctrl+]", "Jump forward to a character"),
        ("tui.editor.jumpBackward", "ctrl+alt+]", "Jump backward to a character"),
        ("tui.editor.pageUp", "pageUp", "Move a page up"),
        ("tui.editor.pageDown", "pageDown", "Move a page down"),
        (
            "tui.editor.deleteCharBackward",
            "backspace shift+backspace",
            "Delete the character on the left",
        ),
        (
            "tui.editor.deleteCharForward",
            "delete ctrl+d shift+delete",
            "Delete the character on the right",
        ),
        (
            "tui.editor.deleteWordBackward",
            "ctrl+w alt+backspace ctrl+backspace alt+super+backspace",
            "Delete the word on the left",
        ),
        (
            "tui.editor.deleteWordForward",
            "alt+delete alt+d ctrl+delete alt+super+delete alt+super+d",
            "Delete the word on the right",
        ),
        ("tui.editor.deleteToLineStart", "ctrl+u", "Delete to the start of the line"),
        ("tui.editor.deleteToLineEnd", "ctrl+k", "Delete to the end of the line"),
        ("tui.editor.yank", "ctrl+y", "Insert what was deleted last"),
        ("tui.editor.yankPop", "alt+y", "Replace what was inserted by what was deleted before it"),
        ("tui.editor.undo", "ctrl+- ctrl+_", "Undo"),
        ("tui.editor.redo", "alt+- ctrl+shift+z", "Redo"),
        ("tui.input.newLine", "shift+enter ctrl+j", "Begin a new line"),
        ("tui.input.submit", "enter", "Submit the text"),
        ("tui.input.tab", "tab", "Complete, or insert a tab"),
        ("tui.input.copy", "ctrl+c", "Copy the selection"),
        ("tui.select.up", "up", "Move the selection up"),
        ("tui.select.down", "down", "Move the selection down"),
        ("tui.select.pageUp", "pageUp", "Move the selection a page up"),
        ("tui.select.pageDown", "pageDown", "Move the selection a page down"),
        ("tui.select.confirm", "enter", "Take the selection"),
        ("tui.select.cancel", "escape ctrl+c", "Leave without a selection"),
    )
)


class Keymap:
    """The keys of every action: the defaults, the application's own table, and the user's keys over both.

    Where the user has given a key to an action that others have too, one of them wins: the user's choice over
    a default, the application's actions over those of the editor and of lists, else the first in the table.
    Who looks actions up asks every time, or again when `version` has changed.
    """

    def __init__(
        self,
        overrides: Mapping[str, Sequence[str]] | None = None,
        *,
        extra: Mapping[str, Binding] | None = None,
    ) -> None:
        self.bindings: dict[str, Binding] = BINDINGS | dict(extra or {})
        self.version = 0
        """Counts how often the keys have changed."""
        self.problems: list[str] = []
        """What could not be used of the user's keys, one sentence each."""
        self.conflicts: list[KeyConflict] = []
        self._keys: dict[str, tuple[str, ...]] = {}
        self.use(overrides or {})

    def use(self, overrides: Mapping[str, Sequence[str]]) -> None:
        """From now on these are the user's keys."""
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
        """The canonical names of the action's keys; none for an action that is not bound or not known."""
        return self._keys.get(action, ())

    def label(self, action: str) -> str:
        """The first of the action's keys as a person reads it; "" where there is none."""
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
            # Only mistakes: the defaults stay, so that a slip of the pen does not take a key away.
            if names and not keys:
                continue
            self._keys[action] = _unique(keys)
            changed.add(action)
        return changed

    def _name(self, action: str, written: object) -> str:
        if not isinstance(written, str):
            self.problems.append(f"A key of {action} is not a text; write it like ctrl+k.")
            return ""
        try:
            return normalized(written)
        except ValueError as error:
            self.problems.append(f"The key {written!r} of {action} is not used: {error}.")
            return ""

    def _unknown(self, action: str) -> str:
        near = difflib.get_close_matches(action, self.bindings, 1)
        hint = f"; did you mean {near[0]}?" if near else "."
        return f"There is no action {action!r} to bind keys to{hint}"

    def _conflicts(self, changed: set[str]) -> list[KeyConflict]:
        """Keys that the user gave to an action though another has them there; defaults may share."""
        order = {action: place for place, action in enumerate(self.bindings)}
        found: list[KeyConflict] = []
        for (scope, key), actions in self._taken().items():
            if len(actions) < 2 or not any(
                self._is_new(action, key) for action in actions if action in changed
            ):
                continue
            actions.sort(key=lambda one: (one not in changed, one.startswith(_TUI), order[one]))
            if (conflict := KeyConflict(key, tuple(actions), scope)) not in found:
                found.append(conflict)
        return found

    def _taken(self) -> dict[tuple[str, str], list[str]]:
        """The actions of each key, by the place where they are looked up."""
        taken: dict[tuple[str, str], list[str]] = {}
        lists = {_scope(*row) for row in self.bindings.items()} - {EDITOR_SCOPE, SELECT_SCOPE}
        for action, keys in self._keys.items():
            scope = _scope(action, self.bindings[action])
            for key in keys:
                taken.setdefault((scope, key), []).append(action)
        for (scope, key), actions in taken.items():
            if scope in lists:  # such a list has the keys of all lists too
                actions += taken.get((SELECT_SCOPE, key), ())
        return taken

    def _settle(self, conflict: KeyConflict) -> None:
        """Who loses has the key no more; or only where the winner, who is asked first, is not there."""
        winner, *losers = conflict.actions
        for action in losers:
            rest = tuple(key for key in self._keys[action] if key != conflict.key)
            is_asked_later = action.startswith(_TUI) and not winner.startswith(_TUI)
            self._keys[action] = (*rest, conflict.key) if is_asked_later else rest

    def _is_new(self, action: str, key: str) -> bool:
        return key not in self.bindings[action].keys


def _scope(action: str, binding: Binding) -> str:
    if binding.scope:
        return binding.scope
    return SELECT_SCOPE if action.startswith("tui.select.") else EDITOR_SCOPE


def _unique(keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(keys))
