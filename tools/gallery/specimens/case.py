"""Builds specimens: a tool call in each of its states."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tau.agent.call_runner import STOPPED
from tau.ai.wire import TextContent, UserContent
from tau.coding.approval import refusals
from tau.modes.interactive.tool_views.view import CallState, ToolCallView

CWD = Path("/home/ada/shop")


class Specimen(NamedTuple):
    """`name` is "tool/state"; several views are calls in one block."""

    name: str
    about: str
    views: tuple[ToolCallView, ...]

    @property
    def tool(self) -> str:
        return self.name.partition("/")[0]


class Result(NamedTuple):
    """The result of a call so far."""

    text: str = ""
    details: Any = None
    elapsed_ms: int | None = 1_200
    more: tuple[UserContent, ...] = ()

    @property
    def content(self) -> Sequence[UserContent]:
        return (*([TextContent(self.text)] if self.text else []), *self.more)


NOTHING_YET = Result(elapsed_ms=400)
INTERRUPTED = Result(STOPPED)
DECLINED = refusals.declined("do this", "ask me first next time")
REFUSED = Result(DECLINED.text, DECLINED.details, elapsed_ms=None)


def one(
    tool: str, name: str, about: str, state: CallState, args: dict[str, Any], result: Result | None = None
) -> Specimen:
    """Build one call in one state."""
    known = result or Result(elapsed_ms=None)
    view = ToolCallView(tool, args, state, CWD, known.content, known.details, elapsed_ms=known.elapsed_ms)
    return Specimen(f"{tool}/{name}", about, (view,))


def in_all_states(
    tool: str,
    args: dict[str, Any],
    *,
    streaming: dict[str, Any],
    done: Result,
    failed: Result,
    running: Result = NOTHING_YET,
    aborted: Result = INTERRUPTED,
) -> list[Specimen]:
    """Build the same call in all states, from its first argument to each outcome."""
    return [
        one(tool, "streaming", "Its arguments arrive.", "streaming", streaming),
        one(tool, "pending", "It is about to begin.", "pending", args),
        one(tool, "running", "It is at work.", "running", args, running),
        one(tool, "done", "It went well.", "done", args, done),
        one(tool, "failed", "It went wrong.", "failed", args, failed),
        one(tool, "aborted", "A person stopped it.", "aborted", args, aborted),
        one(tool, "declined", "A person did not allow it.", "declined", args, REFUSED),
    ]
