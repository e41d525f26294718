"""Any tool: its name, its arguments as short lines, the end of its result."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tau.modes.interactive.tool_views.body_parts import (
    HEAD_ROWS,
    TAIL_ROWS,
    LazyRows,
    first_lines,
    head,
    more_row,
    rows_limit,
    tail,
)
from tau.modes.interactive.tool_views.code_body import CodeBody, CodeLine, code
from tau.modes.interactive.tool_views.failures import problem
from tau.modes.interactive.tool_views.image_body import pictures
from tau.modes.interactive.tool_views.labels import elapsed, note, one_line, short_path
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView
from tau.tui.component import Component
from tau.tui.style import Theme
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import truncate
from tau.tui.text.wrap import wrap

ARGUMENT_LINES = 8
MAX_ARGUMENTS = 100
MAX_VALUE_CHARS = 2_000
MAX_JSON_CHARS = 200_000
# The arguments that say most about a call, in order.
MAIN = ("command", "path", "file_path", "url", "query", "pattern", "name", "title", "id", "text", "prompt")
PATHS = ("path", "file_path")


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    name = one_line(str(view.name), 80) or "tool"
    args: Any = view.args
    args = args if isinstance(args, Mapping) else {"arguments": args}
    main = next((name for name in MAIN if isinstance(value := args.get(name), str) and value.strip()), "")
    title = theme["strong"](name)
    if main:
        title += f" {theme['accent'](_value(view, main, args[main], 400))}"
    time = "" if view.state == "pending" else elapsed(view.elapsed_ms)
    return RenderedCall(title, _body(view, theme, args, main), note(view, theme, time))


def _body(view: ToolCallView, theme: Theme, args: Mapping[object, object], main: str) -> list[Component]:
    items = list(args.items())[:MAX_ARGUMENTS]
    rest = [item for item in items if item[0] != main]
    arguments = items if view.expanded else rest
    parts = [_arguments(view, theme, arguments)] if arguments else []
    parts += problem(view, theme) or _result(view, theme)
    return [*parts, *pictures(view, theme)]


def _arguments(view: ToolCallView, theme: Theme, given: list[tuple[object, object]]) -> Component:
    most = MAX_ARGUMENTS if view.expanded else ARGUMENT_LINES

    def paint(width: int) -> list[str]:
        rows: list[str] = []
        for name, value in given[:most]:
            key = theme["muted"](f"{one_line(str(name), 60)}:")
            text = f"{key} {_value(view, str(name), value, MAX_VALUE_CHARS if view.expanded else 2 * width)}"
            rows += wrap(text, width) if view.expanded else [truncate(text, width, theme.symbols.ellipsis)]
        if len(given) > most:
            rows.append(more_row(theme, len(given) - most, "more argument", width))
        return rows

    return LazyRows(theme, paint)


def _value(view: ToolCallView, name: str, value: object, max_chars: int) -> str:
    if isinstance(value, str):
        return short_path(value, view.cwd) if name in PATHS else one_line(value, max_chars)
    try:
        return one_line(msgspec.json.encode(value, enc_hook=str).decode("utf-8", "replace"), max_chars)
    except Exception:  # a model may send something too deep, too large or not text at all
        return type(value).__name__


def _result(view: ToolCallView, theme: Theme) -> list[Component]:
    text = view.text
    if not text.strip():
        return []
    if view.over:
        pretty = _pretty(text)
        if pretty:
            lines, below = first_lines(pretty, rows_limit(view, TAIL_ROWS))
            shown = CodeBody([CodeLine("", line) for line in lines], "json", below=below)
            return [code(theme, shown, wrapped=view.expanded)]
        if not view.expanded:
            return [head(theme, text, HEAD_ROWS, token="toolOutput")]
    return [tail(theme, text, rows_limit(view, TAIL_ROWS), token="toolOutput")]


def _pretty(text: str) -> str:
    """Pretty-printed JSON; empty for anything else."""
    start = text.lstrip()[:1]
    if start not in ("{", "[") or len(text) > MAX_JSON_CHARS:
        return ""
    try:
        data = text.strip().encode()
        msgspec.json.decode(data)
        return msgspec.json.format(data, indent=2).decode()
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ""


def bare(view: ToolCallView, theme: Theme) -> RenderedCall:
    """A minimal view that cannot fail, for what the above cannot draw."""
    name = clean_line(str(view.name)[:200])[:80] or "tool"
    return RenderedCall(theme["strong"](name), (), theme["muted"](str(view.state)))
