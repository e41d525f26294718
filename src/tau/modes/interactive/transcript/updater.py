"""Updates the screen for each event of a live session."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tau.agent import events as e
from tau.agent.ui import NoticeLevel
from tau.ai import stream_events
from tau.ai.stream_events import AssistantMessageEvent, TextDelta, ThinkingDelta, ToolCallDelta
from tau.ai.wire import AssistantMessage
from tau.modes.event_lines import compaction_line
from tau.modes.interactive.transcript.assistant import TextBlock
from tau.modes.interactive.transcript.builder import TranscriptBuilder
from tau.modes.interactive.transcript.markdown_preload import MarkdownPreload
from tau.modes.interactive.transcript.notice import NoticeBlock
from tau.modes.interactive.transcript.thinking import ThinkingBlock
from tau.modes.interactive.transcript.tool_call import ToolCallState, was_stopped

if TYPE_CHECKING:
    from tau.modes.interactive.composer.pending_messages import PendingMessages
    from tau.modes.interactive.current_session import CurrentSession
    from tau.modes.interactive.ports import Display
    from tau.modes.interactive.status.activity_line import ActivityLine
    from tau.modes.interactive.status.todo_panel import TodoPanel
    from tau.modes.interactive.transcript.user_execution import UserExecutionBlock

WAITING = "Waiting for the model"
NOTING = "Recording changes"
_MAX_NAMED = 3


class TranscriptUpdater:
    """`words` handles streamed deltas, `event` everything else."""

    def __init__(
        self,
        display: "Display",
        current: "CurrentSession",
        activity: "ActivityLine",
        story: TranscriptBuilder,
        pending: "PendingMessages",
        todo: "TodoPanel",
    ) -> None:
        self._theme = display.theme
        self._request_render = display.request_render
        self._current = current
        self._activity = activity
        self.story = story
        self.lines: list[UserExecutionBlock] = []
        """The user's running lines."""
        self._pending = pending
        self._todo = todo
        self._arriving = StreamingMessage(story)
        self._running: dict[str, str] = {}
        self._warming = MarkdownPreload(display.timer)
        self._is_open = False
        """Whether an answer is being streamed."""
        self._takes: dict[type, Callable[[Any], None]] = {
            e.AgentStart: self._agent_start,
            e.AgentEnd: self._agent_end,
            e.MessageStart: self._message_start,
            e.MessageEnd: self._message_end,
            e.ToolStart: self._tool_start,
            e.ToolUpdate: self._tool_update,
            e.ToolEnd: self._tool_end,
            e.TurnEnd: self._turn_end,
            e.RetryStart: self._retry_start,
            e.RetryEnd: self._retry_end,
            e.FallbackApplied: lambda event: self._activity.goes_on(f"Switching to {event.to}"),
            e.CompactionStart: self._compaction_start,
            e.CompactionEnd: self._compaction_end,
            e.Compacted: lambda event: self.story.compaction(
                event.summary, event.tokens_before, event.tokens_after
            ),
            e.QueueChanged: lambda event: self._pending.show(event.steering, event.follow_up),
            e.BashEnd: self._bash_end,
            e.TodoReminder: self._todo_reminder,
            e.TodoAutoClear: lambda event: self._todo.refresh(),
            e.Notice: lambda event: self._say(event.message, event.level),
        }

    def words(self, event: AssistantMessageEvent) -> None:
        """The hot path: called for each delta."""
        kind = type(event)
        if kind is TextDelta or kind is ThinkingDelta or kind is ToolCallDelta:
            delta: str = event.delta  # type: ignore[union-attr]
            self._arriving.append(event.content_index, delta)  # type: ignore[union-attr]
            self._activity.heard(len(delta))
        else:
            doing = self._arriving.take(event)
            if doing:
                self._activity.doing(doing)
        self._request_render()

    def event(self, event: e.AgentEvent) -> None:
        take = self._takes.get(type(event))
        if take is not None:
            take(event)
            self._request_render()

    def over(self) -> None:
        """The run or session is over: expect nothing more."""
        self._warming.cancel()
        self._arriving = StreamingMessage(self.story)
        self._running.clear()
        self._is_open = False
        self.lines = [line for line in self.lines if not line.over]

    def _agent_start(self, event: e.AgentStart) -> None:
        self._running.clear()
        self._warming.soon()
        self._activity.begin(WAITING)

    def _agent_end(self, event: e.AgentEnd) -> None:
        """The model has stopped; the run ends once its changes are recorded, which may take a moment."""
        if self._current.running:
            self._activity.doing(NOTING)
        else:
            self._activity.end()

    def _message_start(self, event: e.MessageStart) -> None:
        message = event.message
        if isinstance(message, AssistantMessage):
            self.story.begin_answer()
            self._arriving = StreamingMessage(self.story)
            self._is_open = True
            self._activity.doing(WAITING)
        else:
            self.story.message(message)

    def _message_end(self, event: e.MessageEnd) -> None:
        message = event.message
        if isinstance(message, AssistantMessage) and self._is_open:
            self._is_open = False
            self._activity.used(message.usage.output)
            self.story.end_answer(message)

    def _tool_start(self, event: e.ToolStart) -> None:
        self._running[event.tool_call_id] = event.tool_name
        call = self.story.waiting(event.tool_call_id)
        if call is not None:
            call.start(event.args)
        self._tell_running()

    def _tool_update(self, event: e.ToolUpdate) -> None:
        call = self.story.waiting(event.tool_call_id)
        if call is not None:
            call.update(event.partial_result)

    def _tool_end(self, event: e.ToolEnd) -> None:
        """The result arrives separately, as a message."""
        self._running.pop(event.tool_call_id, None)
        if event.tool_name == "todo":
            self._todo.refresh()
        self._tell_running()

    def _tell_running(self) -> None:
        names = list(dict.fromkeys(self._running.values()))
        if not names:
            self._activity.doing(WAITING)
            return
        more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        self._activity.doing(f"Running {', '.join(names[:_MAX_NAMED])}{more}")

    def _turn_end(self, event: e.TurnEnd) -> None:
        if any(was_stopped(result) for result in event.tool_results):
            self.story.stopped()
        self._todo.refresh()

    def _retry_start(self, event: e.RetryStart) -> None:
        words = f"attempt {event.attempt} of {event.max_attempts}"
        if self._theme.linear:  # the transcript shows the reason only once the outcome is known
            words += f": {event.error_message}"
        self._activity.retry(event.delay_ms / 1000, words)

    def _retry_end(self, event: e.RetryEnd) -> None:
        if not event.success:
            self._activity.end()

    def _compaction_start(self, event: e.CompactionStart) -> None:
        why = {
            "threshold": "The conversation is getting long",
            "overflow": "The conversation exceeds the context window",
            "incomplete": "No room left for an answer",
            "idle": "The conversation is long",
        }[event.reason]
        what = "dropping old output" if event.action == "shake" else "summarizing it"
        self._activity.goes_on(f"{why}: {what}")

    def _compaction_end(self, event: e.CompactionEnd) -> None:
        line = compaction_line(event)
        if line is not None:
            self._say(line, "info" if event.aborted else "warning")
        elif event.result is None and event.skipped is not True:
            self._say("Shortened the longest parts to make room; the session keeps them in full.", "info")
        if self._current.running:
            self._activity.goes_on(WAITING)
        else:
            self._activity.end()

    def _bash_end(self, event: e.BashEnd) -> None:
        """Finish the line's block, or add one for a line run elsewhere."""
        for line in self.lines:
            if line.kind == "bash" and not line.over and line.runs(event.message.command):
                line.finish(event.message)
                self.lines.remove(line)
                return
        self.story.message(event.message)

    def _todo_reminder(self, event: e.TodoReminder) -> None:
        count = len(event.todos)
        open_tasks = "1 task is" if count == 1 else f"{count} tasks are"
        self._say(
            f"{open_tasks} still open; reminded the agent ({event.attempt} of {event.max_attempts}).",
            "info",
        )

    def _say(self, text: str, level: NoticeLevel) -> None:
        self.story.add(NoticeBlock(self.story.scene, text, level))


class StreamingMessage:
    """A streaming answer: each part has a block that grows.

    `take` returns a short description of the activity when it changes.
    """

    def __init__(self, story: TranscriptBuilder) -> None:
        self._story = story
        self._parts: dict[int, TextBlock | ThinkingBlock | ToolCallState] = {}

    def append(self, index: int, delta: str) -> None:
        """Append to a part: text, thinking or arguments."""
        part = self._parts.get(index)
        if isinstance(part, TextBlock | ThinkingBlock):
            part.append(delta)
        elif part is not None:
            part.feed(delta)

    def take(self, event: stream_events.AssistantMessageEvent) -> str:
        match event:
            case stream_events.TextStart(index):
                self._parts[index] = self._story.text()
                return "Writing"
            case stream_events.ThinkingStart(index):
                self._parts[index] = self._story.thinking()
                return "Thinking"
            case stream_events.ToolCallStart(index, id, name):
                self._parts[index] = self._story.call(id, name)
                return f"Preparing {name}"
            case stream_events.TextEnd(index, text) | stream_events.ThinkingEnd(index, text):
                part = self._parts.get(index)
                if isinstance(part, TextBlock | ThinkingBlock):
                    part.finish(text)
            case stream_events.ToolCallEnd(index, call):
                part = self._parts.get(index)
                if isinstance(part, ToolCallState):
                    part.complete(call)
        return ""
