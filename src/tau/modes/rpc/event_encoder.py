"""Events as RPC clients expect them: where two generations of clients differ, both spellings."""

from collections.abc import Iterator

from msgspec import to_builtins

from tau.agent.events import (
    AgentEnd,
    AgentEvent,
    AgentSettled,
    AgentStart,
    CompactionEnd,
    CompactionStart,
    FallbackApplied,
    RetryStart,
    ThinkingLevelChanged,
)
from tau.ai.wire import AssistantMessage
from tau.modes.event_json import EventEncoder, encode_masked


class RpcEventEncoder(EventEncoder):
    """Holds back `agent_end` until it is known whether the run is retried, which the line says."""

    def __init__(self, *, snapshots: bool = True, plain_errors: bool = False) -> None:
        super().__init__(snapshots=snapshots, plain_errors=plain_errors, usage=True)
        self._end: AgentEnd | None = None
        self._after_end: list[AgentEvent] = []
        self._reason = ""

    def lines(self, event: AgentEvent) -> Iterator[bytes]:
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

    def _agent_end(self, event: AgentEnd, *, continues: bool) -> bytes:
        last = event.messages[-1] if event.messages else None
        failed = isinstance(last, AssistantMessage) and last.stop_reason == "error"
        line = encode_masked(event)
        return line[:-1] + (b',"willRetry":true}\n' if continues and failed else b',"willRetry":false}\n')

    def _spellings(self, event: AgentEvent) -> Iterator[bytes]:
        match event:
            case ThinkingLevelChanged():
                yield encode_masked({**to_builtins(event), "level": event.thinking_level}) + b"\n"
            case CompactionStart():
                self._reason = event.reason
                yield self.encode(event)
                yield encode_masked({**to_builtins(event), "type": "compaction_start"}) + b"\n"
            case CompactionEnd():
                yield self.encode(event)
                fields = to_builtins(event, enc_hook=str)
                yield encode_masked({**fields, "type": "compaction_end", "reason": self._reason}) + b"\n"
            case _:
                yield self.encode(event)
