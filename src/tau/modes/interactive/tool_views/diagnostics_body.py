"""What language servers say about the files of an edit, below it."""

from collections.abc import Sequence

from msgspec import UnsetType

from tau.coding.output import DiagnosticRow
from tau.modes.interactive.tool_views.body_parts import one_per_row
from tau.modes.interactive.tool_views.labels import one_line
from tau.modes.interactive.tool_views.view import ToolCallView
from tau.tui.component import Component
from tau.tui.style import Theme

SHOWN = 5
MAX_SHOWN = 200
TOKENS = {"error": "error", "warning": "warning"}


def diagnostics(
    view: ToolCallView, theme: Theme, rows: Sequence[DiagnosticRow] | UnsetType
) -> list[Component]:
    """A row each; new ones come first."""
    if isinstance(rows, UnsetType) or not rows:
        return []
    most = MAX_SHOWN if view.expanded else SHOWN
    lines = [
        f"{theme[TOKENS.get(row.level, 'muted')](one_line(row.level, 10))}{' new' if row.is_new else ''} "
        f"{theme['muted'](one_line(f'{row.path}:{row.line}:{row.column}'))} {one_line(row.message)}"
        for row in rows[:most]
    ]
    return [one_per_row(theme, lines, len(rows) - most, "diagnostic")]
