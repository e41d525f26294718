"""Short texts of entries: what a tree shows of them, and what a search matches."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct, UnsetType

from tau.ai.wire import (
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
    UserContent,
    UserMessage,
    text_of,
)
from tau.base.text import plain
from tau.coding.session import entries as s

SHOWN_CHARS = 200  # of an entry's text, on one line
CALL_CHARS = 100  # of a tool call's arguments
SEARCHED_CHARS = 500  # of an entry's text; of tool output only the first SHOWN_CHARS
UNKNOWN = "(unknown to this version of tau)"

# The most telling arguments of a call.
_TELLING = ("command", "path", "file_path", "pattern", "query", "url", "input", "code", "prompt", "task")


class Snippet(Struct, frozen=True, gc=False):
    """`words` are in lower case. `quiet`: an answer without text that only calls tools."""

    role: str
    text: str
    words: str
    failed: bool = False
    quiet: bool = False


Calls = dict[str, str]  # the lines of calls that have no result yet, by call id


def snippet(entry: s.KnownEntry | None, calls: Calls) -> Snippet:
    """What to show of an entry; None is an unreadable one. `calls` lets a result show its call."""
    if entry is None:
        return Snippet("", UNKNOWN, "")
    if type(entry) is s.MessageEntry:
        message = entry.message
        if type(message) is AssistantMessage:
            return _assistant(message, calls)
        if type(message) is ToolResultMessage:
            return _result(message, calls)
        if type(message) is UserMessage:
            return _said("user", message_text(message.content))
        return _SAY[type(message)](message)
    show = _SHOW.get(type(entry))
    return _note(str(entry.__struct_config__.tag)) if show is None else show(entry)


def one_line(text: str, max_chars: int) -> str:
    """The start of a text on one line, safe for a terminal."""
    line = text[:max_chars]
    if not line.isprintable() or "  " in line or line[:1] == " ":
        beginning = text[: max_chars + max_chars // 2]
        if beginning.isspace():
            text = text.lstrip()
            beginning = text[: max_chars + max_chars // 2]
        line = " ".join(beginning.split())
        if not line.isprintable():
            line = plain(line)
        if len(line) <= max_chars and len(beginning) == len(text):
            return line
    elif len(text) <= max_chars:
        return line.rstrip()
    return f"{line[: max_chars - 1].rstrip()}…"


def message_text(content: str | Sequence[UserContent]) -> str:
    """The text of a message, or a note if it has only images."""
    if isinstance(content, str):
        return content
    return text_of(content) or ("(image)" if content else "")


def call_line(call: ToolCall) -> str:
    """A call as `[bash: ls]`."""
    arguments = call.arguments
    for name in _TELLING:
        value = arguments.get(name)
        if isinstance(value, str) and value:
            return f"[{call.name}: {one_line(value, CALL_CHARS)}]"
    if not arguments:
        return f"[{call.name}]"
    return f"[{call.name}: {one_line(_json(arguments), CALL_CHARS)}]"


def _json(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=str).decode()


def _said(role: str, text: str, *, failed: bool = False) -> Snippet:
    return Snippet(role, one_line(text, SHOWN_CHARS), f"{role} {text[:SEARCHED_CHARS]}".lower(), failed)


def _assistant(message: AssistantMessage, calls: Calls) -> Snippet:
    text = called = ""
    for part in message.content:
        if type(part) is TextContent:
            text += part.text
        elif type(part) is ToolCall:
            line = calls[part.id] = call_line(part)
            called = f"{called} {line}" if called else line
    failed = message.stop_reason not in ("stop", "toolUse")
    blank = not text or text.isspace()
    if not blank:
        shown = text
        words = f"assistant {text[:SEARCHED_CHARS]} {called[:SEARCHED_CHARS]}".lower()
    else:
        shown = _wordless(message, called, failed)
        words = f"assistant {shown[:SEARCHED_CHARS]}".lower()
    quiet = blank and called != "" and not failed
    return Snippet("assistant", one_line(shown, SHOWN_CHARS), words, failed, quiet)


def _wordless(message: AssistantMessage, called: str, failed: bool) -> str:
    """What to show of an answer without text: its error, its calls, or its state."""
    if failed and message.error_message:
        return f"{message.error_message} {called}"
    if called:
        return called
    if failed:
        return f"({message.stop_reason})"
    return "(thinking)" if any(type(part) is ThinkingContent for part in message.content) else "(nothing)"


def _result(message: ToolResultMessage, calls: Calls) -> Snippet:
    line = calls.pop(message.tool_call_id, "") or f"[{message.tool_name}]"
    output = next((part.text for part in message.content if type(part) is TextContent), "")
    words = f"toolresult {line} {output[:SHOWN_CHARS]}".lower()
    return Snippet("toolResult", line, words, message.is_error)


def _ran(role: str, code: str, message: BashExecutionMessage | PythonExecutionMessage) -> Snippet:
    return _said(role, code, failed=message.cancelled or message.exit_code != 0)


def _custom(type: str, content: str | Sequence[UserContent]) -> Snippet:
    return _said("custom", f"{type}: {message_text(content)}")


def _note(kind: str, *parts: object) -> Snippet:
    """An entry that is not a message: its kind is searchable."""
    text = " ".join(str(part) for part in parts if part and not isinstance(part, UnsetType))
    return Snippet("", one_line(text, SHOWN_CHARS), f"{kind} {text[:SEARCHED_CHARS]}".lower())


_SAY: dict[type, Callable[[Any], Snippet]] = {
    BashExecutionMessage: lambda m: _ran("bashExecution", m.command, m),
    PythonExecutionMessage: lambda m: _ran("pythonExecution", m.code, m),
    CustomMessage: lambda m: _custom(m.custom_type, m.content),
    BranchSummaryMessage: lambda m: _said("branchSummary", m.summary),
    CompactionSummaryMessage: lambda m: _said("compactionSummary", m.summary),
}

_SHOW: dict[type, Callable[[Any], Snippet]] = {
    s.ModelChange: lambda e: _note("model_change", f"{e.provider}/{e.model_id}" if e.model_id else e.model),
    s.ThinkingLevelChange: lambda e: _note("thinking_level_change", e.thinking_level),
    s.TierChange: lambda e: _note("service_tier_change", e.service_tier),
    s.UsageEntry: lambda e: _note("usage", e.kind, e.note),
    s.CompactionEntry: lambda e: _note("compaction", e.short_summary or e.summary),
    s.BranchSummaryEntry: lambda e: _note("branch_summary", e.summary),
    s.ContextEdit: lambda e: _note("context_edit", e.target_id),
    s.CustomEntry: lambda e: _note("custom", e.custom_type),
    s.CustomMessageEntry: lambda e: _custom(e.custom_type, e.content),
    s.LabelEntry: lambda e: _note("label", e.label or "(cleared)"),
    s.SessionInfo: lambda e: _note("session_info", e.name),
    s.ModeChange: lambda e: _note("mode_change", e.mode),
    s.RuleInjection: lambda e: _note("ttsr_injection", *e.injected_rules[:10]),
    s.McpToolSelection: lambda e: _note("mcp_tool_selection", *e.selected_tool_names[:10]),
    s.SessionInit: lambda e: _note("session_init", e.task),
}
