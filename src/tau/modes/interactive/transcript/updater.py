"""Updates the screen for each event of a live session."""

from collections.abc import Callable
from typing import Any

from tau.agent import events as e
from tau.agent.ui import NoticeLevel
from tau.ai import stream_events
from tau.ai.stream_events import AssistantMessageEvent, TextDelta, ThinkingDelta, ToolCallDelta
from tau.ai.wire import AssistantMessage
from tau.base.late import late
from tau.modes.event_texts import compaction_line, job_line, rules_line
from tau.modes.interactive.composer.pending_messages import PendingMessages
from tau.modes.interactive.current_session import CurrentSession
from tau.modes.interactive.screen_protocols import Display
from tau.modes.interactive.status.activity_line import ActivityLine
from tau.modes.interactive.status.todo_panel import TodoPanel
from tau.modes.interactive.transcript.assistant import TextBlock, ThinkingBlock
from tau.modes.interactive.transcript.builder import TranscriptBuilder
from tau.modes.interactive.transcript.notice import NoticeBlock
from tau.modes.interactive.transcript.preload import RendererPreload
from tau.modes.interactive.transcript.tool_call import ToolCallState, was_stopped

user_execution = late("tau.modes.interactive.transcript.user_execution")

WAITING = "Waiting for the model"
RECORDING = "Recording changes"
_MAX_NAMED = 3


class TranscriptUpdater:
    """`stream` handles parts of an answer, `event` everything else."""

    def __init__(
        self,
        display: Display,
        current: CurrentSession,
        activity: ActivityLine,
        builder: TranscriptBuilder,
        pending: PendingMessages,
        todo: TodoPanel,
    ) -> None:
        self._theme = display.theme
        self._request_render = display.request_render
        self._current = current
        self._activity = activity
        self.builder = builder
        self.executions: list[user_execution.UserExecutionBlock] = []
        """The user's running lines."""
        self._pending = pending
        self._todo = todo
        self._streaming = StreamingMessage(builder)
        self._running: dict[str, str] = {}
        self._preload = RendererPreload(display.timer)
        self._is_open = False
        """Whether an answer is being streamed."""
        self._handlers: dict[type, Callable[[Any], None]] = {
            e.AgentStart: self._agent_start,
            e.AgentEnd: self._agent_end,
            e.MessageStart: self._message_start,
            e.MessageEnd: self._message_end,
            e.ToolStart: self._tool_start,
            e.ToolUpdate: self._tool_update,
            e.ToolEnd: self._tool_end,
            e.TurnEnd: self._turn_end,
            e.RetryStart: self._retry_start,
            e.RetryEnd: lambda event: None if event.success else self._activity.end(),
            e.FallbackApplied: lambda event: self._activity.continue_with(f"Switching to {event.to}"),
            e.CompactionStart: self._compaction_start,
            e.CompactionEnd: self._compaction_end,
            e.Compacted: lambda event: self.builder.compaction(
                event.summary, event.tokens_before, event.tokens_after
            ),
            e.QueueChanged: lambda event: self._pending.show(event.steering, event.follow_up),
            e.BashEnd: self._bash_end,
            e.JobChanged: self._job_changed,
            e.TodoReminder: self._todo_reminder,
            e.RulesTriggered: lambda event: self.builder.rules_triggered(
                rules_line(event), event.interrupted
            ),
            e.EntryAppended: lambda event: self.builder.entry(event.entry),
            e.TodoAutoClear: lambda event: self._todo.refresh(),
            e.Notice: lambda event: self._say(event.message, event.level),
        }

    def stream(self, event: AssistantMessageEvent) -> None:
        """The hot path: called for each delta."""
        kind = type(event)
        if kind is TextDelta or kind is ThinkingDelta or kind is ToolCallDelta:
            delta: str = event.delta  # type: ignore[union-attr]
            self._streaming.append(event.content_index, delta)  # type: ignore[union-attr]
            self._activity.count_chars(len(delta))
        else:
            activity = self._streaming.take(event)
            if activity:
                self._activity.update(activity)
        self._request_render()

    def event(self, event: e.AgentEvent) -> None:
        show = self._handlers.get(type(event))
        if show is not None:
            show(event)
            self._request_render()

    def reset(self) -> None:
        """Forget the current run: it or the session is over."""
        self._preload.cancel()
        self._streaming = StreamingMessage(self.builder)
        self._running.clear()
        self._is_open = False
        self.executions = [block for block in self.executions if not block.is_finished()]

    def _agent_start(self, event: e.AgentStart) -> None:
        self._running.clear()
        self._preload.soon()
        self._activity.begin(WAITING)

    def _agent_end(self, event: e.AgentEnd) -> None:
        """The model has stopped; the run ends once its changes are recorded, which may take a moment."""
        if self._current.running:
            self._activity.update(RECORDING)
        else:
            self._activity.end()

    def _message_start(self, event: e.MessageStart) -> None:
        message = event.message
        if isinstance(message, AssistantMessage):
            self.builder.begin_answer()
            self._streaming = StreamingMessage(self.builder)
            self._is_open = True
            self._activity.update(WAITING)
        else:
            self.builder.message(message)

    def _message_end(self, event: e.MessageEnd) -> None:
        message = event.message
        if isinstance(message, AssistantMessage) and self._is_open:
            self._is_open = False
            self._activity.count_tokens(message.usage.output)
            self.builder.end_answer(message)

    def _tool_start(self, event: e.ToolStart) -> None:
        self._running[event.tool_call_id] = event.tool_name
        if (call := self.builder.pending_call(event.tool_call_id)) is not None:
            call.start(event.args)
        self._show_running()

    def _tool_update(self, event: e.ToolUpdate) -> None:
        if (call := self.builder.pending_call(event.tool_call_id)) is not None:
            call.update(event.partial_result)

    def _tool_end(self, event: e.ToolEnd) -> None:
        """The result arrives separately, as a message."""
        self._running.pop(event.tool_call_id, None)
        if event.tool_name == "todo":
            self._todo.refresh()
        self._show_running()

    def _show_running(self) -> None:
        names = list(dict.fromkeys(self._running.values()))
        if not names:
            self._activity.update(WAITING)
            return
        more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        text = f"Running {', '.join(names[:_MAX_NAMED])}{more}"
        self._activity.update(text, can_move="bash" in names)

    def _turn_end(self, event: e.TurnEnd) -> None:
        if any(was_stopped(result) for result in event.tool_results):
            self.builder.add_stop()
        self._todo.refresh()

    def _retry_start(self, event: e.RetryStart) -> None:
        # The transcript shows the reason only once the outcome is known.
        why = f": {event.error_message}" if self._theme.linear else ""
        self._activity.retry(event.delay_ms / 1000, f"Retry {event.attempt} of {event.max_attempts}", why)

    def _compaction_start(self, event: e.CompactionStart) -> None:
        why = {
            "threshold": "The conversation is getting long",
            "overflow": "The conversation exceeds the context window",
            "incomplete": "No room left for an answer",
            "idle": "The conversation is long",
        }[event.reason]
        what = "dropping old output" if event.action == "shake" else "summarizing it"
        self._activity.continue_with(f"{why}: {what}")

    def _compaction_end(self, event: e.CompactionEnd) -> None:
        line = compaction_line(event)
        if line is not None:
            self._say(line, "info" if event.aborted else "warning")
        elif event.result is None and event.skipped is not True:
            self._say("Shortened the longest parts to make room; the session keeps them in full.", "info")
        if self._current.running:
            self._activity.continue_with(WAITING)
        else:
            self._activity.end()

    def _bash_end(self, event: e.BashEnd) -> None:
        """Finish the line's block, or add one for a line run elsewhere."""
        for block in self.executions:
            if block.kind == "bash" and not block.is_finished() and block.runs(event.message.command):
                block.finish(event.message)
                self.executions.remove(block)
                return
        self.builder.message(event.message)

    def _job_changed(self, event: e.JobChanged) -> None:
        """One line at the end of a job, unless a turn on its result begins now and shows it."""
        session = self._current.session
        if event.queued or event.status in ("queued", "running") or session is None:
            return
        team = None if session.team is None else session.team.made
        if self._theme.linear and team is not None and team.row(event.id) is not None:
            return  # the agents panel says so
        answers = session.settings.async_.continue_when_done and not session.activities.running
        if not answers or event.status == "cancelled":
            self._say(job_line(event), "warning" if event.status == "failed" else "info")

    def _todo_reminder(self, event: e.TodoReminder) -> None:
        count = len(event.todos)
        open_tasks = "1 task is" if count == 1 else f"{count} tasks are"
        self._say(
            f"{open_tasks} still open; reminded the agent ({event.attempt} of {event.max_attempts}).", "info"
        )

    def _say(self, text: str, level: NoticeLevel) -> None:
        self.builder.add(NoticeBlock(self.builder.context, text, level))


class StreamingMessage:
    """A streaming answer: each part has a block that grows.

    `take` returns a short description of the activity when it changes.
    """

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
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
                self._parts[index] = self._builder.text()
                return "Writing"
            case stream_events.ThinkingStart(index):
                self._parts[index] = self._builder.thinking()
                return "Thinking"
            case stream_events.ToolCallStart(index, id, name):
                self._parts[index] = self._builder.call(id, name)
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
