"""From messages to blocks of the transcript, in order: as they arrive, and when a session is read again."""

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
from tau.modes.exit_status import judge
from tau.modes.interactive.transcript.assistant import TextBlock
from tau.modes.interactive.transcript.block_context import BlockContext
from tau.modes.interactive.transcript.thinking import ThinkingBlock
from tau.modes.interactive.transcript.tool import GROUPED, ToolBlock
from tau.modes.interactive.transcript.tool_call import ToolCallState
from tau.modes.interactive.transcript.turn_end import TurnEndBlock, UsageLine
from tau.modes.interactive.transcript.user import UserBlock
from tau.tui.component import Component
from tau.tui.widgets.transcript import Transcript

shell_lines = late("tau.modes.interactive.transcript.user_execution")
summaries = late("tau.modes.interactive.transcript.summary")


class TranscriptBuilder:
    """The one who adds to the transcript. It knows which calls wait for a result and how the last turn ended.

    `failure_text` is what the last failure said, so that nobody says it twice; a stop is told once, too.
    `max_pictures` is how many pictures are kept; `shows_usage` adds the tokens to each answer.
    """

    def __init__(self, scene: BlockContext, transcript: Transcript) -> None:
        self.scene = scene
        self.transcript = transcript
        self.max_pictures = 8
        self.shows_usage = False
        self.failure_text = ""
        self._calls: dict[str, ToolCallState] = {}
        self._reads: ToolBlock | None = None
        self._failure: TurnEndBlock | None = None
        self._stop_told = False
        self._pictured: deque[ToolCallState] = deque()

    def add(self, block: Component) -> None:
        """One more block: reads that come later begin another list, and a retry has come to something."""
        self._close_reads()
        if self._failure is not None and self._failure.is_retried:
            self._settle_failure()
        self.transcript.add(block)

    def message(self, message: AppMessage) -> None:
        """A whole message, as it stands in a session."""
        match message:
            case UserMessage():
                self._settle_failure()
                self.failure_text = ""
                self._stop_told = False
                self.add(UserBlock(self.scene, message.content))
            case AssistantMessage():
                self._whole_answer(message)
            case ToolResultMessage():
                self.result(message)
            case BashExecutionMessage() | PythonExecutionMessage():
                self.add(shell_lines.UserExecutionBlock.of(self.scene, message))
            case CustomMessage(display=True):
                content = message.content
                text = content if isinstance(content, str) else text_of(content)
                self.add(summaries.CustomBlock(self.scene, message.custom_type, text))
            case BranchSummaryMessage():
                title = "What was tried on the branch that was left is summarised"
                self.add(summaries.SummaryBlock(self.scene, title, message.summary))
            case CompactionSummaryMessage():
                self.compaction(message.summary, message.tokens_before)

    def compaction(self, summary: str, tokens_before: int, tokens_after: int | None = None) -> None:
        title = summaries.compaction_title(tokens_before, tokens_after)
        self.add(summaries.SummaryBlock(self.scene, title, summary))

    def begin_answer(self) -> None:
        """An answer begins: if the one before failed, this is another attempt."""
        self._stop_told = False
        if self._failure is not None:
            self._failure.retried()
            self.failure_text = ""

    def text(self, text: str | None = None) -> TextBlock:
        """Words of the model: complete, or to be appended to."""
        block = TextBlock(self.scene, text)
        self.add(block)
        return block

    def thinking(self, text: str | None = None, *, redacted: bool = False) -> ThinkingBlock:
        block = ThinkingBlock(self.scene, text, redacted=redacted)
        self.add(block)
        return block

    def call(self, id: str, name: str, whole: ToolCall | None = None) -> ToolCallState:
        """A call of a tool, which gets a block, or joins the list of reads."""
        call = self._calls[id] = ToolCallState(
            self.scene, id, name, None if whole is None else whole.arguments
        )
        if name == GROUPED and self._reads is not None:
            self._reads.add(call)
            return call
        block = ToolBlock(self.scene, call)
        self.add(block)
        self._reads = block if block.is_open else None
        return call

    def waiting(self, id: str) -> ToolCallState | None:
        """The call that waits for its result."""
        return self._calls.get(id)

    def result(self, result: ToolResultMessage) -> None:
        """A result finds its call. One whose call nobody has seen is shown all the same."""
        id, name = result.tool_call_id, result.tool_name
        call = self._calls.get(id) or self.call(id, name, ToolCall(id, name, {}))
        call.finish(result)
        del self._calls[id]
        if call.pictures:
            self._pictured.append(call)
            while self._pictured and sum(one.pictures for one in self._pictured) > self.max_pictures:
                self._pictured.popleft().drop_pictures()

    def end_answer(self, message: AssistantMessage) -> None:
        """How an answer ended. Calls of one that was broken off never run."""
        if message.stop_reason in ("error", "aborted"):
            for part in message.tool_calls:
                if (call := self._calls.pop(part.id, None)) is not None:
                    call.abandon(never_ran=True)
        match message.stop_reason:
            case "aborted":
                self.stopped()
            case "error":
                self.failure_text = judge(Outcome(message=message, messages=[])).remark
                if self._failure is None or not self._failure.again(self.failure_text):
                    failure = TurnEndBlock(self.scene, "failed", self.failure_text, is_open=True)
                    self.add(failure)
                    self._failure = failure
            case "length" if not message.tool_calls:
                self.failure_text = judge(Outcome(message=message, messages=[])).remark
                self.add(TurnEndBlock(self.scene, "cut off", self.failure_text))
        if self.shows_usage and (message.usage.input or message.usage.output):
            self.add(UsageLine(self.scene, message.usage))

    def stopped(self) -> None:
        """The person stopped the run."""
        if not self._stop_told and not self.failure_text:
            self._stop_told = True
            self.add(TurnEndBlock(self.scene, "stopped"))

    def settle(self) -> None:
        """Nothing that is open goes on: the run is over."""
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
