"""checkpoint: the goal of the exploration that starts here."""

from tau.coding.ports import Checkpoint
from tau.modes.interactive.tool_views.body_parts import MAX_ROWS, head
from tau.modes.interactive.tool_views.failures import problem
from tau.modes.interactive.tool_views.labels import first_line, heading, note, text_arg
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme

SHORT_CHARS = 60
"""Length of a goal that fits the title."""


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    details = details_as(Checkpoint, view.details)
    goal = text_arg(view, "goal") or ("" if details is None else details.goal)
    body: list[Component] = problem(view, theme)
    if view.expanded and (len(goal) > SHORT_CHARS or "\n" in goal.strip()):
        body.append(head(theme, goal, MAX_ROWS))
    return RenderedCall(heading(theme, "Checkpoint", first_line(goal)), body, note(view, theme))
