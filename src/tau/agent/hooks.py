"""Hooks: awaited by the loop and the session at named points; each may change or refuse."""

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import UNSET, Struct

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.ports import ToolContext
from tau.agent.tool import Tool
from tau.ai.dialect import Request
from tau.ai.model import Model
from tau.ai.wire import AppMessage, CustomMessage, ToolCall, UserMessage


class ToolQuestion(Struct, frozen=True):
    """A call that is about to run."""

    call: ToolCall
    tool: Tool[Any]
    effects: Effects
    context: ToolContext
    model: Model


class Refusal(Struct, frozen=True):
    """Why a call did not run: a sentence for the model, and `details` for people."""

    text: str
    details: Any = UNSET


class RunStart(Struct, frozen=True, kw_only=True):
    """A run that is about to begin. `system` replaces the system prompt for this run; `notes` go first."""

    message: UserMessage
    system: str
    notes: tuple[CustomMessage, ...] = ()


class CompactionAdvice(Struct, frozen=True, kw_only=True):
    """`summary` replaces that of the model; `focus` is added to what it is asked for."""

    summary: str = ""
    focus: str = ""


LeaveKind = Literal["new", "resume", "fork"]


class Hooks:
    """All hooks, each leaving things as they are. Subclass and override the ones you need."""

    async def input(self, message: UserMessage) -> UserMessage | None:
        """Change a user's message before it is recorded; None blocks it."""
        return message

    async def before_run(self, start: RunStart) -> RunStart:
        """Change the system prompt of a run, or add notes before its message."""
        return start

    async def context(self, messages: list[AppMessage]) -> list[AppMessage]:
        """Change the history that goes into a request."""
        return messages

    async def before_request(self, request: Request) -> Request:
        return request

    async def before_tool(self, question: ToolQuestion) -> str | Refusal | None:
        """Return a sentence for the model to refuse the call, None to let it run."""
        return None

    async def after_tool(self, call: ToolCall, output: ToolOutput) -> ToolOutput:
        return output

    async def before_compact(self, messages: list[AppMessage]) -> bool:
        return True

    async def compaction_advice(self, messages: list[AppMessage]) -> CompactionAdvice:
        return CompactionAdvice()

    async def before_switch(self, target: str) -> bool:
        """Whether the session may continue from another entry of its tree."""
        return True

    async def after_switch(self, old: str | None, new: str | None) -> None:
        """The session continues from another entry: before and now."""

    async def before_leave(self, kind: LeaveKind, target: str) -> bool:
        """Whether another session may replace this one."""
        return True

    async def user_bash(self, command: str) -> str | None:
        """Return the command to run instead, or None to refuse it."""
        return command

    async def user_python(self, code: str) -> str | None:
        """Return the code to run instead, or None to refuse it."""
        return code


class HookChain(Hooks):
    """Calls several hooks in turn; each sees the result of the one before."""

    def __init__(self, hooks: Sequence[Hooks]) -> None:
        self._hooks = list(hooks)

    async def input(self, message: UserMessage) -> UserMessage | None:
        current: UserMessage | None = message
        for hook in self._hooks:
            if current is None:
                break
            current = await hook.input(current)
        return current

    async def before_run(self, start: RunStart) -> RunStart:
        for hook in self._hooks:
            start = await hook.before_run(start)
        return start

    async def context(self, messages: list[AppMessage]) -> list[AppMessage]:
        for hook in self._hooks:
            messages = await hook.context(messages)
        return messages

    async def before_request(self, request: Request) -> Request:
        for hook in self._hooks:
            request = await hook.before_request(request)
        return request

    async def before_tool(self, question: ToolQuestion) -> str | Refusal | None:
        for hook in self._hooks:
            refusal = await hook.before_tool(question)
            if refusal is not None:
                return refusal
        return None

    async def after_tool(self, call: ToolCall, output: ToolOutput) -> ToolOutput:
        for hook in self._hooks:
            output = await hook.after_tool(call, output)
        return output

    async def before_compact(self, messages: list[AppMessage]) -> bool:
        return all([await hook.before_compact(messages) for hook in self._hooks])

    async def compaction_advice(self, messages: list[AppMessage]) -> CompactionAdvice:
        advice = [await hook.compaction_advice(messages) for hook in self._hooks]
        return CompactionAdvice(
            summary=next((one.summary for one in advice if one.summary), ""),
            focus="\n".join(one.focus for one in advice if one.focus),
        )

    async def after_switch(self, old: str | None, new: str | None) -> None:
        for hook in self._hooks:
            await hook.after_switch(old, new)

    async def before_leave(self, kind: LeaveKind, target: str) -> bool:
        return all([await hook.before_leave(kind, target) for hook in self._hooks])

    async def before_switch(self, target: str) -> bool:
        return all([await hook.before_switch(target) for hook in self._hooks])

    async def user_bash(self, command: str) -> str | None:
        current: str | None = command
        for hook in self._hooks:
            if current is None:
                break
            current = await hook.user_bash(current)
        return current

    async def user_python(self, code: str) -> str | None:
        current: str | None = code
        for hook in self._hooks:
            if current is None:
                break
            current = await hook.user_python(current)
        return current
