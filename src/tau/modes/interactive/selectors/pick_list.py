"""A list in a panel: as tall as the terminal allows; disabled items can be highlighted."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic

from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.screen_protocols import Display
from tau.modes.interactive.selectors.panel import CANCEL, CONFIRM, Hint, Panel, list_rows
from tau.tui.component import Component
from tau.tui.text.clean import clean_line
from tau.tui.widgets.list_parts import DESCRIPTION_ROWS
from tau.tui.widgets.select_items import Choices, SelectItem, T
from tau.tui.widgets.select_list import COLUMN_WIDTH, SelectList


class AllChoices(Choices[T]):
    """Disabled items look disabled but can be reached, so that the panel can say why."""

    def at(self, place: int) -> SelectItem[T] | None:
        return self.items[self.order[place]] if 0 <= place < len(self.order) else None

    def place_of(self, value: T) -> int:
        return next((at for at, index in enumerate(self.order) if self.items[index].value == value), -1)

    def enabled_from(self, start: int, step: int, around: bool = False) -> int:
        return max(0, min(start, len(self.order) - 1))

    def matching(self, query: str) -> list[int]:
        """Enabled items come first, however well the others match."""
        found = super().matching(query)
        return sorted(found, key=lambda index: self.items[index].disabled) if query.strip() else found


class PickList(SelectList[T], Generic[T]):
    """`on_select` may get a disabled item; the owner says what is missing."""

    def __init__(self, display: Display, items: Iterable[SelectItem[T]] = (), **options: Any) -> None:
        self._display = display
        self._filterable = options.get("filterable", True)
        super().__init__(display.theme, display.keys, items, **{"kind": AllChoices, **options})

    def fit(self, rows: int, width: int) -> None:
        """Limit the list to the available rows."""
        below = self.choices.has_descriptions and width < COLUMN_WIDTH and not self._display.theme.linear
        around = self._filterable + 1 + (DESCRIPTION_ROWS + 1 if below else 0)
        self.max_rows = list_rows(self._display, rows - around)

    def change(self, index: int, *, label: str | None = None, description: str | None = None) -> None:
        """Change the label or description of an item by index; searching is unaffected."""
        items = self.choices.items
        if label is not None:
            items[index] = items[index]._replace(label=clean_line(label))
        if description is not None:
            items[index] = items[index]._replace(description=clean_line(description))
        self.invalidate()


async def pick(
    context: CommandContext,
    title: str,
    items: Sequence[SelectItem[T]],
    *,
    verb: str = "choose",
    **options: Any,
) -> T | None:
    """The value chosen from a list, or None."""

    def make(done: Callable[[T | None], None]) -> Component:
        chosen = PickList(context.display, items, on_cancel=lambda: done(None), **options)
        chosen.on_select = lambda item: done(item.value)
        hints = (Hint(CONFIRM, verb), Hint(CANCEL, "cancel"))
        return Panel(context.display, title, chosen, hints=hints, fit=chosen.fit)

    return await context.ask(make)
