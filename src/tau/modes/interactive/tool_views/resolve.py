"""resolve: applies or discards a preview."""

from msgspec import UNSET

from tau.coding.tools.ast_edit import AstEditDetails
from tau.coding.tools.resolve import ResolveDetails
from tau.modes.interactive.tool_views.ast_edit import diffs, file_list, replaced
from tau.modes.interactive.tool_views.body_parts import HEAD_ROWS, MAX_ROWS, head, remark, rows_limit
from tau.modes.interactive.tool_views.failures import problem
from tau.modes.interactive.tool_views.labels import note, one_line, short_paths, text_arg
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme

_VERBS = {"apply": "Apply the preview", "discard": "Discard the preview"}


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    title = theme["strong"](_VERBS.get(text_arg(view, "action"), "Resolve the preview"))
    reason = one_line(text_arg(view, "reason"))
    if reason:
        title += f"{theme['muted'](':')} {reason}"
    body: list[Component] = problem(view, theme)
    if body or view.state != "done":
        return RenderedCall(title, body, note(view, theme))
    applied = details_as(AstEditDetails, view.details)
    if applied is not None:
        return RenderedCall(title, _applied(view, theme, applied), note(view, theme, replaced(applied)))
    discarded = details_as(ResolveDetails, view.details)
    if discarded is not None:
        body = [remark(theme, f"{one_line(discarded.title)}: nothing changed.")]
    elif view.text.strip():
        body = [head(theme, view.text, rows_limit(view, HEAD_ROWS), token="muted")]
    return RenderedCall(title, body)


def _applied(view: ToolCallView, theme: Theme, details: AstEditDetails) -> list[Component]:
    parts: list[Component] = [file_list(view, theme, details)] if details.files else []
    if view.expanded:
        parts = diffs(theme, details, MAX_ROWS)
    if details.refused is not UNSET and details.refused:
        names = short_paths(list(details.refused), view.cwd, 5)
        parts.append(remark(theme, f"Skipped, since they changed meanwhile: {names}.", "warning"))
    return parts
