"""Maps tools to renderers, loaded when their first call is shown."""

from collections.abc import Sequence
from typing import Any, Protocol

from tau.base.late import late
from tau.base.text import reveal
from tau.modes.interactive.tool_views import fault_log
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView
from tau.tui.style import Theme

generic = late("tau.modes.interactive.tool_views.generic")
read = late("tau.modes.interactive.tool_views.read")


MAX_DEPTH = 5
"""Deeper arguments are shown by the generic view, as JSON."""


class Renderer(Protocol):
    """What each module in the table offers."""

    def draw(self, view: ToolCallView, theme: Theme) -> RenderedCall: ...


RENDERERS: dict[str, Renderer] = {
    "ask": late("tau.modes.interactive.tool_views.ask"),
    "ast_edit": late("tau.modes.interactive.tool_views.ast_edit"),
    "ast_grep": late("tau.modes.interactive.tool_views.ast_grep"),
    "bash": late("tau.modes.interactive.tool_views.bash"),
    "browser": late("tau.modes.interactive.tool_views.browser"),
    "checkpoint": late("tau.modes.interactive.tool_views.checkpoint"),
    "debug": late("tau.modes.interactive.tool_views.debug"),
    "edit": late("tau.modes.interactive.tool_views.edit"),
    "eval": late("tau.modes.interactive.tool_views.eval"),
    "find": late("tau.modes.interactive.tool_views.find"),
    "github": late("tau.modes.interactive.tool_views.github"),
    "inspect_image": late("tau.modes.interactive.tool_views.inspect_image"),
    "job": late("tau.modes.interactive.tool_views.job"),
    "read": read,
    "resolve": late("tau.modes.interactive.tool_views.resolve"),
    "rewind": late("tau.modes.interactive.tool_views.rewind"),
    "search": late("tau.modes.interactive.tool_views.search"),
    "search_tool_bm25": late("tau.modes.interactive.tool_views.search_tool_bm25"),
    "ssh": late("tau.modes.interactive.tool_views.ssh"),
    "task": late("tau.modes.interactive.tool_views.task"),
    "todo": late("tau.modes.interactive.tool_views.todo"),
    "web_search": late("tau.modes.interactive.tool_views.web_search"),
    "write": late("tau.modes.interactive.tool_views.write"),
}


def draw(view: ToolCallView, theme: Theme) -> RenderedCall:
    """How a call looks now. Never raises, whatever a model or file sent.

    Hidden characters in its arguments become visible, since they say what it does.
    """
    view = view._replace(args=_revealed(view.args))
    try:
        if view.name in RENDERERS:
            return RENDERERS[view.name].draw(view, theme)
    except Exception as error:
        fault_log.log_once(f"Drawing a {view.name} call failed.", error)
    try:
        return generic.draw(view, theme)
    except Exception as error:
        fault_log.log_once("Drawing a call generically failed.", error)
        return generic.bare(view, theme)


def _revealed(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return reveal(value)
    if depth > MAX_DEPTH:
        return value
    if isinstance(value, list):
        return [_revealed(one, depth + 1) for one in value]
    if isinstance(value, dict):
        return {name: _revealed(one, depth + 1) for name, one in value.items()}
    return value


def draw_group(views: Sequence[ToolCallView], theme: Theme) -> RenderedCall:
    """Several reads as one. Never raises."""
    try:
        return read.draw_group(views, theme)
    except Exception as error:
        fault_log.log_once("Drawing a group of reads failed; showing only the last one.", error)
        return draw(views[-1], theme)
