"""Short texts of entries: what a tree shows of them, and what a search matches."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct, UnsetType

from tau.ai import wire as w
from tau.base.text import plain
from tau.coding.session import entries as s

SHOWN_CHARS = 200  # of an entry's text, on one line
CALL_CHARS = 100  # of a tool call's arguments
SEARCHED_CHARS = 500  # of an entry's text; of tool output only the first SHOWN_CHARS
UNKNOWN = "(unknown to this version of tau)"

# The arguments that describe a call best.
MAIN_ARGUMENTS = (
    *("command", "path", "file_path", "pattern", "query", "url", "input", "code", "prompt", "task"),
)


class Snippet(Struct, frozen=True, gc=False):
    """`search_text` is in lower case. `quiet`: an answer without text that only calls tools."""

    role: str
    text: str
    search_text: str
    failed: bool = False
    quiet: bool = False


Calls = dict[str, str]  # the lines of calls that have no result yet, by call id


def snippet(entry: s.KnownEntry | None, calls: Calls) -> Snippet:
    """What to show of an entry; None is an unreadable one. `calls` lets a result show its call."""
    if entry is None:
        return Snippet("", UNKNOWN, "")
    if type(entry) is s.MessageEntry:
        message = entry.message
        if type(message) is w.AssistantMessage:
            return _assistant(message, calls)
        if type(message) is w.ToolResultMessage:
            return _result(message, calls)
        if type(message) is w.UserMessage:
            return _text_snippet("user", message_text(message.content))
        return _MESSAGE_SNIPPETS[type(message)](message)
    make = _ENTRY_SNIPPETS.get(type(entry))
    return _note(str(entry.__struct_config__.tag)) if make is None else make(entry)


def one_line(text: str, max_chars: int) -> str:
    """The start of a text on one line, safe for a terminal."""
    line = text[:max_chars]
    if not line.isprintable() or "  " in line or line[:1] == " ":
        start = text[: max_chars + max_chars // 2]
        if start.isspace():
            text = text.lstrip()
            start = text[: max_chars + max_chars // 2]
        line = " ".join(start.split())
        if not line.isprintable():
            line = plain(line)
        if len(line) <= max_chars and len(start) == len(text):
            return line
    elif len(text) <= max_chars:
        return line.rstrip()
    return f"{line[: max_chars - 1].rstrip()}…"


def message_text(content: str | Sequence[w.UserContent]) -> str:
    """The text of a message, or a note if it has only images."""
    if isinstance(content, str):
        return content
    return w.text_of(content) or ("(image)" if content else "")


def call_line(call: w.ToolCall) -> str:
    """A call as `[bash: ls]`."""
    arguments = call.arguments
    for name in MAIN_ARGUMENTS:
        value = arguments.get(name)
        if isinstance(value, str) and value:
            return f"[{call.name}: {one_line(value, CALL_CHARS)}]"
    if not arguments:
        return f"[{call.name}]"
    return f"[{call.name}: {one_line(json_text(arguments), CALL_CHARS)}]"


def arguments_line(arguments: dict[str, object]) -> str:
    """What a call does, for people: its main argument, its tasks, or all of its values."""
    for key in (*MAIN_ARGUMENTS, "title"):
        if isinstance(value := arguments.get(key), str) and value.strip():
            return value
    if isinstance(tasks := arguments.get("tasks"), list):
        named = [task.get("description") or task.get("id") for task in tasks if isinstance(task, dict)]
        if texts := [name for name in named if isinstance(name, str)]:
            return ", ".join(texts)
    if all(isinstance(value, str | int | float) for value in arguments.values()):
        return " ".join(map(str, arguments.values()))
    return json_text(arguments)


def json_text(value: object) -> str:
    return msgspec.json.encode(value, enc_hook=str).decode()


def _text_snippet(role: str, text: str, *, failed: bool = False) -> Snippet:
    return Snippet(role, one_line(text, SHOWN_CHARS), f"{role} {text[:SEARCHED_CHARS]}".lower(), failed)


def _assistant(message: w.AssistantMessage, calls: Calls) -> Snippet:
    text = called = ""
    for part in message.content:
        if type(part) is w.TextContent:
            text += part.text
        elif type(part) is w.ToolCall:
            line = calls[part.id] = call_line(part)
            called = f"{called} {line}" if called else line
    failed = message.stop_reason not in ("stop", "toolUse")
    blank = not text or text.isspace()
    if not blank:
        shown = text
        search_text = f"assistant {text[:SEARCHED_CHARS]} {called[:SEARCHED_CHARS]}".lower()
    else:
        shown = _describe_textless(message, called, failed)
        search_text = f"assistant {shown[:SEARCHED_CHARS]}".lower()
    quiet = blank and called != "" and not failed
    return Snippet("assistant", one_line(shown, SHOWN_CHARS), search_text, failed, quiet)


def _describe_textless(message: w.AssistantMessage, called: str, failed: bool) -> str:
    """What to show of an answer without text: its error, its calls, or its state."""
    if failed and message.error_message:
        return f"{message.error_message} {called}"
    if called:
        return called
    if failed:
        return f"({message.stop_reason})"
    return "(thinking)" if any(type(part) is w.ThinkingContent for part in message.content) else "(nothing)"


def _result(message: w.ToolResultMessage, calls: Calls) -> Snippet:
    line = calls.pop(message.tool_call_id, "") or f"[{message.tool_name}]"
    output = next((part.text for part in message.content if type(part) is w.TextContent), "")
    search_text = f"toolresult {line} {output[:SHOWN_CHARS]}".lower()
    return Snippet("toolResult", line, search_text, message.is_error)


def _execution(role: str, code: str, message: w.BashExecutionMessage | w.PythonExecutionMessage) -> Snippet:
    return _text_snippet(role, code, failed=message.cancelled or message.exit_code != 0)


def _custom(type: str, content: str | Sequence[w.UserContent]) -> Snippet:
    return _text_snippet("custom", f"{type}: {message_text(content)}")


def _note(kind: str, *parts: object) -> Snippet:
    """An entry that is not a message: its kind is searchable."""
    text = " ".join(str(part) for part in parts if part and not isinstance(part, UnsetType))
    return Snippet("", one_line(text, SHOWN_CHARS), f"{kind} {text[:SEARCHED_CHARS]}".lower())


_MESSAGE_SNIPPETS: dict[type, Callable[[Any], Snippet]] = {
    w.BashExecutionMessage: lambda m: _execution("bashExecution", m.command, m),
    w.PythonExecutionMessage: lambda m: _execution("pythonExecution", m.code, m),
    w.CustomMessage: lambda m: _custom(m.custom_type, m.content),
    w.BranchSummaryMessage: lambda m: _text_snippet("branchSummary", m.summary),
    w.CompactionSummaryMessage: lambda m: _text_snippet("compactionSummary", m.summary),
}

_ENTRY_SNIPPETS: dict[type, Callable[[Any], Snippet]] = {
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
