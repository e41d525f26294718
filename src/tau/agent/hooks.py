"""Hooks: awaited by the loop and the session at named points; each may change or refuse."""

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import UNSET, Struct
from msgspec.structs import replace

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.ports import ToolContext
from tau.agent.tool import Tool
from tau.ai.dialect import Request
from tau.ai.model import Model
from tau.ai.wire import AppMessage, AssistantMessage, CustomMessage, ToolCall, UserMessage

StartSource = Literal["startup", "resume", "compact"]


class ToolQuestion(Struct, frozen=True):
    """A call that is about to run. `ask` is why a person must approve it, whatever the policy allows."""

    call: ToolCall
    tool: Tool[Any]
    effects: Effects
    context: ToolContext
    model: Model
    ask: str = ""

    def with_arguments(self, arguments: dict[str, Any]) -> "ToolQuestion":
        """The same call with other arguments, and what it would do then. Raises ToolError."""
        params, _ = self.tool.decode(arguments)
        call = replace(self.call, arguments=arguments)
        return replace(self, call=call, effects=self.tool.effects(params, self.context.cwd))


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


class CallReview(Struct, frozen=True):
    """What hooks say about a call before its approval: run it with other arguments, refuse it, or have a
    person decide. None of this allows what the policy does not. `note` goes to the model with the result.
    """

    arguments: dict[str, Any] | None = None
    refusal: str | Refusal | None = None
    ask: str = ""
    note: str = ""


class SessionLifeHooks:
    """About the session as a whole."""

    async def session_start(self, source: StartSource) -> None:
        """Before the first prompt, and after each compaction."""

    async def session_end(self, reason: str) -> None:
        """When the session closes; the session waits a few seconds at most."""

    async def before_switch(self, target: str) -> bool:
        """Whether the session may continue from another entry of its tree."""
        return True

    async def after_switch(self, old: str | None, new: str | None) -> None:
        """The session continues from another entry: before and now."""

    async def before_leave(self, kind: LeaveKind, target: str) -> bool:
        """Whether another session may replace this one."""
        return True


class Hooks(SessionLifeHooks):
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

    async def review_call(self, question: ToolQuestion) -> CallReview | None:
        """Look at a call before it is judged; None leaves it as it is."""
        return None

    async def before_tool(self, question: ToolQuestion) -> str | Refusal | None:
        """Return a sentence for the model to refuse the call, None to let it run."""
        return None

    async def before_approval(self, question: ToolQuestion, reason: str) -> str | None:
        """The user is about to be asked whether to `reason`; return a sentence to refuse the call instead."""
        return None

    async def after_tool(self, call: ToolCall, output: ToolOutput) -> ToolOutput:
        return output

    async def before_stop(self, answer: AssistantMessage, *, again: bool) -> str | None:
        """The agent is about to stop; return what it has to do first. `again`: it did that already."""
        return None

    async def subagent_start(self, id: str, agent: str) -> str:
        """What a new subagent of this kind gets besides its task."""
        return ""

    async def subagent_stop(self, id: str, agent: str, answer: str, *, again: bool) -> str | None:
        """Like `before_stop`, for a subagent."""
        return None

    async def before_compact(
        self, messages: list[AppMessage], *, automatic: bool = True, focus: str = ""
    ) -> bool:
        return True

    async def compaction_advice(self, messages: list[AppMessage]) -> CompactionAdvice:
        return CompactionAdvice()

    async def after_compact(self, summary: str, *, automatic: bool) -> None:
        """Older messages were replaced by this summary."""

    async def user_bash(self, command: str) -> str | None:
        """Return the command to run instead, or None to refuse it."""
        return command

    async def user_python(self, code: str) -> str | None:
        """Return the code to run instead, or None to refuse it."""
        return code


class _LifeChain(SessionLifeHooks):
    def __init__(self, hooks: "Sequence[Hooks]") -> None:
        self._hooks = list(hooks)

    async def session_start(self, source: StartSource) -> None:
        for hook in self._hooks:
            await hook.session_start(source)

    async def session_end(self, reason: str) -> None:
        for hook in self._hooks:
            await hook.session_end(reason)

    async def before_switch(self, target: str) -> bool:
        return all([await hook.before_switch(target) for hook in self._hooks])

    async def after_switch(self, old: str | None, new: str | None) -> None:
        for hook in self._hooks:
            await hook.after_switch(old, new)

    async def before_leave(self, kind: LeaveKind, target: str) -> bool:
        return all([await hook.before_leave(kind, target) for hook in self._hooks])


class HookChain(_LifeChain, Hooks):
    """Calls several hooks in turn; each sees the result of the one before."""

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

    async def review_call(self, question: ToolQuestion) -> CallReview | None:
        """Each hook sees the arguments as the one before left them."""
        changed: dict[str, Any] | None = None
        asks, notes = [], []
        for hook in self._hooks:
            review = await hook.review_call(question)
            if review is None:
                continue
            if review.refusal is not None:
                return review
            if review.arguments is not None:
                changed = review.arguments
                question = question.with_arguments(changed)
            asks.append(review.ask)
            notes.append(review.note)
        if not asks:
            return None
        return CallReview(changed, None, " ".join(filter(None, asks)), "\n".join(filter(None, notes)))

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

    async def before_approval(self, question: ToolQuestion, reason: str) -> str | None:
        for hook in self._hooks:
            refusal = await hook.before_approval(question, reason)
            if refusal is not None:
                return refusal
        return None

    async def before_stop(self, answer: AssistantMessage, *, again: bool) -> str | None:
        reasons = [await hook.before_stop(answer, again=again) for hook in self._hooks]
        return "\n".join(filter(None, reasons)) or None

    async def subagent_start(self, id: str, agent: str) -> str:
        return "\n".join(filter(None, [await hook.subagent_start(id, agent) for hook in self._hooks]))

    async def subagent_stop(self, id: str, agent: str, answer: str, *, again: bool) -> str | None:
        reasons = [await hook.subagent_stop(id, agent, answer, again=again) for hook in self._hooks]
        return "\n".join(filter(None, reasons)) or None

    async def before_compact(
        self, messages: list[AppMessage], *, automatic: bool = True, focus: str = ""
    ) -> bool:
        return all(
            [await hook.before_compact(messages, automatic=automatic, focus=focus) for hook in self._hooks]
        )

    async def after_compact(self, summary: str, *, automatic: bool) -> None:
        for hook in self._hooks:
            await hook.after_compact(summary, automatic=automatic)

    async def compaction_advice(self, messages: list[AppMessage]) -> CompactionAdvice:
        advice = [await hook.compaction_advice(messages) for hook in self._hooks]
        return CompactionAdvice(
            summary=next((one.summary for one in advice if one.summary), ""),
            focus="\n".join(one.focus for one in advice if one.focus),
        )

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
