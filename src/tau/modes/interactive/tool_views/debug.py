"""debug: where a program stopped, with its source, frames and locals; else the text of the result."""

from tau.backends.dap.protocol import StopPlace, value_text
from tau.coding.debug.answers import place_of
from tau.coding.debug.call import DebugDetails
from tau.modes.interactive.tool_views.body_parts import HEAD_ROWS, TAIL_ROWS, head, one_per_row, rows_limit
from tau.modes.interactive.tool_views.code_body import CodeBody, CodeLine, code
from tau.modes.interactive.tool_views.failures import problem
from tau.modes.interactive.tool_views.labels import elapsed, heading, note, one_line, short_path, text_arg
from tau.modes.interactive.tool_views.languages import language_of
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme
from tau.tui.text.clean import clean_line

SHOWN_FRAMES = 3
SHOWN_VARIABLES = 6
VALUE_CHARS = 80
SUBJECTS = ("program", "expression", "function", "name", "command", "memory_reference", "pid", "port")


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    details = details_as(DebugDetails, view.details)
    action = one_line(text_arg(view, "action")).replace("_", " ")
    title = heading(theme, "Debug", f"{action} {_subject(view)}".strip())
    body = problem(view, theme)
    place = _place(details)
    if view.state == "done" and place is not None:
        body += _stop(view, theme, place, [] if not details or not details.source else details.source)
    elif view.state == "done" and view.text:
        body.append(head(theme, view.text, rows_limit(view, HEAD_ROWS), token="toolOutput"))
    time = elapsed(view.elapsed_ms) if view.state == "running" else ""
    return RenderedCall(title, body, note(view, theme, _fact(details), time))


def _subject(view: ToolCallView) -> str:
    file, line = text_arg(view, "file"), text_arg(view, "line")
    if file and not text_arg(view, "program"):
        return f"{short_path(file, view.cwd)}{f':{line}' if line else ''}"
    return one_line(next((text for name in SUBJECTS if (text := text_arg(view, name))), ""), 200)


def _place(details: DebugDetails | None) -> StopPlace | None:
    """Where it stopped, if this call is about that."""
    if details is None or not details.snapshot:
        return None
    return details.snapshot.stop if isinstance(details.source, list) else None


def _fact(details: DebugDetails | None) -> str:
    if details is None or not details.snapshot:
        return ""
    if (place := _place(details)) is not None:
        return one_line(place.reason, 60)
    if details.state and details.snapshot.status == "terminated" and details.snapshot.exit_code is not None:
        return f"exit {details.snapshot.exit_code}"
    return details.snapshot.status if details.state else ""


def _stop(
    view: ToolCallView, theme: Theme, place: StopPlace, source: list[tuple[int, str]]
) -> list[Component]:
    parts: list[Component] = []
    if why := place.exception or (place.description if place.reason == "exception" else ""):
        parts.append(head(theme, why, TAIL_ROWS, token="error"))
    top = place.top
    if top is not None and source:
        mark = theme.symbols.pointer
        rows = [CodeLine(f"{mark if number == top.line else ' '} {number}", text) for number, text in source]
        path = top.source.path if top.source is not None and top.source.path else ""
        parts.append(code(theme, CodeBody(rows, language_of(path)), wrapped=False))
    most = len(place.frames) if view.expanded else SHOWN_FRAMES
    frames = [
        f"{theme['toolOutput'](clean_line(frame.name))} {theme['muted'](place_of(frame, view.cwd))}"
        for frame in place.frames[:most]
    ]
    parts.append(one_per_row(theme, frames, len(place.frames) - most, "frame"))
    most = len(place.variables) if view.expanded else SHOWN_VARIABLES
    values = [
        f"{theme['muted'](value_text(each.name, VALUE_CHARS))} {value_text(each.value, VALUE_CHARS)}"
        for each in place.variables[:most]
    ]
    more = len(place.variables) - most + place.more_variables
    if values:
        parts.append(one_per_row(theme, values, more, "variable"))
    return parts
