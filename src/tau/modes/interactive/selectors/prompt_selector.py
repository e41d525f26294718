"""Ctrl+R: searches prompt history, of this session and all others."""

from collections.abc import Callable

from tau.base.late import late
from tau.coding.session_index.labels import age_text
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.selectors.panel import CANCEL, CONFIRM, Hint, Panel
from tau.modes.interactive.selectors.pick_list import PickList
from tau.tui.component import Component
from tau.tui.widgets.select_list import SelectItem

prompt_history = late("tau.coding.session_index.prompt_history")

MAX_FILTER_CHARS = 80
LABEL_CHARS = 400
HINTS = (Hint(CONFIRM, "insert into the editor"), Hint(CANCEL, "close"))


async def choose_prompt(context: CommandContext) -> None:
    """Insert the chosen prompt into the editor; undo restores the previous text."""
    prompts = await context.recall.all()
    if not prompts:
        context.hint("The prompt history is empty.")
        return
    items = [_item(number, prompt) for number, prompt in enumerate(prompts)]
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
        context.display.editor.set_text(prompts[chosen].text)
        context.display.request_render()


def _item(number: int, prompt: "prompt_history.PastPrompt") -> SelectItem[int]:
    label = " ".join(prompt.text[: 2 * LABEL_CHARS].split())[:LABEL_CHARS]
    return SelectItem(number, label, hint=age_text(prompt.time_ms) if prompt.time_ms else "")
