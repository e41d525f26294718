"""Tool calls: one block per call, or per run of consecutive reads."""

from collections.abc import Sequence
from typing import Any

import msgspec

from tau.base import log
from tau.base.late import late
from tau.base.text import shortened
from tau.modes.interactive.tool_views.view import CallState, RenderedCall, ToolCallView
from tau.modes.interactive.transcript.block import BlockContext, GrowingBlock, indent_rows, indent_width
from tau.modes.interactive.transcript.tool_call import ToolCallState
from tau.tui.component import Component
from tau.tui.style import Theme
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import truncate
from tau.tui.text.width import visible_width
from tau.tui.widgets.text import Text

image_body = late("tau.modes.interactive.tool_views.image_body")
extension = late("tau.modes.interactive.tool_views.extension")
registry = late("tau.modes.interactive.tool_views.registry")

GROUPED = "read"
"""The tool whose calls share a block: they are many, and their results are for the model."""
_LAST_LINES = 6
_TAIL_CHARS = 8_000
_SHORT_CHARS = 200
_BY_WEIGHT: tuple[CallState, ...] = ("running", "streaming", "pending", "failed", "aborted", "declined")
_WORDS: dict[CallState, str] = {
    "streaming": "Call",
    "pending": "Call",
    "running": "Running",
    "done": "Done",
    "failed": "Failed",
    "aborted": "Stopped",
    "declined": "Declined",
}


class ToolBlock(GrowingBlock):
    """A call or a list of calls; after `close`, no further one joins."""

    def __init__(self, context: BlockContext, call: ToolCallState) -> None:
        super().__init__(context)
        self._calls = [call]
        self.is_open = call.name == GROUPED
        self._pictured: RenderedCall | None = None
        """The drawn content if it has images: the terminal holds them until it is redrawn."""
        self._seen = -1

    @property
    def can_expand(self) -> bool:
        return True

    def add(self, call: ToolCallState) -> None:
        self._calls.append(call)
        self._rows = None

    def close(self) -> None:
        self.is_open = False

    def is_finished(self) -> bool:
        return not self.is_open and all(call.over for call in self._calls)

    def render(self, width: int) -> Sequence[str]:
        changes = sum([call.changed for call in self._calls])
        if changes != self._seen:
            self._seen = changes
            self._rows = None
        return super().render(width)

    def release(self) -> None:
        if self._pictured is not None:
            image_body.close_pictures(self._pictured)
            self._pictured = None

    def _render_rows(self, width: int) -> list[str]:
        views = [call.view(expanded=self.expanded) for call in self._calls]
        drawn = draw(views, self._theme)
        if len(views) == 1 and (renderers := self._context.renderers) is not None:
            drawn = extension.draw(views[0], self._theme, drawn, renderers)
        self.release()
        if any(call.pictures for call in self._calls):
            image_body.show_pictures(drawn, self._context.capabilities(), self._context.budget)
            self._pictured = drawn
        rows = [_title(self._theme, self._state(), drawn, width)]
        for component in drawn.body:
            rows += indent_rows(component.render(max(width - indent_width(width), 1)), width)
        return rows

    def move_to(self, context: BlockContext) -> None:
        super().move_to(context)
        self._pictured = None

    def _shorten(self, rows: Sequence[str], share: int) -> Sequence[str]:
        """Never show part of an image."""
        return rows[:1] if self._pictured is not None else super()._shorten(rows, share)

    def _state(self) -> CallState:
        """The combined state: running while any call is, successful only if all are."""
        states = [call.state for call in self._calls]
        return next((state for state in _BY_WEIGHT if state in states), "done")


def draw(views: Sequence[ToolCallView], theme: Theme) -> RenderedCall:
    """Draw with the tool's renderer, or plainly if that fails."""
    try:
        return registry.draw(views[0], theme) if len(views) == 1 else registry.draw_group(views, theme)
    except Exception as error:
        log.error(f"The renderer of {views[0].name} failed.", error)
        return draw_plainly(views[-1], theme)


def draw_plainly(view: ToolCallView, theme: Theme) -> RenderedCall:
    """Name, short arguments, last lines."""
    title = f"{theme['strong'](clean_line(view.name))} {theme['muted'](_short(view.args))}".rstrip()
    text = view.text.rstrip()
    body: list[Component] = []
    if text:
        lines = (text if view.expanded else text[-_TAIL_CHARS:]).splitlines()
        shown = lines if view.expanded else lines[-_LAST_LINES:]
        body.append(Text(theme, "\n".join(shown), "muted", styled=True))
    return RenderedCall(title, body)


def _title(theme: Theme, state: CallState, drawn: RenderedCall, width: int) -> str:
    """Sign, title and note in one row; a long title is cut, the note stays."""
    note = drawn.note
    if not note and state in ("aborted", "failed") and not theme.linear:  # there, the first word says it
        note = theme["error"]("failed") if state == "failed" else theme["warning"]("stopped")
    sign = f"{_WORDS[state]}:" if theme.linear else _sign(theme, state)
    ellipsis = theme.symbols.ellipsis
    room = width - visible_width(sign) - 1
    if note:
        left = room - visible_width(note) - 2
        if left >= min(12, visible_width(drawn.title)):
            return f"{sign} {truncate(drawn.title, left, ellipsis)}  {note}"
    return truncate(f"{sign} {drawn.title}  {note}".rstrip(), width, ellipsis)


def _sign(theme: Theme, state: CallState) -> str:
    symbols = theme.symbols
    match state:
        case "done":
            return theme["success"](symbols.check)
        case "failed":
            return theme["error"](symbols.cross)
        case "aborted" | "declined":
            return theme["warning"]("!")
        case "running":
            return theme["accent"](symbols.bullet)
        case _:
            return theme["muted"](symbols.bullet)


def _short(args: dict[str, Any]) -> str:
    if not args:
        return ""
    words = [value for value in args.values() if isinstance(value, str)]
    if len(args) == 1 and words:
        return shortened(clean_line(words[0][: 2 * _SHORT_CHARS]), _SHORT_CHARS)
    try:
        text = msgspec.json.encode(args, enc_hook=str).decode()
    except (TypeError, ValueError, RecursionError):
        text = ", ".join(map(str, args))
    return shortened(clean_line(text[: 2 * _SHORT_CHARS]), _SHORT_CHARS)
