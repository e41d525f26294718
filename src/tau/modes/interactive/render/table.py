"""Which renderer draws which tool: found by name, loaded when its first call is shown."""

from collections.abc import Sequence
from typing import Protocol

from tau.base.late import late
from tau.modes.interactive.render import complaints
from tau.modes.interactive.view import Drawn, ToolView
from tau.tui.style import Theme

generic = late("tau.modes.interactive.render.generic")
read = late("tau.modes.interactive.render.read")


class Renderer(Protocol):
    """What each module in the table offers."""

    def draw(self, view: ToolView, theme: Theme) -> Drawn: ...


RENDERERS: dict[str, Renderer] = {
    "ask": late("tau.modes.interactive.render.ask"),
    "ast_edit": late("tau.modes.interactive.render.ast_edit"),
    "ast_grep": late("tau.modes.interactive.render.ast_grep"),
    "bash": late("tau.modes.interactive.render.bash"),
    "checkpoint": late("tau.modes.interactive.render.checkpoint"),
    "edit": late("tau.modes.interactive.render.edit"),
    "eval": late("tau.modes.interactive.render.eval"),
    "find": late("tau.modes.interactive.render.find"),
    "inspect_image": late("tau.modes.interactive.render.inspect_image"),
    "job": late("tau.modes.interactive.render.job"),
    "read": read,
    "resolve": late("tau.modes.interactive.render.resolve"),
    "rewind": late("tau.modes.interactive.render.rewind"),
    "search": late("tau.modes.interactive.render.search"),
    "ssh": late("tau.modes.interactive.render.ssh"),
    "todo": late("tau.modes.interactive.render.todo"),
    "write": late("tau.modes.interactive.render.write"),
}


def draw(view: ToolView, theme: Theme) -> Drawn:
    """How a call looks now. Never an exception: what a model or a file sent may be anything."""
    try:
        if view.name in RENDERERS:
            drawn: Drawn = RENDERERS[view.name].draw(view, theme)
            return drawn
    except Exception as error:
        complaints.log_once(f"The look of a call of {view.name} failed.", error)
    try:
        plain: Drawn = generic.draw(view, theme)
        return plain
    except Exception as error:
        complaints.log_once("The look of a call of any tool failed.", error)
        bare: Drawn = generic.bare(view, theme)
        return bare


def draw_group(views: Sequence[ToolView], theme: Theme) -> Drawn:
    """Several reads as one; the same promise."""
    try:
        drawn: Drawn = read.draw_group(views, theme)
        return drawn
    except Exception as error:
        complaints.log_once("The look of a group of reads failed; only the last one is shown.", error)
        return draw(views[-1], theme)
