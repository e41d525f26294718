"""What a renderer is given to draw a tool call, and what it gives back."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

from tau.ai.wire import ImageContent, TextContent, UserContent
from tau.tui.component import Component

CallState = Literal["streaming", "pending", "running", "done", "failed", "aborted", "declined"]
"""streaming: its arguments arrive; pending: they are complete; running: it has begun; then how it ended.

A declined call is one that the person did not allow."""

T = TypeVar("T")


class ToolCallView(NamedTuple):
    """A call as it stands now. `args` may be incomplete, and of any type: a model wrote them."""

    name: str
    args: dict[str, Any]
    state: CallState
    cwd: Path
    content: Sequence[UserContent] = ()
    """The result so far: partial while it runs."""
    details: Any = None
    """What the tool tells people: its struct, or plain data where the session was read from disk."""
    expanded: bool = False
    elapsed_ms: int | None = None
    """How long it has run, or ran; None where nobody measured it."""

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

    def arg(self, name: str) -> str:
        """An argument as text, or nothing."""
        value = self.args.get(name)
        return value if isinstance(value, str) else "" if value is None else str(value)


class RenderedCall(NamedTuple):
    """How a call looks: one line, then what stands below it, if anything."""

    title: str
    """Styled already, one line; the block puts the sign of its state before it and cuts it to the width."""
    body: Sequence[Component] = ()
    note: str = ""
    """A few words behind the title: `12 matches`, `exit 1, 3.2 s`; styled already."""


def details_as(kind: type[T], details: Any) -> T | None:
    """The details as the tool's own struct, wherever they come from; None if they are something else."""
    if isinstance(details, kind):
        return details
    try:
        return msgspec.convert(details, kind, strict=False)
    except (msgspec.ValidationError, TypeError, ValueError):
        return None
