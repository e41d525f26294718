"""Events as RPC clients expect them: where two generations of clients differ, both spellings."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import to_builtins

from tau.agent.events import (
    AgentEnd,
    AgentEvent,
    AgentSettled,
    AgentStart,
    CompactionEnd,
    CompactionStart,
    FallbackApplied,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    RetryStart,
    ThinkingLevelChanged,
)
from tau.ai import stream_events as s
from tau.ai.wire import AssistantMessage
from tau.modes.event_json import EventEncoder, encode_masked


class RpcEventEncoder(EventEncoder):
    """Holds back `agent_end` until it is known whether the run is retried, which the line says."""

    def __init__(self, *, snapshots: bool = True, plain_errors: bool = False) -> None:
        super().__init__(snapshots=snapshots, plain_errors=plain_errors, usage=True)
        self._end: AgentEnd | None = None
        self._after_end: list[AgentEvent] = []
        self._reason = ""

    def lines_in_pieces(self, event: AgentEvent) -> Iterable[Sequence[bytes]]:
        if type(event) is MessageUpdate and self._end is None:  # thousands
            return (self.pieces(event),)
        return self._lines(event)

    def _lines(self, event: AgentEvent) -> Iterator[Sequence[bytes]]:
        if isinstance(event, AgentEnd):
            self._end = event
            return
        if self._end is not None:
            if not isinstance(
                event, AgentSettled | AgentStart | RetryStart | CompactionStart | FallbackApplied
            ):
                self._after_end.append(event)
                return
            yield self._agent_end(self._end, continues=not isinstance(event, AgentSettled))
            held, self._end, self._after_end = self._after_end, None, []
            for late in held:
                yield from self._spellings(late)
        yield from self._spellings(event)

    def _agent_end(self, event: AgentEnd, *, continues: bool) -> Sequence[bytes]:
        last = event.messages[-1] if event.messages else None
        failed = isinstance(last, AssistantMessage) and last.stop_reason == "error"
        retried = b"true" if continues and failed else b"false"
        return encode_masked(event)[:-1], b',"willRetry":', retried, b"}\n"

    def _spellings(self, event: AgentEvent) -> Iterator[Sequence[bytes]]:
        match event:
            case MessageStart(AssistantMessage()):
                yield self.pieces(event)
                yield self.pieces(MessageUpdate(s.Start()))
            case MessageEnd(AssistantMessage() as message):
                yield self.pieces(MessageUpdate(_stream_end(message)))
                yield self.pieces(event)
            case ThinkingLevelChanged():
                yield encode_masked({**to_builtins(event), "level": event.thinking_level}), b"\n"
            case CompactionStart():
                self._reason = event.reason
                yield self.pieces(event)
                yield encode_masked({**to_builtins(event), "type": "compaction_start"}), b"\n"
            case CompactionEnd():
                yield self.pieces(event)
                fields = to_builtins(event, enc_hook=str)
                yield encode_masked({**fields, "type": "compaction_end", "reason": self._reason}), b"\n"
            case _:
                yield self.pieces(event)


def _stream_end(message: AssistantMessage) -> s.StreamDone | s.StreamError:
    match message.stop_reason:
        case "aborted" | "error" as reason:
            return s.StreamError(reason, message)
        case reason:
            return s.StreamDone(reason, message)
