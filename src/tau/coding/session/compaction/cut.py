"""Finds where to cut a conversation: never between a call and its result, never in the newest part."""

from collections.abc import Sequence

from msgspec import Struct

from tau.ai.wire import AppMessage, AssistantMessage, ToolCall, ToolResultMessage


class CutPoint(Struct, frozen=True):
    """Messages from `first_kept` on stay; those from `turn_start` to there start a turn whose end stays.
    If no turn is split, both are the same."""

    first_kept: int
    turn_start: int

    @property
    def splits(self) -> bool:
        return self.turn_start < self.first_kept


def valid_starts(messages: Sequence[AppMessage]) -> list[bool]:
    """For each index, whether the kept part may start there: without a result whose call is cut off."""
    inside = [0] * (len(messages) + 1)  # how many call-result pairs open and close here, summed up below
    waiting: dict[str, list[int]] = {}
    for place, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            for part in message.content:
                if isinstance(part, ToolCall):
                    waiting.setdefault(part.id, []).append(place)
        elif isinstance(message, ToolResultMessage) and (calls := waiting.get(message.tool_call_id)):
            inside[calls.pop() + 1] += 1
            inside[place + 1] -= 1
    valid = []
    open_pairs = 0
    for place, message in enumerate(messages):
        open_pairs += inside[place]
        valid.append(open_pairs == 0 and not isinstance(message, ToolResultMessage))
    return valid


def is_turn_start(message: AppMessage) -> bool:
    """Whether the message is neither an answer nor a tool result."""
    return not isinstance(message, (AssistantMessage, ToolResultMessage))


def last_unit(messages: Sequence[AppMessage], valid: Sequence[bool]) -> int:
    """The index of the newest messages that must stay: the next answer is about them."""
    return next((place for place in range(len(messages) - 1, -1, -1) if valid[place]), 0)


def find_cut(
    messages: Sequence[AppMessage], costs: Sequence[int], keep_tokens: float, valid: Sequence[bool]
) -> CutPoint:
    """Keep at most `keep_tokens` of the newest messages, but always the last unit.

    A turn is split only if keeping whole turns would keep less than half. The part before the cut may be
    empty, which keeps everything.
    """
    first = last_unit(messages, valid)
    whole = None  # the earliest turn kept whole
    kept = kept_whole = 0
    for place in range(len(messages) - 1, -1, -1):
        kept += costs[place]
        if kept > keep_tokens:
            break
        if valid[place] and place <= first:
            first = place
            if is_turn_start(messages[place]):
                whole, kept_whole = place, kept
    if whole is not None and kept_whole * 2 >= sum(costs[first:]):
        return CutPoint(whole, whole)
    return CutPoint(first, _turn_start(messages, first))


def _turn_start(messages: Sequence[AppMessage], first_kept: int) -> int:
    if not messages or is_turn_start(messages[first_kept]):
        return first_kept
    starts = (place for place in range(first_kept - 1, -1, -1) if is_turn_start(messages[place]))
    return next(starts, first_kept)
