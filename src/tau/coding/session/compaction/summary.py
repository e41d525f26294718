"""Builds the request for a summary and reads the answer. No state, no I/O."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, assert_never

from msgspec import Struct

from tau.ai.dialect import Request
from tau.ai.model import Model
from tau.ai.normalization import clean, ran_text
from tau.ai.wire import (
    AppMessage,
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    ImageContent,
    PythonExecutionMessage,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserContent,
    UserMessage,
)
from tau.base.clock import now_ms
from tau.base.late import late
from tau.base.text import shortened
from tau.coding.prompts.system import fill
from tau.coding.session.compaction.estimate import text_tokens
from tau.coding.session.compaction.file_ops import without_file_lists
from tau.coding.session.compaction.shorten import cut_text

json = late("msgspec.json")
re = late("re")

HERE = Path(__file__).parent
RESULT_CHARS = 2_000  # of each tool result
HARD_RESULT_CHARS = 300  # on the second try
CALL_CHARS = 600
THOUGHT_CHARS = 600
MIN_ANSWER_TOKENS = 256
MIN_RECORD_TOKENS = 200
PREVIOUS_SHARE = 0.4  # of the room, at most, for the notes so far
TURN_HEADING = "## Start of the current turn"
DROPPED = "[{count} older messages of this part are omitted for lack of space]"

SummaryKind = Literal["summary", "turn", "handoff"]


class SummaryRequest(Struct, frozen=True, kw_only=True):
    """What to summarize. `previous` are the notes that this part continues."""

    kind: SummaryKind
    messages: Sequence[AppMessage]
    previous: str = ""
    focus: str = ""
    answer_tokens: int = 8_192
    hard: bool = False  # the first attempt failed: send less, ask for less


def build_request(wish: SummaryRequest, model: Model, window: int) -> Request:
    """A request that fits into `window` tokens together with its answer."""
    answer = max(MIN_ANSWER_TOKENS, min(wish.answer_tokens, model.max_tokens, window // 4))
    system = _template("system")
    room = (window - answer) * 9 // 10 - text_tokens(system)
    if wish.hard:
        room //= 2
    previous = without_file_lists(wish.previous)
    name = "update" if previous and wish.kind == "summary" else wish.kind
    template = _template(name)
    room -= text_tokens(template) + text_tokens(wish.focus) + 100
    previous = cut_text(previous, max(int(room * PREVIOUS_SHARE), MIN_RECORD_TOKENS)) if previous else ""
    room -= text_tokens(previous)
    record = record_text(
        wish.messages, max(room, MIN_RECORD_TOKENS), HARD_RESULT_CHARS if wish.hard else RESULT_CHARS
    )
    words = max(answer * 2 // 5, 80)
    text = fill(
        template,
        record=f"<conversation>\n{record}\n</conversation>",
        previous=previous,
        before=f"<notes>\n{previous}\n</notes>\n\n" if previous else "",
        focus=f"\nThe user asks you to pay particular attention to this: {wish.focus}\n"
        if wish.focus
        else "",
        length=f"\nTake at most {words // 2 if wish.hard else words} words.",
    )
    return Request(
        system=system,
        messages=[UserMessage(clean(text), now_ms())],
        tools=[],
        max_tokens=answer,
        thinking="off",
    )


def extract_summary(answer: AssistantMessage, *, may_be_cut: bool) -> str | None:
    """The notes in an answer; None if it is empty, cut off, failed, a refusal or small talk."""
    if answer.stop_reason not in (("stop", "length") if may_be_cut else ("stop",)):
        return None
    text = re.sub(r"^\s*<think(?:ing)?>.*?</think(?:ing)?>", "", answer.text, flags=re.DOTALL)
    text = without_file_lists(text)
    # The prompt asks for headings; a refusal, or an answer to the conversation itself, has none.
    return text if re.search(r"^#{1,3} \S", text, re.MULTILINE) else None


def join_notes(history: str, turn: str) -> str:
    """Join the notes on the history and those on the start of the turn."""
    if not history or not turn:
        return history or turn
    return f"{history}\n\n---\n\n{TURN_HEADING}\n\n{turn}"


def record_text(messages: Sequence[AppMessage], room_tokens: int, result_chars: int = RESULT_CHARS) -> str:
    """The conversation as text. The oldest messages are omitted if it does not fit, except the first."""
    blocks = [block for message in messages if (block := _block(message, result_chars))]
    if not blocks:
        return "(nothing)"
    first = cut_text(blocks[0], max(room_tokens // 4, MIN_RECORD_TOKENS // 2))
    left = room_tokens - text_tokens(first)
    kept: list[str] = []
    for place in range(len(blocks) - 1, 0, -1):
        block = blocks[place]
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


def _block(message: AppMessage, result_chars: int) -> str:
    match message:
        case UserMessage():
            return f"[User]\n{_words(message.content)}"
        case AssistantMessage():
            return "\n".join(_answer(message))
        case ToolResultMessage():
            kind = "Error from" if message.is_error else "Result of"
            return f"[{kind} {message.tool_name}]\n{_ends(_words(message.content), result_chars)}"
        case BashExecutionMessage() | PythonExecutionMessage():
            if message.exclude_from_context is True:
                return ""
            return f"[User]\n{_ends(ran_text(message), result_chars)}"
        case CustomMessage():
            return f"[Note: {message.custom_type}]\n{_ends(_words(message.content), result_chars)}"
        case BranchSummaryMessage():
            return f"[Notes on an abandoned branch]\n{without_file_lists(message.summary)}"
        case CompactionSummaryMessage():
            return f"[Notes on what came before]\n{without_file_lists(message.summary)}"
        case _:
            assert_never(message)


def _answer(message: AssistantMessage) -> Iterator[str]:
    for part in message.content:
        match part:
            case TextContent():
                if part.text.strip():
                    yield f"[Agent]\n{part.text.strip()}"
            case ThinkingContent():
                if part.thinking.strip():
                    yield f"[Agent thinks] {shortened(part.thinking.strip(), THOUGHT_CHARS)}"
            case ToolCall():
                yield f"[Agent calls {part.name}] {_ends(_json(part.arguments), CALL_CHARS)}"
            case _:
                assert_never(part)
    if message.stop_reason in ("error", "aborted"):
        yield f"[The answer was not finished: {message.error_message or message.stop_reason}]"


def _json(value: object) -> str:
    try:
        text = json.encode(value).decode()
    except (TypeError, ValueError):
        return str(value)
    return text


def _words(content: str | Sequence[UserContent]) -> str:
    if isinstance(content, str):
        return content.strip()
    return "\n".join("[image]" if isinstance(part, ImageContent) else part.text for part in content).strip()


def _ends(text: str, max_chars: int) -> str:
    """The start and end of a long text."""
    if len(text) <= max_chars:
        return text
    head, tail = max_chars * 3 // 4, max_chars // 4
    return f"{text[:head]}\n[… {len(text) - head - tail} characters omitted …]\n{text[-tail:]}"


def _template(name: str) -> str:
    return (HERE / f"{name}.md").read_text(encoding="utf-8").strip()
