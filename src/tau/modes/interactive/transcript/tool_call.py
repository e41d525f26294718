"""The state of one tool call: arguments, output and outcome, as they arrive."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from tau.agent.call_runner import NOT_STARTED, SKIPPED, STOPPED, UNFINISHED
from tau.agent.events import ToolResult
from tau.ai.assembler import partial_arguments
from tau.ai.wire import ImageContent, TextContent, ToolCall, ToolResultMessage, UserContent, text_of
from tau.base.sizes import KIB
from tau.coding.approval.refusals import refused_call
from tau.modes.interactive.tool_views.view import CallState, ToolCallView
from tau.modes.interactive.transcript.block import KEPT_CHARS, BlockContext, cut_middle
from tau.modes.interactive.transcript.user import without_images

_READ_AGAIN_FROM = 16 * KIB
"""Longer arguments are reparsed only after growing by an eighth."""
LOST = "No result recorded; the call may have partly run."
_CUT_SHORT = (STOPPED, UNFINISHED)
_NEVER_RAN = (NOT_STARTED, SKIPPED)


class ToolCallState:
    """`changed` is a counter that tells viewers when to redraw."""

    __slots__ = (
        *("_content", "_context", "_details", "_elapsed_ms", "_pieces", "_read_at", "_size", "_started_at"),
        *("args", "changed", "id", "name", "state"),
    )

    def __init__(self, context: BlockContext, id: str, name: str, args: dict[str, Any] | None = None) -> None:
        self._context = context
        self.id = id
        self.name = name
        self.args = {} if args is None else _shorter(args)
        self.state: CallState = "streaming" if args is None else "pending"
        self.changed = 0
        self._pieces: list[str] = []
        self._size = 0
        self._read_at = 0
        self._content: Sequence[UserContent] = ()
        self._details: Any = None
        self._started_at: float | None = None
        self._elapsed_ms: int | None = None

    @property
    def over(self) -> bool:
        return self.state in ("done", "failed", "aborted", "declined")

    def feed(self, delta: str) -> None:
        """Append to the arguments; they are parsed on demand."""
        self._pieces.append(delta)
        self._size += len(delta)
        if self._size >= self._read_at:
            self.changed += 1

    def complete(self, call: ToolCall) -> None:
        """Set the complete arguments."""
        self.args = _shorter(call.arguments)
        self.name = call.name
        self._pieces = []
        self.state = "pending"
        self.changed += 1

    def start(self, args: dict[str, Any]) -> None:
        self.args = _shorter(args)
        self._started_at = self._context.now()
        self.state = "running"
        self.changed += 1

    def update(self, partial: ToolResult) -> None:
        if self.state == "running":
            self._content = partial.content
            self._details = None if partial.details is UNSET else partial.details
            self.changed += 1

    def finish(self, result: ToolResultMessage) -> None:
        """Set the result. A stopped call keeps its output so far."""
        words = text_of(result.content) if result.is_error else ""
        self.state = _end(words, result.details) if result.is_error else "done"
        if not (words in _CUT_SHORT and self._content):
            self._content = _shorter_content(result.content)
            self._details = _small(result.details)
        if self._started_at is not None and words not in _NEVER_RAN and self.state != "declined":
            self._elapsed_ms = round((self._context.now() - self._started_at) * 1000)
        self.changed += 1

    def abandon(self, *, never_ran: bool) -> None:
        """No result will come: the call never ran, or its outcome is unknown."""
        if not self.over:
            self._pieces = []
            self.state = "aborted"
            if not never_ran and not self._content:
                self._content = [TextContent(LOST)]
            self.changed += 1

    def drop_pictures(self) -> None:
        """Free the images for newer ones; text replaces them on the next redraw."""
        self._content = without_images(self._content)

    @property
    def pictures(self) -> int:
        return sum(isinstance(part, ImageContent) for part in self._content)

    def view(self, *, expanded: bool) -> ToolCallView:
        if self._pieces and self._size >= self._read_at:
            raw = "".join(self._pieces)
            self._pieces = [raw]
            self.args = partial_arguments(raw)
            self._read_at = self._size + self._size // 8 if self._size > _READ_AGAIN_FROM else 0
        cwd, content, details = self._context.cwd, self._content, self._details
        return ToolCallView(
            self.name, self.args, self.state, cwd, content, details, expanded, self._elapsed_ms
        )


def _end(words: str, details: Any) -> CallState:
    """The state of a call that did not succeed."""
    if words in (*_CUT_SHORT, *_NEVER_RAN):
        return "aborted"
    return "failed" if refused_call(details) is None else "declined"


def was_stopped(result: ToolResultMessage) -> bool:
    """Whether the user stopped the run during or before this call."""
    return result.is_error and text_of(result.content) in (*_CUT_SHORT, NOT_STARTED)


def _shorter(args: dict[str, Any]) -> dict[str, Any]:
    """The arguments, with overlong texts cut."""
    if not any(isinstance(value, str) and len(value) > KEPT_CHARS for value in args.values()):
        return args
    return {name: cut_middle(value) if isinstance(value, str) else value for name, value in args.items()}


def _shorter_content(content: Sequence[UserContent]) -> Sequence[UserContent]:
    if not any(isinstance(part, TextContent) and len(part.text) > KEPT_CHARS for part in content):
        return content
    return [TextContent(cut_middle(part.text)) if isinstance(part, TextContent) else part for part in content]


def _small(details: Any) -> Any:
    """The details, unless they are too large; the call is then shown by its text."""
    if details is UNSET or details is None:
        return None
    try:
        size = len(msgspec.json.encode(details, enc_hook=str))
    except (TypeError, ValueError, RecursionError):
        return None
    return details if size <= 2 * KEPT_CHARS else None
