"""Renders session entries as HTML."""

from collections.abc import Iterator, Sequence
from html import escape

from msgspec import Struct, UnsetType

from tau.ai import wire as w
from tau.coding.approval import decision_log
from tau.coding.export import cards
from tau.coding.export.markdown_html import prose
from tau.coding.export.page import money_text, tokens_text
from tau.coding.export.syntax_colors import escape as escape_text
from tau.coding.session import entries as s
from tau.coding.session.snippets import message_text, one_line
from tau.coding.session.stats import counts

ROW_CHARS = 120
_PLAIN = frozenset({"job", "irc:incoming"})  # plain text, not Markdown


class EntryView(Struct, frozen=True):
    """How an entry is shown: its anchor, label, and the results of its calls."""

    anchor: str = ""
    label: str = ""
    results: dict[str, w.ToolResultMessage] = {}
    continued: bool = False  # it continues the entry above


def render_entry(entry: s.KnownEntry, view: EntryView) -> Iterator[str]:
    """The entry as HTML; empty if it is of no interest to readers."""
    match entry:
        case s.MessageEntry(message=w.UserMessage() as message):
            body = "".join(_user_content(message.content)) + _attachments(message)
            yield _article("user", "You", body, entry.timestamp, view)
        case s.MessageEntry(message=w.AssistantMessage() as message):
            yield _answer(message, entry.timestamp, view)
        case s.MessageEntry(message=w.ToolResultMessage() as message):
            yield _article("", "", cards.result_card(message), "", view)
        case s.MessageEntry(message=w.BashExecutionMessage() | w.PythonExecutionMessage() as message):
            yield _article("", "", cards.command_card(message), "", view)
        case s.MessageEntry(message=w.CustomMessage() as message):
            yield from _custom(message.custom_type, message.content, message.display, entry.timestamp, view)
        case s.CustomMessageEntry():
            yield from _custom(entry.custom_type, entry.content, entry.display, entry.timestamp, view)
        case (
            s.MessageEntry(message=w.BranchSummaryMessage(summary=summary))
            | s.BranchSummaryEntry(summary=summary)
        ):
            yield _summary("Summary of the abandoned branch", summary, view)
        case s.MessageEntry(message=w.CompactionSummaryMessage() as message):
            yield _summary("Summary of the conversation up to here", message.summary, view)
        case s.CompactionEntry():
            before = f" ({tokens_text(entry.tokens_before)} tokens)" if entry.tokens_before else ""
            yield _summary(
                f"From here on, the model sees a summary of the conversation so far{before}",
                entry.summary,
                view,
            )
        case s.ModelChange():
            name = f"{entry.provider}/{entry.model_id}" if entry.model_id else entry.model or ""
            if name and (isinstance(entry.role, UnsetType) or entry.role == "default"):
                yield note(f"Model: {name}")
        case s.ModeChange(mode=mode):
            yield note("Back to normal mode" if mode == "none" else f"Mode: {mode}")
        case s.CustomEntry():
            yield from map(note, decision_log.lines_of(entry))


def outline_entry(entry: s.KnownEntry) -> tuple[str, bool] | None:
    """The outline text of an entry, and whether it starts a turn; None: not listed."""
    match entry:
        case s.MessageEntry(message=w.UserMessage(content=content)):
            return one_line(message_text(content), ROW_CHARS) or "(nothing)", True
        case s.MessageEntry(message=w.AssistantMessage() as message):
            calls = ", ".join(call.name for call in message.tool_calls[:5])
            return one_line(message.text or calls or f"({message.stop_reason})", ROW_CHARS), False
        case s.MessageEntry(
            message=w.BashExecutionMessage(command=code) | w.PythonExecutionMessage(code=code)
        ):
            return one_line(code, ROW_CHARS), False
        case s.MessageEntry(message=w.ToolResultMessage(tool_name=name)):
            return one_line(name, ROW_CHARS), False
        case s.CompactionEntry():
            return "Summary of earlier messages", False
        case s.BranchSummaryEntry():
            return "Summary of the abandoned branch", False
        case s.CustomMessageEntry(custom_type=kind):
            return one_line(kind, ROW_CHARS), False
    return None


def note(text: str) -> str:
    return f'<p class="note">{escape_text(text)}</p>\n'


def _article(kind: str, who: str, body: str, timestamp: str, view: EntryView) -> str:
    time = f'<time datetime="{escape(timestamp)}">{escape(timestamp[11:16])}</time>' if timestamp else ""
    label = f'<span class="label">{escape_text(view.label)}</span>' if view.label else ""
    named = f"<b>{escape_text(who)}</b>{time}" if who else ""
    head = f"<header>{named}{label}</header>" if named or label else ""
    classes = f' class="{kind}"' if kind else ""
    place = f' id="{view.anchor}"' if view.anchor else ""
    return f"<article{classes}{place}>{head}{body}</article>\n"


def _answer(message: w.AssistantMessage, timestamp: str, view: EntryView) -> str:
    parts: list[str] = []
    for part in message.content:
        match part:
            case w.TextContent(text=text):
                parts.append(prose(text))
            case w.ThinkingContent(thinking=thinking):
                parts.append(_thinking(thinking))
            case w.ToolCall():
                parts.append(cards.call_card(part, view.results.get(part.id)))
    if message.stop_reason in ("error", "aborted", "length"):
        parts.append(_failure(message))
    usage = message.usage
    tokens = counts(usage)
    if tokens.total:
        sent = tokens.input + tokens.cache_read + tokens.cache_write
        cached = f" ({tokens_text(tokens.cache_read)} cached)" if tokens.cache_read else ""
        figures = f"{tokens_text(sent)} in{cached}, {tokens_text(tokens.output)} out"
        parts.append(
            f"<footer>{escape_text(message.model)} · {figures} · {money_text(usage.cost.total)}</footer>"
        )
    kind, who = ("assistant more", "") if view.continued else ("assistant", "tau")
    return _article(kind, who, "".join(parts), timestamp, view)


def _failure(message: w.AssistantMessage) -> str:
    error = message.error_message if isinstance(message.error_message, str) else ""
    texts = {
        "error": error or "The request failed.",
        "aborted": "Stopped by the user.",
        "length": "The response was cut off at the length limit.",
    }
    return f'<p class="error">{escape_text(texts[message.stop_reason])}</p>'


def _thinking(text: str) -> str:
    if not text.strip():
        return ""
    return f'<details class="thinking"><summary>Thinking</summary><div>{prose(text)}</div></details>\n'


def _user_content(content: str | Sequence[w.UserContent]) -> Iterator[str]:
    parts = [w.TextContent(content)] if isinstance(content, str) else content
    for part in parts:
        if isinstance(part, w.ImageContent):
            yield cards.image(part)
        elif part.text:
            yield f'<div class="typed">{escape_text(part.text)}</div>'


def _attachments(message: w.UserMessage) -> str:
    if not isinstance(message.attachments, list):
        return ""
    shown = []
    for file in message.attachments:
        if file.type == "image":
            shown.append(cards.image(w.ImageContent(file.content, file.mime_type)))
        shown.append(f'<p class="left-out">Attached: {escape_text(file.file_name)}</p>')
    return "".join(shown)


def _custom(
    kind: str, content: str | Sequence[w.UserContent], display: bool, timestamp: str, view: EntryView
) -> Iterator[str]:
    """Hidden messages to the model are not for readers."""
    if not display:
        return
    parts = [w.TextContent(content)] if isinstance(content, str) else content
    body = "".join(_user_content(parts) if kind in _PLAIN else _prose(parts))
    yield _article("custom", kind, body, timestamp, view)


def _prose(parts: Sequence[w.UserContent]) -> Iterator[str]:
    for part in parts:
        yield cards.image(part) if isinstance(part, w.ImageContent) else prose(part.text)


def _summary(title: str, text: str, view: EntryView) -> str:
    place = f' id="{view.anchor}"' if view.anchor else ""
    label = f' <span class="label">{escape_text(view.label)}</span>' if view.label else ""
    return (
        f'<article{place}><details class="summary"><summary>{escape_text(title)}{label}</summary>'
        f"{prose(text)}</details></article>\n"
    )
