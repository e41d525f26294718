"""Lets the handlers of extensions answer the questions of the loop and the session."""

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tau.agent.hooks import CompactionAdvice, Hooks, LeaveKind, Refusal, RunStart, ToolQuestion
from tau.agent.output import ToolOutput
from tau.ai.dialect import Request
from tau.ai.wire import AppMessage, CustomMessage, TextContent, ToolCall, UserMessage, text_of
from tau.base.clock import now_ms
from tau.base.errors import ExtensionError, ToolError
from tau.ext.extensions import events as x

if TYPE_CHECKING:
    from tau.ext.extensions.extension import Extension
    from tau.ext.extensions.host import ExtensionHost


class ExtensionHooks(Hooks):
    """Handlers are asked in load order. One that fails is skipped, but the call of a guard is refused."""

    def __init__(self, host: "ExtensionHost") -> None:
        self._host = host

    async def ask(
        self, extension: "Extension", name: str, function: Callable[..., object], event: object
    ) -> object:
        """A handler's answer; None if it has none, or failed."""
        if extension.disabled:
            return None
        with suppress(ExtensionError, ToolError):
            return await self._answer(extension, name, function, event)
        return None

    async def _answer(
        self, extension: "Extension", name: str, function: Callable[..., object], event: object
    ) -> object:
        """The same; raises ExtensionError for a failure, or an answer of the wrong type."""
        answer = await self._host.calls.call(extension, name, function, event, self._host.context(extension))
        if answer is None or isinstance(answer, x.QUESTIONS[name][1]):
            return answer
        raise self._host.calls.fail(extension, name, x.wrong_answer(name, answer))

    async def input(self, message: UserMessage) -> UserMessage | None:
        for extension, function in self._host.handlers("input"):
            answer = await self.ask(extension, "input", function, x.UserInput(_text(message), message))
            if isinstance(answer, x.Deny):
                self._say_blocked(extension, "the message was not sent", answer)
                return None
            message = message if answer is None else _with_text(message, str(answer))
        return message

    async def before_run(self, start: RunStart) -> RunStart:
        for extension, function in self._host.handlers("before_agent_start"):
            answer = await self.ask(
                extension,
                "before_agent_start",
                function,
                x.BeforeAgentStart(_text(start.message), start.system),
            )
            if isinstance(answer, x.RunSetup):
                if answer.system_prompt is not None:
                    start = replace(start, system=answer.system_prompt)
                if answer.note:
                    note = CustomMessage(extension.name, answer.note, True, now_ms())
                    start = replace(start, notes=(*start.notes, note))
        return start

    async def context(self, messages: list[AppMessage]) -> list[AppMessage]:
        for extension, function in self._host.handlers("context"):
            answer = await self.ask(extension, "context", function, x.ContextEvent(list(messages)))
            messages = list(answer) if isinstance(answer, list) else messages
        return messages

    async def before_request(self, request: Request) -> Request:
        for extension, function in self._host.handlers("before_provider_request"):
            answer = await self.ask(
                extension, "before_provider_request", function, x.BeforeProviderRequest(request)
            )
            if isinstance(answer, Request):
                request = answer
        return request

    async def before_tool(self, question: ToolQuestion) -> str | Refusal | None:
        event = x.ToolCallEvent(question.call, question.tool)
        for extension, function in self._host.handlers("tool_call"):
            try:
                answer = await self._answer(extension, "tool_call", function, event)
            except (ExtensionError, ToolError) as error:
                return f"The extension {extension.name} failed to check this call, so it did not run: {error}"
            if isinstance(answer, x.Deny):
                return answer.reason or f"The extension {extension.name} blocked this call."
        return None

    async def after_tool(self, call: ToolCall, output: ToolOutput) -> ToolOutput:
        for extension, function in self._host.handlers("tool_result"):
            answer = await self.ask(extension, "tool_result", function, x.ToolResultEvent(call, output))
            if isinstance(answer, ToolOutput):
                output = answer
            elif isinstance(answer, str):
                output = ToolOutput([TextContent(answer)], output.details, output.is_error)
        return output

    async def before_compact(
        self, messages: list[AppMessage], *, automatic: bool = True, focus: str = ""
    ) -> bool:
        self._plan = x.CompactionReply()
        for extension, function in self._host.handlers("session_before_compact"):
            answer = await self.ask(extension, "session_before_compact", function, x.BeforeCompact(messages))
            if isinstance(answer, x.Deny):
                self._say_blocked(extension, "the conversation was not summarized", answer)
                return False
            if isinstance(answer, x.CompactionReply):
                self._plan = answer
        return True

    async def compaction_advice(self, messages: list[AppMessage]) -> CompactionAdvice:
        plan, self._plan = self._plan, x.CompactionReply()
        summary, focus = plan.summary, [plan.focus]
        for extension, function in self._host.handlers("session.compacting"):
            answer = await self.ask(extension, "session.compacting", function, x.BeforeCompact(messages))
            if isinstance(answer, x.CompactionReply):
                summary = summary or answer.summary
                focus.append(answer.focus)
        return CompactionAdvice(summary=summary, focus="\n".join(filter(None, focus)))

    async def before_switch(self, target: str) -> bool:
        return await self._allows(
            "session_before_tree", x.BeforeTree(target), "the session stays where it is"
        )

    async def after_switch(self, old: str | None, new: str | None) -> None:
        self._host.facts.put("session_tree", x.TreeMoved(old, new))

    async def before_leave(self, kind: LeaveKind, target: str) -> bool:
        name = "session_before_branch" if kind == "fork" else "session_before_switch"
        return await self._allows(name, x.BeforeLeave(kind, target), "this session stays open")

    async def user_bash(self, command: str) -> str | None:
        return await self._line("user_bash", command)

    async def user_python(self, code: str) -> str | None:
        return await self._line("user_python", code)

    async def _line(self, name: str, code: str) -> str | None:
        for extension, function in self._host.handlers(name):
            answer = await self.ask(extension, name, function, x.UserCode(code))
            if isinstance(answer, x.Deny):
                self._say_blocked(extension, "it did not run", answer)
                return None
            code = code if answer is None else str(answer)
        return code

    async def _allows(self, name: str, event: Any, otherwise: str) -> bool:
        for extension, function in self._host.handlers(name):
            answer = await self.ask(extension, name, function, event)
            if isinstance(answer, x.Deny):
                self._say_blocked(extension, otherwise, answer)
                return False
        return True

    def _say_blocked(self, extension: "Extension", what: str, answer: x.Deny) -> None:
        reason = answer.reason
        self._host.say(
            extension.name, f"Extension {extension.name}: {what}.{f' {reason}' if reason else ''}", "info"
        )

    _plan = x.CompactionReply()


def _text(message: UserMessage) -> str:
    return message.content if isinstance(message.content, str) else text_of(message.content)


def _with_text(message: UserMessage, text: str) -> UserMessage:
    """The message with another text; its images stay."""
    if isinstance(message.content, str):
        return replace(message, content=text)
    images = [part for part in message.content if not isinstance(part, TextContent)]
    return replace(message, content=[TextContent(text), *images])
