"""Turns messages into transcript blocks, live or when a session is loaded."""

from collections import deque

from msgspec import UNSET

from tau.agent.loop import Outcome
from tau.ai.wire import (
    AppMessage,
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    PythonExecutionMessage,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    text_of,
)
from tau.base.late import late
from tau.coding.session.entries import CustomEntry
from tau.modes.exit_status import judge
from tau.modes.interactive.transcript.assistant import TextBlock, ThinkingBlock
from tau.modes.interactive.transcript.block import BlockContext
from tau.modes.interactive.transcript.notice import NoticeBlock, TurnEndBlock, UsageLine
from tau.modes.interactive.transcript.tool import GROUPED, ToolBlock
from tau.modes.interactive.transcript.tool_call import ToolCallState
from tau.modes.interactive.transcript.user import UserBlock
from tau.tui.component import Component
from tau.tui.widgets.transcript import Transcript

user_execution = late("tau.modes.interactive.transcript.user_execution")
extension = late("tau.modes.interactive.tool_views.extension")
summaries = late("tau.modes.interactive.transcript.summary")


class TranscriptBuilder:
    """Adds blocks to the transcript and tracks pending calls and how the last turn ended.

    `failure_text` is the last failure shown, so that it is not repeated; a stop is shown once, too.
    `max_pictures` limits the images kept; `shows_usage` adds token counts to each answer.
    """

    def __init__(self, context: BlockContext, transcript: Transcript) -> None:
        self.context = context
        self.transcript = transcript
        self.max_pictures = 8
        self.shows_usage = False
        self.failure_text = ""
        self._calls: dict[str, ToolCallState] = {}
        self._reads: ToolBlock | None = None
        self._failure: TurnEndBlock | None = None
        self._stop_shown = False
        self.interruption = ""  # by a rule, shown at the end of the answer it stopped
        self._pictured: deque[ToolCallState] = deque()

    def add(self, block: Component) -> None:
        """Add a block, closing an open list of reads and settling a retry."""
        self._close_reads()
        if self._failure is not None and self._failure.is_retried:
            self._settle_failure()
        self.transcript.add(block)

    def message(self, message: AppMessage) -> None:
        """Add a complete message."""
        match message:
            case UserMessage():
                self._settle_failure()
                self.failure_text = ""
                self._stop_shown = False
                self.add(UserBlock(self.context, message.content))
            case AssistantMessage():
                self._whole_answer(message)
            case ToolResultMessage():
                self.result(message)
            case BashExecutionMessage() | PythonExecutionMessage():
                self.add(user_execution.UserExecutionBlock.of(self.context, message))
            case CustomMessage(display=True) if self.rendered("message", message.custom_type, message):
                pass
            case CustomMessage(display=True):
                content = message.content
                text = content if isinstance(content, str) else text_of(content)
                self.add(summaries.CustomBlock.of(self.context, message.custom_type, text))
            case BranchSummaryMessage():
                title = "Summary of the abandoned branch"
                self.add(summaries.SummaryBlock(self.context, title, message.summary))
            case CompactionSummaryMessage():
                self.compaction(message.summary, message.tokens_before)

    def rendered(self, kind: str, name: str, value: object) -> bool:
        """Add a block that an extension draws; False if none does."""
        if self.context.renderers is None:
            return False
        block = extension.block(self.context, kind, name, value)
        if block is not None:
            self.add(block)
        return block is not None

    def entry(self, entry: object) -> None:
        """Show data of an extension, if it draws them."""
        if isinstance(entry, CustomEntry):
            self.rendered("entry", entry.custom_type, entry.data)

    def compaction(self, summary: str, tokens_before: int, tokens_after: int | None = None) -> None:
        title = summaries.compaction_title(tokens_before, tokens_after)
        self.add(summaries.SummaryBlock(self.context, title, summary))

    def begin_answer(self) -> None:
        """Start an answer; after a failure, this is a retry."""
        self._stop_shown = False
        if self._failure is not None:
            self._failure.mark_retried()
            self.failure_text = ""

    def text(self, text: str | None = None) -> TextBlock:
        """Add model text, complete or to be appended to."""
        block = TextBlock(self.context, text)
        self.add(block)
        return block

    def thinking(self, text: str | None = None, *, redacted: bool = False) -> ThinkingBlock:
        block = ThinkingBlock(self.context, text, redacted=redacted)
        self.add(block)
        return block

    def call(self, id: str, name: str, whole: ToolCall | None = None) -> ToolCallState:
        """Add a tool call, as a new block or in an open list of reads."""
        call = self._calls[id] = ToolCallState(
            self.context, id, name, None if whole is None else whole.arguments
        )
        if name == GROUPED and self._reads is not None:
            self._reads.add(call)
            return call
        block = ToolBlock(self.context, call)
        self.add(block)
        self._reads = block if block.is_open else None
        return call

    def pending_call(self, id: str) -> ToolCallState | None:
        """The call, while it has no result."""
        return self._calls.get(id)

    def result(self, result: ToolResultMessage) -> None:
        """Attach a result to its call; a result without one is shown anyway."""
        id, name = result.tool_call_id, result.tool_name
        call = self._calls.get(id) or self.call(id, name, ToolCall(id, name, {}))
        call.finish(result)
        del self._calls[id]
        if call.pictures:
            self._pictured.append(call)
            while self._pictured and sum(one.pictures for one in self._pictured) > self.max_pictures:
                self._pictured.popleft().drop_pictures()

    def end_answer(self, message: AssistantMessage) -> None:
        """Show how an answer ended. Calls of an incomplete one never run."""
        if message.stop_reason in ("error", "aborted"):
            for part in message.tool_calls:
                if (call := self._calls.pop(part.id, None)) is not None:
                    call.abandon(never_ran=True)
        match message.stop_reason:
            case "aborted" if self.interruption:
                self.add(NoticeBlock(self.context, self.interruption, "info"))
                self.interruption = ""
            case "aborted":
                self.add_stop()
            case "error":
                self.failure_text = judge(Outcome(message=message, messages=[])).remark
                if self._failure is None or not self._failure.again(self.failure_text):
                    failure = TurnEndBlock(self.context, "failed", self.failure_text, is_open=True)
                    self.add(failure)
                    self._failure = failure
            case "length" if not message.tool_calls:
                self.failure_text = judge(Outcome(message=message, messages=[])).remark
                self.add(TurnEndBlock(self.context, "cut off", self.failure_text))
        if self.shows_usage and (message.usage.input or message.usage.output):
            self.add(UsageLine(self.context, message.usage))

    def rules_triggered(self, line: str, interrupted: bool) -> None:
        """Say so at the end of the answer if it is interrupted, otherwise now."""
        if interrupted:
            self.interruption = line
        else:
            self.add(NoticeBlock(self.context, line, "info"))

    def add_stop(self) -> None:
        """The user stopped the run."""
        if not self._stop_shown and not self.failure_text:
            self._stop_shown = True
            self.add(TurnEndBlock(self.context, "stopped"))

    def settle(self) -> None:
        """The run is over: finish everything still open."""
        for call in self._calls.values():
            call.abandon(never_ran=False)
        self._calls.clear()
        self._close_reads()
        self._settle_failure()

    def _settle_failure(self) -> None:
        if self._failure is not None:
            self._failure.settle()
            self._failure = None

    def _close_reads(self) -> None:
        if self._reads is not None:
            self._reads.close()
            self._reads = None

    def _whole_answer(self, message: AssistantMessage) -> None:
        self.begin_answer()
        for part in message.content:
            match part:
                case TextContent(text):
                    self.text(text)
                case ThinkingContent(text):
                    self.thinking(text, redacted=part.redacted not in (UNSET, False))
                case ToolCall():
                    self.call(part.id, part.name, part)
        self.end_answer(message)
