"""Builds the request for a summary and reads the answer. No state, no I/O."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, assert_never

from msgspec import Struct

from tau.ai import wire as w
from tau.ai.dialect import Request
from tau.ai.model import Model
from tau.ai.normalization import clean, ran_text
from tau.base.clock import now_ms
from tau.base.late import late
from tau.base.text import shortened
from tau.coding.prompts.system import fill
from tau.coding.session.compaction.estimate import text_tokens
from tau.coding.session.compaction.file_ops import without_file_lists
from tau.coding.session.compaction.truncation import cut_text

json = late("msgspec.json")
re = late("re")

HERE = Path(__file__).parent
RESULT_CHARS = 2_000  # of each tool result
REDUCED_RESULT_CHARS = 300  # on the second try
CALL_CHARS = 600
THOUGHT_CHARS = 600
MIN_ANSWER_TOKENS = 256
MIN_RECORD_TOKENS = 200
MIN_PLAIN_TOKENS = 25  # of notes without headings
REFUSAL = (
    r"\W*(?:(?:i'm |i am |we're )?(?:very |so )?sorry|(?:my |i )apolog|unfortunately,? i\b|as an ai\b"
    r"|i (?:can't|cannot|can not|could not|couldn't|won't|will not|must decline|do not have|don't have)\b"
    r"|i'?(?: a)?m (?:not able|unable|not allowed)\b)"
)
PREVIOUS_SHARE = 0.4  # of the room, at most, for the notes so far
TURN_HEADING = "## Start of the current turn"
DROPPED = "[{count} older messages of this part are omitted for lack of space]"

SummaryKind = Literal["summary", "turn", "handoff"]


class SummaryRequest(Struct, frozen=True, kw_only=True):
    """What to summarize. `previous` are the notes that this part continues."""

    kind: SummaryKind
    messages: Sequence[w.AppMessage]
    previous: str = ""
    focus: str = ""
    answer_tokens: int = 8_192
    reduced: bool = False  # the first attempt failed: send less, ask for less


def build_request(wanted: SummaryRequest, model: Model, window: int) -> Request:
    """A request that fits into `window` tokens together with its answer."""
    answer = max(MIN_ANSWER_TOKENS, min(wanted.answer_tokens, model.max_tokens, window // 4))
    system = _template("system")
    room = (window - answer) * 9 // 10 - text_tokens(system)
    if wanted.reduced:
        room //= 2
    previous = without_file_lists(wanted.previous)
    name = "update" if previous and wanted.kind == "summary" else wanted.kind
    template = _template(name)
    room -= text_tokens(template) + text_tokens(wanted.focus) + 100
    previous = cut_text(previous, max(int(room * PREVIOUS_SHARE), MIN_RECORD_TOKENS)) if previous else ""
    room -= text_tokens(previous)
    record = record_text(
        wanted.messages,
        max(room, MIN_RECORD_TOKENS),
        REDUCED_RESULT_CHARS if wanted.reduced else RESULT_CHARS,
    )
    words = max(answer * 2 // 5, 80)
    text = fill(
        template,
        record=f"<conversation>\n{record}\n</conversation>",
        previous=previous,
        before=f"<notes>\n{previous}\n</notes>\n\n" if previous else "",
        focus=f"\nThe user asks you to pay particular attention to this: {wanted.focus}\n"
        if wanted.focus
        else "",
        length=f"\nTake at most {words // 2 if wanted.reduced else words} words.",
    )
    return Request(
        system=system,
        messages=[w.UserMessage(clean(text), now_ms())],
        tools=[],
        max_tokens=answer,
        thinking="off",
    )


def extract_summary(answer: w.AssistantMessage, *, may_be_cut: bool) -> str | None:
    """The notes in an answer; None if it is empty, cut off, failed, a refusal or small talk."""
    if answer.stop_reason not in (("stop", "length") if may_be_cut else ("stop",)):
        return None
    text = re.sub(r"^\s*<think(?:ing)?>.*?</think(?:ing)?>", "", answer.text, flags=re.DOTALL)
    text = without_file_lists(text)
    if re.search(r"^#{1,3} \S", text, re.MULTILINE):
        return text
    # The prompt asks for headings, which a refusal or small talk lacks; but so do the notes of many models.
    is_refusal = re.match(REFUSAL, text.replace("\u2019", "'"), re.IGNORECASE)
    return None if is_refusal or text_tokens(text) < MIN_PLAIN_TOKENS else text


def join_notes(history: str, turn: str) -> str:
    """Join the notes on the history and those on the start of the turn."""
    if not history or not turn:
        return history or turn
    return f"{history}\n\n---\n\n{TURN_HEADING}\n\n{turn}"


def record_text(messages: Sequence[w.AppMessage], room_tokens: int, result_chars: int = RESULT_CHARS) -> str:
    """The conversation as text. The oldest messages are omitted if it does not fit, except the first."""
    blocks = [block for message in messages if (block := _block(message, result_chars))]
    if not blocks:
        return "(nothing)"
    first = cut_text(blocks[0], max(room_tokens // 4, MIN_RECORD_TOKENS // 2))
    left = room_tokens - text_tokens(first)
    kept: list[str] = []
    for index in range(len(blocks) - 1, 0, -1):
        block = blocks[index]
        if not kept:  # the newest is always included
            block = cut_text(block, max(left, MIN_RECORD_TOKENS // 2))
        left -= text_tokens(block) + 2
        if left < 0 and kept:
            break
        kept.append(block)
    missing = len(blocks) - 1 - len(kept)
    note = [DROPPED.format(count=missing)] if missing else []
    text = "\n\n".join([first, *note, *reversed(kept)])
    return text.replace("</conversation", "< /conversation")


def _block(message: w.AppMessage, result_chars: int) -> str:
    match message:
        case w.UserMessage():
            return f"[User]\n{_content_text(message.content)}"
        case w.AssistantMessage():
            return "\n".join(_answer_blocks(message))
        case w.ToolResultMessage():
            kind = "Error from" if message.is_error else "Result of"
            return f"[{kind} {message.tool_name}]\n{_shorten(_content_text(message.content), result_chars)}"
        case w.BashExecutionMessage() | w.PythonExecutionMessage():
            if message.exclude_from_context is True:
                return ""
            return f"[User]\n{_shorten(ran_text(message), result_chars)}"
        case w.CustomMessage():
            return f"[Note: {message.custom_type}]\n{_shorten(_content_text(message.content), result_chars)}"
        case w.BranchSummaryMessage():
            return f"[Notes on an abandoned branch]\n{without_file_lists(message.summary)}"
        case w.CompactionSummaryMessage():
            return f"[Notes on what came before]\n{without_file_lists(message.summary)}"
        case _:
            assert_never(message)


def _answer_blocks(message: w.AssistantMessage) -> Iterator[str]:
    for part in message.content:
        match part:
            case w.TextContent():
                if part.text.strip():
                    yield f"[Agent]\n{part.text.strip()}"
            case w.ThinkingContent():
                if part.thinking.strip():
                    yield f"[Agent thinks] {shortened(part.thinking.strip(), THOUGHT_CHARS)}"
            case w.ToolCall():
                yield f"[Agent calls {part.name}] {_shorten(_json(part.arguments), CALL_CHARS)}"
            case _:
                assert_never(part)
    if message.stop_reason in ("error", "aborted"):
        yield f"[The answer was not finished: {message.error_message or message.stop_reason}]"


def _json(value: object) -> str:
    try:
        return json.encode(value).decode()
    except (TypeError, ValueError):
        return str(value)


def _content_text(content: str | Sequence[w.UserContent]) -> str:
    if isinstance(content, str):
        return content.strip()
    return "\n".join("[image]" if isinstance(part, w.ImageContent) else part.text for part in content).strip()


def _shorten(text: str, max_chars: int) -> str:
    """The start and end of a long text."""
    if len(text) <= max_chars:
        return text
    head, tail = max_chars * 3 // 4, max_chars // 4
    return f"{text[:head]}\n[… {len(text) - head - tail} characters omitted …]\n{text[-tail:]}"


def _template(name: str) -> str:
    return (HERE / f"{name}.md").read_text(encoding="utf-8").strip()
