"""Ctrl+R: searches prompt history, of this session and all others."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tau.base.clock import now_ms
from tau.modes.interactive.selectors.panel import CANCEL, CONFIRM, Hint, Panel
from tau.modes.interactive.selectors.pick_list import PickList
from tau.tui.component import Component
from tau.tui.widgets.select_list import SelectItem

if TYPE_CHECKING:
    from tau.coding.session_index.prompt_history import PastPrompt
    from tau.modes.interactive.command_context import CommandContext

MAX_FILTER_CHARS = 80
LABEL_CHARS = 400
HINTS = (Hint(CONFIRM, "insert into the editor"), Hint(CANCEL, "leave"))
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


async def choose_prompt(context: "CommandContext") -> None:
    """Insert the chosen prompt into the editor; undo restores the previous text."""
    found = await context.recall.all()
    if not found:
        context.hint("The prompt history is empty.")
        return
    now = now_ms()
    items = [_item(number, prompt, now) for number, prompt in enumerate(found)]
    written = context.display.editor.text.strip()

    def make(done: Callable[[int | None], None]) -> Component:
        choices = PickList(context.display, items, on_cancel=lambda: done(None))
        choices.on_select = lambda item: done(item.value)
        if written and len(written) <= MAX_FILTER_CHARS and "\n" not in written:
            choices.set_filter(written)
            if choices.selected is None:
                choices.set_filter("")
        return Panel(context.display, "Prompt history", choices, hints=HINTS, fit=choices.fit)

    chosen = await context.ask(make)
    if chosen is not None:
        context.display.editor.set_text(found[chosen].text)
        context.display.request_render()


def _item(number: int, prompt: "PastPrompt", now: int) -> SelectItem[int]:
    label = " ".join(prompt.text[: 2 * LABEL_CHARS].split())[:LABEL_CHARS]
    return SelectItem(number, label, hint=_age(prompt.time_ms, now))


def _age(time_ms: int, now: int) -> str:
    """The age in a few letters; a date if it is old."""
    if not time_ms:
        return ""
    seconds = max(now - time_ms, 0) // 1000
    if seconds > 30 * 86_400:
        return time.strftime("%Y-%m-%d", time.localtime(time_ms / 1000))
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return "now"
