"""Prose that a model wrote, as Markdown within a bound."""

from tau.base.late import late
from tau.modes.interactive.render.pieces import HEAD_ROWS, MAX_ROWS, BoundedRows
from tau.modes.interactive.view import ToolCallView
from tau.tui.component import Component
from tau.tui.style import Theme

markdown = late("tau.tui.widgets.markdown.component")

MAX_CHARS = 100_000


def prose(view: ToolCallView, theme: Theme, text: str) -> list[Component]:
    """The text, or its beginning; nothing where there is none."""
    if not text.strip():
        return []
    shown = markdown.Markdown(theme, text.strip()[:MAX_CHARS])
    return [BoundedRows(theme, shown, MAX_ROWS if view.expanded else HEAD_ROWS)]
