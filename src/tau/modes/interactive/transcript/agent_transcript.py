"""The conversation of an agent as blocks: what its log has, then its events as they come."""

import asyncio

from tau.agent import events as e
from tau.ai.stream_events import TextDelta, ThinkingDelta, ToolCallDelta
from tau.ai.wire import AssistantMessage
from tau.coding.session.storage.log import SessionLog
from tau.coding.task.ports import AgentTeam
from tau.modes.interactive.transcript.block import BlockContext
from tau.modes.interactive.transcript.builder import TranscriptBuilder
from tau.modes.interactive.transcript.replay import show_branch
from tau.modes.interactive.transcript.updater import StreamingMessage
from tau.tui.component import Component
from tau.tui.widgets.transcript import Transcript

MAX_BLOCKS = 1_200
READS = 5
"""How often the log is read again because messages came meanwhile."""


class AgentTranscript:
    """`load` first; from then on, `take` gets each event. Long conversations are read again, shortened."""

    def __init__(self, context: BlockContext, team: AgentTeam, id: str) -> None:
        self._context = context
        self._team, self._id = team, id
        self._path = team.log_path(id)
        self._messages = 0
        self._begin()

    def _begin(self) -> None:
        self._transcript = Transcript()
        self._builder = TranscriptBuilder(self._context, self._transcript)
        self._builder.max_pictures = 0
        self._streaming, self._is_open = StreamingMessage(self._builder), False

    def blocks(self) -> list[Component]:
        return list(self._transcript.blocks)

    @property
    def is_long(self) -> bool:
        return len(self._transcript.blocks) > MAX_BLOCKS

    async def load(self) -> None:
        """Read the log, and show what it does not have yet. Raises SessionError and OSError."""
        for left in reversed(range(READS)):
            before = self._messages
            log = None
            if self._path.exists():
                log = await asyncio.to_thread(SessionLog.open, self._path, read_only=True)
            row = self._team.row(self._id)
            try:
                if before == self._messages or not left:
                    self._begin()
                    if log is not None:
                        show_branch(self._builder, log, settle=row is None or row.state != "running")
                    for event in self._team.unfinished(self._id):
                        self.take(event)
                    return
            finally:
                if log is not None:
                    log.close()

    def settle(self) -> None:
        """Its work is over."""
        self._builder.settle()

    def take(self, event: e.AgentEvent) -> None:
        builder = self._builder
        match event:
            case e.MessageStart(message=AssistantMessage()):
                builder.begin_answer()
                self._streaming, self._is_open = StreamingMessage(builder), True
            case e.MessageStart():
                self._messages += 1
                builder.message(event.message)
            case e.MessageUpdate():
                self._stream(event)
            case e.MessageEnd(message=AssistantMessage() as message):
                self._messages += 1
                if self._is_open:
                    builder.end_answer(message)
                else:
                    builder.message(message)
                self._is_open = False
            case e.ToolStart():
                if (call := builder.pending_call(event.tool_call_id)) is not None:
                    call.start(event.args)
            case e.ToolUpdate():
                if (call := builder.pending_call(event.tool_call_id)) is not None:
                    call.update(event.partial_result)
            case _:
                pass

    def _stream(self, update: e.MessageUpdate) -> None:
        event = update.assistant_message_event
        if isinstance(event, TextDelta | ThinkingDelta | ToolCallDelta):
            self._streaming.append(event.content_index, event.delta)
        else:
            self._streaming.take(event)
