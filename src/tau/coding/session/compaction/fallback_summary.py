"""A summary without a model: what the user said, which files were touched, what is missing."""

from collections.abc import Sequence

from tau.ai.wire import AppMessage, AssistantMessage, UserMessage, text_of
from tau.base.text import shortened
from tau.coding.session.compaction.estimate import text_tokens
from tau.coding.session.compaction.file_ops import without_file_lists
from tau.coding.session.compaction.truncation import cut_text

MESSAGE_CHARS = 600
SMALLEST_TOKENS = 80
NOTE = (
    "{count} older messages were removed without a summary, because none could be made. "
    "What the user said in them, in short; see the files for the rest:"
)


def fallback_summary(messages: Sequence[AppMessage], previous: str, room_tokens: float) -> str:
    """Notes on `messages` in at most `room_tokens`, newer messages in more detail."""
    room = max(int(room_tokens), SMALLEST_TOKENS)
    parts: list[str] = []
    if previous := without_file_lists(previous):
        parts.append(cut_text(previous, max(room // 2, SMALLEST_TOKENS // 2)))
    note = NOTE.format(count=len(messages))
    left = room - text_tokens("\n".join(parts)) - text_tokens(note) - 20
    lines = _user_lines(messages, left)
    parts.append("\n".join([note, *lines]) if lines else note.partition(". ")[0] + ".")
    text = "\n\n".join(parts)
    return text if text_tokens(text) <= room else cut_text(text, room)


def _user_lines(messages: Sequence[AppMessage], room: int) -> list[str]:
    """The user's messages, one line each: the first and as many of the latest as fit; then the agent's last
    text."""
    lines = [f"- {line}" for message in messages if (line := _line(message))]
    answers = [message.text.strip() for message in messages if isinstance(message, AssistantMessage)]
    last = next((text for text in reversed(answers) if text), "")
    end = [f"The agent's last words: {_one_line(last, 300)}"] if last else []
    left = room - text_tokens("\n".join([*lines[:1], *end]))
    if left < 0:
        end, left = [], room - text_tokens("\n".join(lines[:1]))
    if left < 0:
        return [shortened(lines[0], room * 2)] if lines and room > 10 else []
    kept: list[str] = []
    for line in reversed(lines[1:]):
        left -= text_tokens(line) + 1
        if left < 0:
            break
        kept.append(line)
    missing = len(lines) - len(kept) - 1
    gap = [f"- (and {missing} more in between)"] if missing > 0 else []
    return [*lines[:1], *gap, *reversed(kept), *end]


def _line(message: AppMessage) -> str:
    if not isinstance(message, UserMessage):
        return ""
    text = message.content if isinstance(message.content, str) else text_of(message.content)
    return _one_line(text, MESSAGE_CHARS)


def _one_line(text: str, max_chars: int) -> str:
    return shortened(" ".join(text[: max_chars * 3].split()), max_chars)
