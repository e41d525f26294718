"""`tau sessions show`: a conversation as plain text, paged in a terminal."""

import shutil
import sys
import time
from collections.abc import Iterator

from tau.ai import wire as w
from tau.base.clock import from_iso
from tau.base.text import clean_line, plain
from tau.coding.session import entries as s
from tau.coding.session.snippets import UNKNOWN, call_line, message_text, one_line
from tau.coding.session.storage.log import SessionLog
from tau.modes.output_stream import OutputStream

RESULT_CHARS = 100  # of a tool's output
MORE = "-- Enter: more, q and Enter: stop -- "


def show(log: SessionLog, out: OutputStream) -> None:
    """Print the current branch from its start; summarized messages are shown in full."""
    page = _Page(out)
    for block in _blocks(log):
        if not page.write(f"{plain(block)}\n\n"):
            return


class _Page:
    """Writes text; in an interactive terminal, pauses after each screen."""

    def __init__(self, out: OutputStream) -> None:
        self._out = out
        self._waits = out.is_terminal and sys.stdin is not None and sys.stdin.isatty()
        size = shutil.get_terminal_size((80, 24))
        self._rows, self._columns = max(2, size.lines - 1), max(1, size.columns)
        self._used = 0

    def write(self, text: str) -> bool:
        """Return False if the reader stops."""
        if not self._waits:
            self._out.write(text.encode("utf-8", "replace"))
            return not self._out.gone
        for line in text.splitlines(keepends=True):
            rows = 1 + (len(line) - 1) // self._columns
            if self._used and self._used + rows > self._rows:
                if not self._more():
                    return False
                self._used = 0
            self._used += rows
            self._out.write(line.encode("utf-8", "replace"))
        return not self._out.gone

    def _more(self) -> bool:
        self._out.write(MORE.encode())
        answer = sys.stdin.readline()
        return bool(answer) and not answer.strip().lower().startswith("q")


def _blocks(log: SessionLog) -> Iterator[str]:
    header = log.header
    yield "\n".join(
        (
            clean_line(log.name or "Unnamed session"),
            f"{clean_line(header.id)}, {_time(from_iso(header.timestamp))} in {clean_line(header.cwd)}",
            clean_line(str(log.path)),
        )
    )
    for node in log.branch():
        if node.type not in _SHOWN:
            continue
        entry = log.decode(node)
        match entry:
            case s.MessageEntry():
                text = _message(entry.message)
            case s.CompactionEntry():
                text = f"[Summary of the messages above, for the model:]\n{entry.summary}"
            case s.BranchSummaryEntry():
                text = f"[Summary of another branch, for the model:]\n{entry.summary}"
            case s.CustomMessageEntry(display=True):
                text = f"[{entry.custom_type}]\n{message_text(entry.content)}"
            case None:
                text = f"[{node.type} {UNKNOWN}]"
            case _:
                text = ""
        if text.strip():
            yield text.strip("\n")


_SHOWN = frozenset({"message", "compaction", "branch_summary", "custom_message"})


def _message(message: w.AppMessage) -> str:
    match message:
        case w.UserMessage():
            return f"You ({_time(message.timestamp)}):\n{message_text(message.content)}"
        case w.AssistantMessage():
            return _answer(message)
        case w.ToolResultMessage():
            state = "failed" if message.is_error else "ok"
            return f"  {message.tool_name} {state}{_first_line(w.text_of(message.content))}"
        case w.BashExecutionMessage():
            return f"You ran: {message.command}\n{message.output}"
        case w.PythonExecutionMessage():
            return f"You ran Python:\n{message.code}\n{message.output}"
        case w.CustomMessage():
            return f"[{message.custom_type}]\n{message_text(message.content)}" if message.display else ""
        case w.BranchSummaryMessage() | w.CompactionSummaryMessage():
            return f"[Summary:]\n{message.summary}"


def _answer(message: w.AssistantMessage) -> str:
    parts = []
    for part in message.content:
        if isinstance(part, w.TextContent) and part.text.strip():
            parts.append(part.text.strip("\n"))
        elif isinstance(part, w.ToolCall):
            parts.append(f"  {call_line(part)}")
    if message.stop_reason in ("error", "aborted"):
        why = message.error_message or message.stop_reason
        parts.append(f"[The answer ended early: {clean_line(str(why))}]")
    if not parts:
        return ""
    return "\n".join((f"{clean_line(message.model)} ({_time(message.timestamp)}):", *parts))


def _first_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    more = f" ({len(lines)} lines)" if len(lines) > 1 else ""
    return f": {one_line(lines[0], RESULT_CHARS)}{more}"


def _time(ms: int) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(ms / 1000))
    except (OverflowError, ValueError, OSError):
        return "at an unknown time"
