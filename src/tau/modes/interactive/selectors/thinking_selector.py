"""Chooses the thinking level."""

from collections.abc import Callable

from tau.ai.model import ThinkingLevel
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.selectors.panel import CANCEL, CONFIRM, Hint, Panel
from tau.modes.interactive.selectors.pick_list import PickList
from tau.modes.interactive.selectors.setting_changes import save_setting
from tau.tui.component import Component
from tau.tui.widgets.select_list import SelectItem

SAVE = "app.thinking.saveDefault"
HINTS = (Hint(CONFIRM, "use"), Hint(CANCEL, "close"), Hint(SAVE, "use and make default"))
WORDS: dict[ThinkingLevel, str] = {
    "off": "answers immediately",
    "minimal": "thinks very briefly",
    "low": "thinks a little: for simple work",
    "medium": "for most work",
    "high": "for hard problems",
    "xhigh": "for the hardest ones: slow and expensive",
    "max": "as much as possible",
}


async def choose_thinking(context: CommandContext) -> None:
    """Ask for a level and use it from the next request on."""
    session = context.require_session()
    if not session.model.reasoning:
        context.say(f"{session.model.name} does not support thinking; /model shows models that do.")
        return
    items = [SelectItem(level, level, WORDS[level]) for level in session.model.thinking_levels()]

    def make(done: Callable[[tuple[ThinkingLevel, bool] | None], None]) -> Component:
        levels = PickList(context.display, items, filterable=False, current=session.thinking)
        levels.on_cancel = lambda: done(None)
        levels.on_select = lambda item: done((item.value, False))

        def save() -> None:
            if levels.selected is not None:
                done((levels.selected.value, True))

        title = f"Thinking: {session.model.name}"
        return Panel(context.display, title, levels, hints=HINTS, actions={SAVE: save}, fit=levels.fit)

    answer = await context.ask(make)
    if answer is None or context.session is not session:
        return
    level, save = answer
    session.use_thinking(level)
    context.status_line.refresh()
    if save:
        save_setting(context, "defaultThinkingLevel", level)
        context.say(f"Thinking: {level}, also for new sessions.")
    else:
        context.hint(f"Thinking: {level}.")
