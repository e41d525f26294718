"""Draws tool calls and messages with the renderers of extensions; the usual view replaces one that fails."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tau.modes.interactive.extension_component import ExtensionComponent, FixedRows, as_component
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView
from tau.modes.interactive.transcript.block import BlockContext, CachedBlock
from tau.tui.component import Component, LiveComponent
from tau.tui.style import Theme

if TYPE_CHECKING:
    from tau.coding.extensions import Renderers

TITLE_COLUMNS = 200


class RenderOptions(NamedTuple):
    """How a call is shown now. `is_partial`: it still runs; `spinner_frame` counts its changes."""

    expanded: bool
    is_partial: bool
    spinner_frame: int = 0


class _WithFallback(LiveComponent):
    def __init__(self, component: ExtensionComponent, usual: Sequence[Component]) -> None:
        self._component, self._usual = component, usual

    def render(self, width: int) -> Sequence[str]:
        rows = self._component.render(width)
        if not self._component.is_broken:
            return rows
        return [row for one in self._usual for row in one.render(width)]


def draw(view: ToolCallView, theme: Theme, usual: RenderedCall, renderers: "Renderers") -> RenderedCall:
    """The call as extensions draw it, or as usual."""
    draw_call, draw_result = renderers.tool_call(view.name), renderers.tool_result(view.name)
    options = RenderOptions(view.expanded, not view.over, view.elapsed_ms or 0)
    title, body = usual.title, list(usual.body)
    if draw_call is not None and (part := as_component(draw_call(view.args, options, theme))) is not None:
        component = _contained(part, "tool_call", view.name, renderers)
        rows = component.render(TITLE_COLUMNS)
        if rows and not component.is_broken:
            title, body = rows[0], [FixedRows(rows[1:]), *body] if rows[1:] else body
    if draw_result is not None and view.text:
        result = {"text": view.text, "details": view.details, "is_error": view.state == "failed"}
        if (part := as_component(draw_result(result, options, theme))) is not None:
            body = [_WithFallback(_contained(part, "tool_result", view.name, renderers), usual.body)]
    return RenderedCall(title, body, usual.note)


def _contained(part: Component, kind: str, name: str, renderers: "Renderers") -> ExtensionComponent:
    return ExtensionComponent(part, lambda problem, error: renderers.fail(kind, name, problem))


class RenderedBlock(CachedBlock):
    """A note or an entry of an extension, drawn by it."""

    def __init__(self, context: BlockContext, part: Component, fail: Any) -> None:
        super().__init__(context)
        self._component = ExtensionComponent(part, lambda problem, error: fail(problem))

    def _render_rows(self, width: int) -> Sequence[str]:
        return self._component.render(width)


def block(context: BlockContext, kind: str, name: str, value: Any) -> RenderedBlock | None:
    """What an extension draws for a message or an entry; None for the usual view."""
    renderers = context.renderers
    if renderers is None:
        return None
    render = renderers.message(name) if kind == "message" else renderers.entry(name)
    part = None if render is None else as_component(render(value, context.theme))
    if part is None:
        return None
    return RenderedBlock(context, part, lambda problem: renderers.fail(kind, name, problem))
