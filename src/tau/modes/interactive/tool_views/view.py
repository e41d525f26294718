"""The input and output of tool renderers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

from tau.ai.wire import ImageContent, TextContent, UserContent
from tau.tui.component import Component

CallState = Literal["streaming", "pending", "running", "done", "failed", "aborted", "declined"]
"""streaming: arguments arrive; pending: they are complete; running: started; then how it ended.

A declined call is one that was not allowed to run.
"""

T = TypeVar("T")


class ToolCallView(NamedTuple):
    """The current state of a call. `args` may be incomplete and of any type, since a model wrote them."""

    name: str
    args: dict[str, Any]
    state: CallState
    cwd: Path
    content: Sequence[UserContent] = ()
    """The result so far: partial while it runs."""
    details: Any = None
    """The tool's details for users: its struct, or plain data if loaded from disk."""
    expanded: bool = False
    elapsed_ms: int | None = None
    """How long it ran so far; None if not measured."""

    @property
    def over(self) -> bool:
        return self.state in ("done", "failed", "aborted", "declined")

    @property
    def text(self) -> str:
        """The text of the result."""
        return "\n".join(part.text for part in self.content if isinstance(part, TextContent))

    @property
    def images(self) -> list[ImageContent]:
        return [part for part in self.content if isinstance(part, ImageContent)]


class RenderedCall(NamedTuple):
    """A drawn call: a title line and an optional body."""

    title: str
    """One styled line; the block puts a sign before it and cuts it to the width."""
    body: Sequence[Component] = ()
    note: str = ""
    """A short styled note after the title: `12 matches`, `exit 1, 3.2 s`."""


def details_as(kind: type[T], details: object) -> T | None:
    """The details as the tool's struct, wherever they come from; None if they are something else."""
    if isinstance(details, kind):
        return details
    try:
        return msgspec.convert(details, kind, strict=False)
    except (msgspec.ValidationError, TypeError, ValueError):
        return None
