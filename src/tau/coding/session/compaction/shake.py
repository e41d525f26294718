"""The strategy `shake`: replaces large tool output and other large blocks with notes, without a model."""

from collections.abc import Sequence

from msgspec.structs import replace

from tau.ai.wire import (
    AppMessage,
    AssistantMessage,
    CustomMessage,
    TextContent,
    ToolResultMessage,
    UserMessage,
)
from tau.coding.session.compaction.estimate import message_tokens
from tau.coding.session.compaction.plan import last_unit, valid_starts
from tau.coding.session.compaction.truncation import artifact_of, shortened

PROTECTED_TOKENS = 16_000
MIN_SAVED_TOKENS = 4_000
HEAVY_RESULT_TOKENS = 200
HEAVY_BLOCK_TOKENS = 2_000
BLOCK_TOKENS = 400  # kept of other large blocks


def shake_messages(
    messages: Sequence[AppMessage],
    costs: Sequence[int],
    *,
    protected_tokens: int = PROTECTED_TOKENS,
    min_saved_tokens: int = MIN_SAVED_TOKENS,
) -> dict[int, AppMessage]:
    """Replacements for large messages by index; none if they would not save enough.

    The messages that the next answer is about stay in any case.
    """
    end = protected_from(messages, costs, protected_tokens)
    changed: dict[int, AppMessage] = {}
    saved = 0
    for index in range(end):
        lighter = _lighter(messages[index], costs[index])
        if lighter is not None and (gain := costs[index] - message_tokens(lighter)) > 0:
            changed[index] = lighter
            saved += gain
    return changed if saved and saved >= min_saved_tokens else {}


def protected_from(messages: Sequence[AppMessage], costs: Sequence[int], protected_tokens: int) -> int:
    """The index where the newest `protected_tokens` start; the last unit is always among them."""
    index = len(messages)
    kept = 0
    while index and kept < protected_tokens:
        index -= 1
        kept += costs[index]
    return min(index, last_unit(messages, valid_starts(messages)))


def _lighter(message: AppMessage, cost: int) -> AppMessage | None:
    match message:
        case ToolResultMessage() if cost >= HEAVY_RESULT_TOKENS:
            where = artifact_of(message.details)
            note = f"[The output of {message.tool_name} was removed to save space{where}]"
            return replace(message, content=[TextContent(note)])
        case AssistantMessage() | UserMessage() | CustomMessage() if cost >= HEAVY_BLOCK_TOKENS:
            return shortened(message, BLOCK_TOKENS)
    return None
