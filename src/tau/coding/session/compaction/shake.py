"""The strategy `shake`: heavy output of tools and other large blocks give way to notes, without a model."""

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
from tau.coding.session.compaction.cut import last_unit, valid_starts
from tau.coding.session.compaction.estimate import message_tokens
from tau.coding.session.compaction.shorten import artifact_of, shortened

PROTECTED_TOKENS = 16_000
MIN_SAVED_TOKENS = 4_000
HEAVY_RESULT_TOKENS = 200
HEAVY_BLOCK_TOKENS = 2_000
BLOCK_TOKENS = 400  # what stays of another large block


def shaken(
    messages: Sequence[AppMessage],
    costs: Sequence[int],
    *,
    protected_tokens: int = PROTECTED_TOKENS,
    min_saved_tokens: int = MIN_SAVED_TOKENS,
) -> dict[int, AppMessage]:
    """What to put in the place of heavy messages; nothing where it would not save enough.

    What the next answer is about stays, whatever is protected.
    """
    end = protected_from(messages, costs, protected_tokens)
    changed: dict[int, AppMessage] = {}
    saved = 0
    for place in range(end):
        lighter = _lighter(messages[place], costs[place])
        if lighter is not None and (gain := costs[place] - message_tokens(lighter)) > 0:
            changed[place] = lighter
            saved += gain
    return changed if saved and saved >= min_saved_tokens else {}


def protected_from(messages: Sequence[AppMessage], costs: Sequence[int], protected_tokens: int) -> int:
    """Where the newest `protected_tokens` begin; the last messages that belong together are among them."""
    place = len(messages)
    kept = 0
    while place and kept < protected_tokens:
        place -= 1
        kept += costs[place]
    return min(place, last_unit(messages, valid_starts(messages)))


def _lighter(message: AppMessage, cost: int) -> AppMessage | None:
    match message:
        case ToolResultMessage() if cost >= HEAVY_RESULT_TOKENS:
            where = artifact_of(message.details)
            note = f"[What {message.tool_name} gave back here was taken out to save room{where}]"
            return replace(message, content=[TextContent(note)])
        case AssistantMessage() | UserMessage() | CustomMessage() if cost >= HEAVY_BLOCK_TOKENS:
            return shortened(message, BLOCK_TOKENS)
    return None
