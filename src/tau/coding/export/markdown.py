"""The active branch of a session as Markdown: all messages, and tool calls with their results."""

import re
from collections.abc import Iterator, Sequence

from tau.ai import wire as w
from tau.base.clock import iso, now_ms
from tau.base.secrets import masked_text
from tau.base.version import VERSION
from tau.coding.approval import decision_log
from tau.coding.export.exported_session import ExportedSession
from tau.coding.export.page import money_text, percent_text, tokens_text
from tau.coding.export.syntax_colors import language_of_file
from tau.coding.session import entries as s
from tau.coding.session.snippets import json_text, one_line
from tau.coding.session.stats import UsageStats

MARK = "<!-- exported by tau -->"
TITLE_CHARS = 200


def markdown_page(session: ExportedSession, stats: UsageStats) -> Iterator[str]:
    log, summary = session.log, stats.summary()
    tokens = summary.tokens
    models = ", ".join(f"{part.provider}/{part.model}" for part in stats.models if part.model) or "none"
    yield f"{MARK}\n# {_heading(session.title())}\n\n"
    yield f"- Folder: {_inline(session.text(log.header.cwd))}\n"
    yield f"- Started: {session.text(log.header.timestamp)}\n"
    yield f"- Models: {_heading(session.text(models))}\n"
    yield (
        f"- Usage, all branches: {tokens_text(tokens.total)} tokens "
        f"({percent_text(summary.cache_hit_rate)} of the input from the cache), {money_text(summary.cost)}\n"
    )
    for _, entry in session.branch():
        if entry is not None:
            for block in _blocks(entry):
                if block.strip():
                    yield f"\n{block.rstrip()}\n"
    yield f"\n---\n\nExported by tau {VERSION} on {iso(now_ms())[:10]}. {masked_text(session.masker)}\n"


def _blocks(entry: s.KnownEntry) -> Iterator[str]:
    match entry:
        case s.MessageEntry(message=message):
            yield from _message(message)
        case s.CustomMessageEntry() if entry.display:
            yield f"## {_heading(entry.custom_type)}"
            yield from _contents(entry.content)
        case s.CustomEntry():
            yield from (f"*Permission:* {_inline(line)}" for line in decision_log.lines_of(entry))
        case s.CompactionEntry(summary=summary):
            yield "## Summary of earlier messages"
            yield summary
        case s.BranchSummaryEntry(summary=summary):
            yield "## Summary of the abandoned branch"
            yield summary


def _message(message: object) -> Iterator[str]:
    match message:
        case w.UserMessage():
            yield "## You"
            yield from _contents(message.content)
            for file in message.attachments or ():
                yield f"*Attached: {_inline(file.file_name)}*"
        case w.AssistantMessage():
            yield from _answer(message)
        case w.ToolResultMessage():
            yield f"**Result: {_inline(message.tool_name)}**{' (failed)' if message.is_error else ''}"
            yield from _result(message)
        case w.BashExecutionMessage() | w.PythonExecutionMessage():
            yield "## You ran"
            if isinstance(message, w.BashExecutionMessage):
                yield fenced(message.command, "sh")
            else:
                yield fenced(message.code, "python")
            yield fenced(message.output) if message.output.strip() else ""
        case w.CustomMessage() if message.display:
            yield f"## {_heading(message.custom_type)}"
            yield from _contents(message.content)


def _answer(message: w.AssistantMessage) -> Iterator[str]:
    yield "## tau"
    for part in message.content:
        match part:
            case w.TextContent(text=text):
                yield _close_fences(text)
            case w.ThinkingContent(thinking=thinking) if thinking.strip():
                quoted = "\n".join(f"> {line}".rstrip() for line in thinking.strip().splitlines())
                yield f"> *Thinking*\n>\n{quoted}"
            case w.ToolCall():
                yield f"**Call: {_inline(part.name)}**"
                yield from _arguments(part)
    if message.stop_reason in ("error", "aborted", "length"):
        reason = message.error_message if isinstance(message.error_message, str) else message.stop_reason
        yield f"*Ended early: {_heading(reason)}*"


def _arguments(call: w.ToolCall) -> Iterator[str]:
    path = call.arguments.get("path")
    file_language = language_of_file(path) if isinstance(path, str) else ""
    short = []
    long = []
    for key, value in call.arguments.items():
        if isinstance(value, str) and ("\n" in value or key == "command"):
            language = "sh" if key == "command" else file_language if key == "content" else ""
            long.append(fenced(value, language))
        elif isinstance(value, str):
            short.append(f"- {_heading(key)}: {_inline(value)}")
        else:
            short.append(f"- {_heading(key)}: {_inline(json_text(value))}")
    if short:
        yield "\n".join(short)
    yield from long


def _result(message: w.ToolResultMessage) -> Iterator[str]:
    details = message.details if isinstance(message.details, dict) else {}
    diff = details.get("diff")
    if isinstance(diff, str) and diff.strip():
        yield fenced(diff, "diff")
        return
    for part in message.content:
        yield _image(part) if isinstance(part, w.ImageContent) else fenced(part.text)


def _contents(content: str | Sequence[w.UserContent]) -> Iterator[str]:
    for part in [w.TextContent(content)] if isinstance(content, str) else content:
        yield _image(part) if isinstance(part, w.ImageContent) else _close_fences(part.text)


def _image(part: w.ImageContent) -> str:
    return f"*(an image, {_inline(part.mime_type)})*"


def fenced(text: str, language: str = "") -> str:
    """A code block with a fence longer than any in the text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.removesuffix(chr(10))}\n{fence}"


def _close_fences(text: str) -> str:
    """Prose with open fences and comments closed, so that it cannot swallow what follows."""
    fence = ""
    for line in text.split("\n"):
        match = re.match(r" {0,3}(`{3,}|~{3,})(.*)", line)
        if not match:
            continue
        run, rest = match.groups()
        if not fence:
            fence = "" if run[0] == "`" and "`" in rest else run
        elif run[0] == fence[0] and len(run) >= len(fence) and not rest.strip():
            fence = ""
    if fence:
        return f"{text.rstrip(chr(10))}\n{fence}"
    opened = text.rfind("<!--")
    return text if opened < 0 or "-->" in text[opened:] else f"{text[:opened]}&lt;{text[opened + 1 :]}"


def _heading(text: str) -> str:
    """One line of text with Markdown escaped."""
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", one_line(text, TITLE_CHARS))


def _inline(text: str) -> str:
    line = " ".join(text.split())
    longest = max((len(run) for run in re.findall(r"`+", line)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}" if line else "(nothing)"
