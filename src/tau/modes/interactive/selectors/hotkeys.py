"""Shows all keyboard shortcuts and problems in the user's key bindings."""

from collections.abc import Callable

from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.selectors.panel import CANCEL, Hint, Panel
from tau.modes.interactive.selectors.pick_list import AllChoices, PickList
from tau.tui.component import Component
from tau.tui.input.bindings import Keymap
from tau.tui.input.names import label as key_label
from tau.tui.widgets.select_list import SelectItem

SHOWN_KEYS = 1
"""Further keys are listed after the description."""
PROBLEMS = "Problems in keybindings.json"
_GROUPS = (
    ("app.", "", "Screen"),
    ("tui.input.", "", "Editor"),
    ("tui.editor.", "", "Editor"),
    ("tui.select.", "", "Lists"),
    ("", "sessions", "Session list"),
    ("", "tree", "Session tree"),
    ("", "models", "Model list"),
    ("", "thinking", "Thinking levels"),
    ("", "settings", "Settings"),
)


async def choose_hotkeys(context: CommandContext) -> None:
    """Show all keys, searchable by description or name; read-only."""

    def make(done: Callable[[None], None]) -> Component:
        listed = PickList(
            context.display,
            hotkey_items(context.display.keys),
            kind=ActionChoices,
            on_cancel=lambda: done(None),
        )
        listed.on_select = lambda item: done(None)
        hints = (Hint(CANCEL, "close"),)
        panel = Panel(context.display, "Keys", listed, hints=hints, fit=listed.fit)

        def name(item: SelectItem[str] | None) -> None:
            """Show the action's name in the file."""
            action = "" if item is None or item.group == PROBLEMS else f"{item.value}, "
            panel.set_note(f"{action}{context.paths.keybindings.name}")

        listed.on_change = name
        name(listed.selected)
        return panel

    await context.ask(make)


class ActionChoices(AllChoices[str]):
    """Actions also match by name, which rows have no room to show."""

    def matching(self, query: str) -> list[int]:
        matches = super().matching(query)
        text, matched = query.strip().lower(), set(matches)
        by_name = [
            at for at, item in enumerate(self.items) if text in item.value.lower() and at not in matched
        ]
        return [*matches, *by_name]


def hotkey_items(keys: Keymap) -> list[SelectItem[str]]:
    """Problems first, then every action by group with its keys and description."""
    wrong = [*keys.problems, *map(str, keys.conflicts)]
    items = [SelectItem(f"problem {place}", text, "", PROBLEMS) for place, text in enumerate(wrong)]
    grouped: dict[str, list[SelectItem[str]]] = {}
    for action, binding in keys.bindings.items():
        labels = [key_label(name) for name in keys.keys_of(action)]
        shown = ", ".join(labels[:SHOWN_KEYS]) or "(no key)"
        also = f", also {', '.join(labels[SHOWN_KEYS:])}" if len(labels) > SHOWN_KEYS else ""
        group = group_of(action, binding.scope)
        words = f"{binding.description}{also}"
        grouped.setdefault(group, []).append(SelectItem(action, shown, words, group))
    order = dict.fromkeys(group for _, _, group in _GROUPS)
    return items + [item for group in [*order, *grouped] if group in grouped for item in grouped.pop(group)]


def group_of(action: str, scope: str) -> str:
    """The display name of the action's scope."""
    for start, of_scope, group in _GROUPS:
        if (scope and scope == of_scope) or (not scope and start and action.startswith(start)):
            return group
    return scope.capitalize() or "Other"
