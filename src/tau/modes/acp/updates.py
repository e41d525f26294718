"""What happens in a session, as updates for the editor."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

from acp import schema as a

from tau.agent import events as e
from tau.ai import stream_events as s
from tau.ai.wire import (
    AppMessage,
    AssistantMessage,
    BashExecutionMessage,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from tau.coding.todo.list import Phases
from tau.modes.acp.content import image_block, text_block
from tau.modes.acp.tool_calls import ShownCall, ToolContent, text_content

Update: TypeAlias = (
    a.UserMessageChunk
    | a.AgentMessageChunk
    | a.AgentThoughtChunk
    | a.ToolCallStart
    | a.ToolCallProgress
    | a.AgentPlanUpdate
    | a.AvailableCommandsUpdate
    | a.CurrentModeUpdate
    | a.ConfigOptionUpdate
    | a.SessionInfoUpdate
    | a.UsageUpdate
)
Send: TypeAlias = Callable[[Update], None]


class RunUpdates:
    """Feed it every event in order. `terminals` are those of the editor, by call."""

    def __init__(self, send: Send, cwd: Path) -> None:
        self._send = send
        self._cwd = cwd
        self.calls: dict[str, ShownCall] = {}
        self.terminals: dict[str, str] = {}

    def take(self, event: e.AgentEvent) -> None:
        match event:
            case e.MessageUpdate(s.TextDelta(delta=text)):
                self._send(message_chunk(text))
            case e.MessageUpdate(s.ThinkingDelta(delta=text)):
                self._send(thought_chunk(text))
            case e.ToolStart(tool_call_id=id, tool_name=name, args=arguments):
                self.calls[id] = call = ShownCall(id, name, arguments, self._cwd)
                self._send(call.start("in_progress"))
            case e.ToolUpdate(tool_call_id=id, partial_result=result) if id in self.calls:
                self._progress(id, "in_progress", self._content(id, result))
            case e.ToolEnd():
                self._end(event)
            case e.Notice(level="warning" | "error" as level, message=text):
                self._send(message_chunk(f"\n[{level}: {text}]\n"))

    def show_terminal(self, command: str, terminal_id: str) -> None:
        """Show a terminal of the editor in the call that runs this command."""
        for call in reversed(self.calls.values()):
            if call.kind == "execute" and command in str(call.arguments.get("command", "")):
                self.terminals[call.id] = terminal_id
                self._progress(call.id, "in_progress", [_terminal(terminal_id)])
                return

    def _end(self, event: e.ToolEnd) -> None:
        call = self.calls.pop(event.tool_call_id, None)
        terminal = self.terminals.pop(event.tool_call_id, None)
        if call is None:
            return
        result = event.result
        if isinstance(result, str):
            result = e.ToolResult([TextContent(result)])
        update = call.end(result.content, result.details, is_error=event.is_error)
        if terminal is not None:
            update.content = [_terminal(terminal)]
        self._send(update)

    def _content(self, id: str, result: e.ToolResult) -> list[ToolContent]:
        if id in self.terminals:
            return [_terminal(self.terminals[id])]
        return [text_content(part.text) for part in result.content if isinstance(part, TextContent)]

    def _progress(self, id: str, status: a.ToolCallStatus, content: list[ToolContent]) -> None:
        self._send(
            a.ToolCallProgress(
                session_update="tool_call_update", tool_call_id=id, status=status, content=content
            )
        )


def message_chunk(text: str) -> a.AgentMessageChunk:
    return a.AgentMessageChunk(session_update="agent_message_chunk", content=text_block(text))


def thought_chunk(text: str) -> a.AgentThoughtChunk:
    return a.AgentThoughtChunk(session_update="agent_thought_chunk", content=text_block(text))


def plan_update(phases: Phases) -> a.AgentPlanUpdate:
    entries = [
        a.PlanEntry(
            content=task.content,
            priority="medium",
            status="completed" if task.status == "abandoned" else task.status,
        )
        for phase in phases
        for task in phase.tasks
    ]
    return a.AgentPlanUpdate(session_update="plan", entries=entries)


def _terminal(id: str) -> a.TerminalToolCallContent:
    return a.TerminalToolCallContent(type="terminal", terminal_id=id)


def replay(messages: Iterable[AppMessage], send: Send, cwd: Path) -> None:
    """Send a stored conversation as if it happened now."""
    calls: dict[str, ShownCall] = {}
    for message in messages:
        match message:
            case UserMessage():
                _replay_user(message, send)
            case AssistantMessage():
                _replay_answer(message, send, calls, cwd)
            case ToolResultMessage() if (call := calls.pop(message.tool_call_id, None)) is not None:
                send(call.end(message.content, message.details, is_error=message.is_error))
            case BashExecutionMessage():
                send(_user_chunk(text_block(f"! {message.command}\n{message.output}")))


def _replay_user(message: UserMessage, send: Send) -> None:
    if isinstance(message.content, str):
        send(_user_chunk(text_block(message.content)))
        return
    for part in message.content:
        send(_user_chunk(image_block(part) if isinstance(part, ImageContent) else text_block(part.text)))


def _replay_answer(message: AssistantMessage, send: Send, calls: dict[str, ShownCall], cwd: Path) -> None:
    for part in message.content:
        match part:
            case TextContent() if part.text:
                send(message_chunk(part.text))
            case ThinkingContent() if part.thinking:
                send(thought_chunk(part.thinking))
            case ToolCall():
                calls[part.id] = call = ShownCall(part.id, part.name, part.arguments, cwd)
                send(call.start("pending"))


def _user_chunk(content: a.TextContentBlock | a.ImageContentBlock) -> a.UserMessageChunk:
    return a.UserMessageChunk(session_update="user_message_chunk", content=content)
