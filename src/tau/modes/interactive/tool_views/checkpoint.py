"""checkpoint: the goal of the exploration that starts here."""

from tau.coding.ports import Checkpoint
from tau.modes.interactive.tool_views.body_parts import MAX_ROWS, head
from tau.modes.interactive.tool_views.endings import unhappy
from tau.modes.interactive.tool_views.labels import ending, first_line, text_arg, titled
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme

SHORT_CHARS = 60
"""Length of a goal that fits the title."""


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    details = details_as(Checkpoint, view.details)
    goal = text_arg(view, "goal") or ("" if details is None else details.goal)
    body: list[Component] = unhappy(view, theme)
    if view.expanded and (len(goal) > SHORT_CHARS or "\n" in goal.strip()):
        body.append(head(theme, goal, MAX_ROWS))
    return RenderedCall(titled(theme, "Checkpoint", first_line(goal)), body, ending(view, theme))
