"""browser: the page that was opened, or the code that ran on it with its output and screenshots."""

from msgspec import UNSET

from tau.base.text import quantity
from tau.coding.tools.browser import BrowserDetails
from tau.modes.interactive.tool_views.body_parts import MAX_ROWS, first_lines, remark, tail
from tau.modes.interactive.tool_views.code_body import CodeBody, CodeLine, code
from tau.modes.interactive.tool_views.failures import problem
from tau.modes.interactive.tool_views.image_body import pictures
from tau.modes.interactive.tool_views.labels import (
    elapsed,
    first_line,
    flag_arg,
    heading,
    note,
    one_line,
    text_arg,
)
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView, details_as
from tau.tui.component import Component
from tau.tui.style import Theme

CODE_ROWS = 8
OUTPUT_ROWS = 12
MAIN = "main"
_TITLES = {"open": "Open page", "run": "Run on page", "close": "Close page"}


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    details = details_as(BrowserDetails, view.details)
    action = text_arg(view, "action")
    source = text_arg(view, "code") if action == "run" else ""
    title = heading(theme, _TITLES.get(action, "Browser"), _subject(view, action, source))
    body: list[Component] = []
    if source.strip() and ("\n" in source.strip() or view.expanded):
        body += [remark(theme, "Code:")] if theme.linear else []
        lines, below = first_lines(source.strip("\n"), MAX_ROWS if view.expanded else CODE_ROWS)
        rows = [CodeLine(theme.symbols.quote, line) for line in lines]
        body.append(code(theme, CodeBody(rows, "python", below=below), len(lines) + 1, wrapped=view.expanded))
    if details is None:
        body += problem(view, theme)
    elif details.result.strip() and action != "close":
        token = "error" if details.is_error else "text"
        body.append(tail(theme, details.result, MAX_ROWS if view.expanded else OUTPUT_ROWS, token=token))
    return RenderedCall(title, [*body, *pictures(view, theme)], note(view, theme, _facts(view, details)))


def _subject(view: ToolCallView, action: str, source: str) -> str:
    name = text_arg(view, "name")
    tab = "" if name in ("", MAIN) else f" in {one_line(name, 40)}"
    if action == "run":
        return one_line(first_line(source), 200) + tab
    if action == "open":
        return (one_line(text_arg(view, "url"), 200) or "blank") + tab
    return "all" if flag_arg(view, "all") else one_line(name or MAIN, 40)


def _facts(view: ToolCallView, details: BrowserDetails | None) -> str:
    if details is None or not view.over:
        return elapsed(view.elapsed_ms)
    shots = 0 if details.screenshots is UNSET else len(details.screenshots)
    facts = [quantity(shots, "screenshot") if shots else "", elapsed(view.elapsed_ms)]
    return ", ".join(fact for fact in facts if fact)
