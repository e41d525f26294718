"""A conversation as plain lines: text as it streams, one line per tool, nothing redrawn."""

from typing import Any

import msgspec

from tau.agent.events import (
    AgentEvent,
    CompactionEnd,
    CompactionStart,
    JobChanged,
    MessageEnd,
    MessageUpdate,
    Notice,
    RetryStart,
    RulesTriggered,
    ToolEnd,
    ToolStart,
)
from tau.ai.stream_events import TextDelta, ThinkingStart
from tau.ai.wire import AssistantMessage
from tau.base.text import clean_line, plain, reveal, shortened
from tau.modes.event_texts import compaction_line, job_line, notice_line, retry_line, rules_line
from tau.modes.output_stream import OutputStream

SUMMARY_CHARS = 100
# The arguments that say most about a call, in order; a call without any shows them all.
MAIN_ARGUMENTS = ("command", "path", "url", "pattern", "query")


class PlainTranscript:
    """Tracks whether the cursor is at the start of a line, so that output never runs together."""

    def __init__(self, out: OutputStream) -> None:
        self.out = out
        self._at_start = True
        self._open_call: str | None = None  # the call whose line still lacks its result
        self._calls: dict[str, str] = {}

    def stream(self, text: str) -> None:
        """Write part of a line."""
        text = plain(text)
        if text:
            self._open_call = None
            self.out.write(text.encode("utf-8", "replace"))
            self._at_start = text.endswith("\n")

    def line(self, text: str) -> None:
        """Write a separate line."""
        self.fresh_line()
        self.stream(f"{text}\n")

    def fresh_line(self) -> None:
        if not self._at_start:
            self.stream("\n")

    def typed_line(self) -> None:
        """The user pressed Enter, which moved the cursor."""
        self._at_start = True

    def event(self, event: AgentEvent) -> None:
        match event:
            case MessageUpdate(TextDelta(delta=delta)):
                if self._open_call is not None:
                    self.fresh_line()
                self.stream(delta)
            case MessageUpdate(ThinkingStart()):
                self.line("Thinking…")
            case MessageEnd(AssistantMessage()):
                self.fresh_line()
            case ToolStart(id, name, args):
                self._start_call(id, f"{name}: {summary(args)}")
            case ToolEnd(id, name, is_error=is_error):
                self._end_call(id, name, f"{'failed' if is_error else 'ok'}{_first_line(event.text)}")
            case RetryStart():
                self.line(retry_line(event))
            case RulesTriggered():
                self.line(rules_line(event))
            case CompactionStart() | CompactionEnd():
                if (remark := compaction_line(event)) is not None:
                    self.line(remark)
            case JobChanged(queued=True):
                self.line(job_line(event))
            case Notice():
                self.line(notice_line(event))

    def _start_call(self, id: str, text: str) -> None:
        self.fresh_line()
        self.stream(text)
        self._open_call = id
        self._calls[id] = text

    def _end_call(self, id: str, name: str, result: str) -> None:
        text = self._calls.pop(id, name)
        if self._open_call == id:
            self.stream(f" -> {result}\n")
        else:
            self.line(f"{text} -> {result}")


def summary(args: dict[str, Any]) -> str:
    """A call's arguments in a few words."""
    for name in MAIN_ARGUMENTS:
        if isinstance(value := args.get(name), str):
            return _short(reveal(value))
    return _short(msgspec.json.encode(args, enc_hook=str).decode()) if args else "no arguments"


def _short(text: str) -> str:
    return shortened(clean_line(text), SUMMARY_CHARS)


def _first_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    more = f" ({len(lines)} lines)" if len(lines) > 1 else ""
    return f": {_short(lines[0])}{more}"
