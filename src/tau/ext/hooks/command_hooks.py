"""Asks command hooks at the points of a session and does what they answer, within what the policy allows."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import json
from msgspec.structs import replace

from tau.agent.events import AgentEvent, AgentSettled, AgentStart, TurnEnd
from tau.agent.hooks import CallReview, Hooks, Refusal, StartSource, ToolQuestion
from tau.agent.output import ToolOutput
from tau.ai.wire import (
    AppMessage,
    AssistantMessage,
    CustomMessage,
    TextContent,
    ToolCall,
    UserMessage,
    text_of,
)
from tau.base.clock import now_ms
from tau.base.errors import TauError
from tau.base.late import late
from tau.base.text import sentence, shortened
from tau.ext.hooks.dispatcher import HookDispatcher, Verdict, merge
from tau.ext.hooks.tool_names import (
    MAX_FILES,
    changed_arguments,
    hook_inputs,
    main_values,
    tool_names,
)

refusals = late("tau.coding.approval.refusals")

CONTEXT = "hook-context"
MAX_ROUNDS = 3  # of changes of one call
MAX_CALLS = 1_000
MAX_RESULT_CHARS = 200_000  # of a tool, as hooks see it
END_S = 5.0  # for the hooks of an ending session
IDLE_S = 60.0


class CommandHooks(Hooks):
    """The hooks of one session; `dispatcher` runs them."""

    def __init__(self, dispatcher: HookDispatcher, *, is_agent: bool = False) -> None:
        self.dispatcher = dispatcher
        self._awaits_user = not is_agent
        self._calls: dict[str, list[dict[str, Any]]] = {}  # reviewed calls, as hooks saw them
        self._idle: asyncio.Task[None] | None = None

    def on_event(self, event: AgentEvent) -> None:
        """Stop after a turn if a hook says so; notice that the user has been away for a while."""
        match event:
            case TurnEnd() if self.dispatcher.stopping:
                self.dispatcher.stopping = False
                self.dispatcher.session.stop()
            case AgentStart() if self._idle is not None:
                self._idle.cancel()
            case AgentSettled() if self._awaits_user and self.dispatcher.has("Notification"):
                self._idle = self.dispatcher.later(self._notify_idle())

    async def _notify_idle(self) -> None:
        await asyncio.sleep(IDLE_S)
        await self._notify("idle_prompt", "tau is waiting for your input")

    async def _notify(self, kind: str, message: str) -> None:
        await self.dispatcher.ask("Notification", {"message": message, "notification_type": kind}, (kind,))

    async def session_start(self, source: StartSource) -> None:
        verdict = await self.dispatcher.ask("SessionStart", {"source": source}, (source,))
        self._tell(verdict.context)

    async def session_end(self, reason: str) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(END_S):
                await self.dispatcher.ask("SessionEnd", {"reason": reason}, (reason,))

    async def input(self, message: UserMessage) -> UserMessage | None:
        content = message.content
        text = content if isinstance(content, str) else text_of(content)
        verdict = await self.dispatcher.ask("UserPromptSubmit", {"prompt": text})
        if verdict.decision == "deny":
            raise TauError(f"A hook blocked this prompt: {verdict.reason}")
        refusal = await self.dispatcher.unless_failed(verdict, "this prompt", self.dispatcher.session.ui)
        if verdict.decision == "ask":
            refusal = refusal or await self._confirm(verdict.reason)
        if refusal or verdict.stop:
            raise TauError(refusal or f"A hook stopped this prompt: {verdict.stop}")
        self._tell(verdict.context)
        return message

    async def review_call(self, question: ToolQuestion) -> CallReview | None:
        if not self.dispatcher.has("PreToolUse"):
            self._remember(question)
            return None
        arguments: dict[str, object] | None = None
        review = CallReview()
        for _ in range(MAX_ROUNDS):
            review, changed = await self._review(question)
            if changed is None:
                break
            arguments, question = changed, question.with_arguments(changed)
        else:
            review = CallReview(refusal=_refusal("The hooks change this call each time they see it."))
        if review.refusal is not None:
            return review
        self._remember(question)
        if arguments is None:
            return review if review.ask or review.note else None
        shown = shortened(json.encode(arguments, enc_hook=str).decode(), 500)
        note = f"A hook of the user changed the arguments of this call to {shown}."
        return replace(review, arguments=arguments, note="\n".join(filter(None, (note, review.note))))

    async def _review(self, question: ToolQuestion) -> tuple[CallReview, dict[str, object] | None]:
        """One look at a call: what the hooks say, and the arguments if they change them."""
        names = tool_names(question.tool.name)
        inputs = hook_inputs(question)
        if len(inputs) > MAX_FILES:
            return CallReview(ask=f"It changes more than {MAX_FILES} files, too many for your hooks."), None
        verdict = Verdict()
        changes: list[dict[str, object]] = []
        for shown in inputs:
            fields = {"tool_name": names[0], "tool_input": shown, "tool_use_id": question.call.id}
            values = main_values(shown, self.dispatcher.session.world.cwd)
            one = await self.dispatcher.ask("PreToolUse", fields, names, values)
            merge(verdict, one)
            try:
                made = (changed_arguments(question, shown, update) for update in one.updates)
                changes += [change for change in made if change is not None]
            except ValueError as error:
                return CallReview(refusal=_refusal(f"A hook changes this call, but {error}.")), None
        if verdict.stop:
            return CallReview(refusal=_refusal(f"A hook stopped the run: {verdict.stop}")), None
        if verdict.decision == "deny":
            return CallReview(refusal=_refusal(verdict.reason)), None
        failed = await self.dispatcher.unless_failed(
            verdict, f"this call of {question.tool.name}", question.context.ui
        )
        if failed:
            return CallReview(refusal=_refusal(failed)), None
        if any(change != changes[0] for change in changes):
            return CallReview(refusal=_refusal("Several hooks change this call in different ways.")), None
        ask = f"A hook asks you to decide: {verdict.reason}" if verdict.decision == "ask" else ""
        return CallReview(ask=ask, note=verdict.context), changes[0] if changes else None

    async def before_approval(self, question: ToolQuestion, reason: str) -> str | None:
        names = tool_names(question.tool.name)
        if question.context.ui is not None and self.dispatcher.has("Notification"):
            self.dispatcher.later(self._notify("permission_prompt", f"tau needs your approval to {reason}"))
        if not self.dispatcher.has("PermissionRequest"):
            return None
        for shown in hook_inputs(question)[:MAX_FILES]:
            fields = {"tool_name": names[0], "tool_input": shown}
            values = main_values(shown, self.dispatcher.session.world.cwd)
            verdict = await self.dispatcher.ask("PermissionRequest", fields, names, values)
            # A hook that allows the call, or fails, changes nothing: the user is asked.
            self.dispatcher.warn(verdict.failed)
            if verdict.decision == "deny" or verdict.stop:
                return f"a hook denied it: {verdict.reason or verdict.stop}".rstrip(".")
        return None

    async def after_tool(self, call: ToolCall, output: ToolOutput) -> ToolOutput:
        inputs = self._calls.pop(call.id, None)
        if inputs is None or refusals.refused_call(output.details) is not None:
            return output
        names = tool_names(call.name)
        text = text_of(output.content)[:MAX_RESULT_CHARS]
        event = "PostToolUseFailure" if output.is_error else "PostToolUse"
        told: list[str] = []
        for shown in inputs if self.dispatcher.has(event) else ():
            fields = {"tool_name": names[0], "tool_input": shown, "tool_use_id": call.id}
            more = {"error": text} if output.is_error else {"tool_response": _response(names[0], shown, text)}
            values = main_values(shown, self.dispatcher.session.world.cwd)
            verdict = await self.dispatcher.ask(event, {**fields, **more}, names, values)
            self.dispatcher.warn(verdict.failed)
            if verdict.decision == "deny":
                told.append(f"A hook of the user says: {verdict.reason}")
            told.extend(verdict.contexts)
        if not told:
            return output
        note = TextContent(f"[{chr(10).join(dict.fromkeys(told))}]")
        return replace(output, content=[*output.content, note])

    async def before_stop(self, answer: AssistantMessage, *, again: bool) -> str | None:
        fields = {"stop_hook_active": again, "last_assistant_message": answer.text}
        return await self._stop("Stop", fields, ())

    async def subagent_start(self, id: str, agent: str) -> str:
        verdict = await self.dispatcher.ask("SubagentStart", {"agent_id": id, "agent_type": agent}, (agent,))
        self.dispatcher.warn(verdict.failed)
        return verdict.context

    async def subagent_stop(self, id: str, agent: str, answer: str, *, again: bool) -> str | None:
        fields = {"stop_hook_active": again, "agent_id": id, "agent_type": agent}
        return await self._stop("SubagentStop", {**fields, "last_assistant_message": answer}, (agent,))

    async def _stop(self, event: str, fields: Mapping[str, object], subjects: Sequence[str]) -> str | None:
        verdict = await self.dispatcher.ask(event, fields, subjects)
        self.dispatcher.warn(verdict.failed)
        if verdict.stop or verdict.decision != "deny":
            return None
        return f"A hook of the user wants you to continue: {verdict.reason}"

    async def before_compact(
        self, messages: list[AppMessage], *, automatic: bool = True, focus: str = ""
    ) -> bool:
        trigger = "auto" if automatic else "manual"
        verdict = await self.dispatcher.ask(
            "PreCompact", {"trigger": trigger, "custom_instructions": focus}, (trigger,)
        )
        self.dispatcher.warn(verdict.failed)
        if verdict.decision == "deny":
            self.dispatcher.emit("warning", f"A hook refused the compaction: {verdict.reason}")
        return verdict.decision != "deny" and not verdict.stop

    async def after_compact(self, summary: str, *, automatic: bool) -> None:
        trigger = "auto" if automatic else "manual"
        verdict = await self.dispatcher.ask(
            "PostCompact", {"trigger": trigger, "compact_summary": summary}, (trigger,)
        )
        self.dispatcher.warn(verdict.failed)

    async def _confirm(self, reason: str) -> str:
        ui = self.dispatcher.session.ui
        if ui is not None and await ui.confirm("A hook asks whether to send this prompt.", reason):
            return ""
        return f"A hook asks to confirm this prompt: {reason}"

    def _tell(self, text: str) -> None:
        """Add what hooks say to the conversation, before the next prompt."""
        if text:
            self.dispatcher.session.queue.aside(
                CustomMessage(CONTEXT, text, display=False, timestamp=now_ms())
            )

    def _remember(self, question: ToolQuestion) -> None:
        if len(self._calls) < MAX_CALLS and (
            self.dispatcher.has("PostToolUse") or self.dispatcher.has("PostToolUseFailure")
        ):
            self._calls[question.call.id] = hook_inputs(question)[:MAX_FILES]


def _refusal(text: str) -> Refusal:
    text = sentence(text)
    return Refusal(
        f"A hook of the user blocked this call: {text} Do not reach the same effect another way.",
        refusals.RefusedCall(refusal="denied", comment=text),
    )


def _response(name: str, shown: Mapping[str, object], text: str) -> dict[str, object]:
    """A tool's result in the form that hooks expect of this tool."""
    if name == "Bash":
        return {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
    if name in ("Edit", "Write"):
        return {"filePath": shown.get("file_path", ""), "success": True, "content": text}
    return {"content": [{"type": "text", "text": text}]}
