"""How specimens are made: a call of a tool, and what is known of it in each state."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tau.agent.calls import STOPPED
from tau.ai.wire import TextContent, UserContent
from tau.coding.approval.hook import refusal
from tau.modes.interactive.tool_views.view import CallState, ToolCallView

CWD = Path("/home/ada/shop")


class Specimen(NamedTuple):
    """`name` is "tool/state"; several views are calls that stand in one block."""

    name: str
    about: str
    views: tuple[ToolCallView, ...]

    @property
    def tool(self) -> str:
        return self.name.partition("/")[0]


class Result(NamedTuple):
    """What a call has given back by now."""

    text: str = ""
    details: Any = None
    elapsed_ms: int | None = 1_200
    more: tuple[UserContent, ...] = ()

    @property
    def content(self) -> Sequence[UserContent]:
        return (*([TextContent(self.text)] if self.text else []), *self.more)


NOTHING_YET = Result(elapsed_ms=400)
INTERRUPTED = Result(STOPPED)
REFUSED = Result(refusal("do this", "ask me first next time"), elapsed_ms=None)


def one(
    tool: str, name: str, about: str, state: CallState, args: dict[str, Any], result: Result | None = None
) -> Specimen:
    """One call in one state."""
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
    """The same call from its first argument to each of its ends."""
    return [
        one(tool, "streaming", "Its arguments arrive.", "streaming", streaming),
        one(tool, "pending", "It is about to begin.", "pending", args),
        one(tool, "running", "It is at work.", "running", args, running),
        one(tool, "done", "It went well.", "done", args, done),
        one(tool, "failed", "It went wrong.", "failed", args, failed),
        one(tool, "aborted", "A person stopped it.", "aborted", args, aborted),
        one(tool, "declined", "A person did not allow it.", "declined", args, REFUSED),
    ]
