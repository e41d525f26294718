"""Plans a compaction by token counts, before any model is asked: what stays and what goes."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from tau.ai.wire import (
    AppMessage,
    AssistantMessage,
    BashExecutionMessage,
    PythonExecutionMessage,
    TextContent,
    ToolCall,
    ToolResultMessage,
)
from tau.coding.session.compaction.estimate import message_tokens
from tau.coding.session.compaction.truncation import fit

FILES_SHARE = 0.3  # of the room, at most, before the file list is abbreviated
SUMMARY_SHARE = 0.3
KEEP_SHARE = 0.4
DIGEST_SHARE = 0.25
DIGEST_TOKENS = 3_000
DIGEST_FILL = 0.75  # how full a cut without a summary leaves the window; the next one is not due at once
FIT_FILL = 0.85  # the same if only large messages are shortened
SUMMARY_OF_RESERVE = 0.8
MIN_CUT_TOKENS = 400  # less than this is not worth a summary
OVERSHOOT = 1.25  # how much longer than requested a summary may be


class CutPoint(Struct, frozen=True):
    """Messages from `first_kept` on stay; those from `turn_start` to there start a turn whose end stays.
    If no turn is split, both are the same."""

    first_kept: int
    turn_start: int

    @property
    def splits(self) -> bool:
        return self.turn_start < self.first_kept


class ContextView:
    """A conversation with unwritten changes; `edits` holds them by index."""

    def __init__(self, messages: Sequence[AppMessage], costs: Sequence[int]) -> None:
        self.messages = list(messages)
        self.costs = list(costs)
        self.edits: dict[int, AppMessage] = {}

    def edit(self, changes: Mapping[int, AppMessage]) -> None:
        for index, message in changes.items():
            self.messages[index] = message
            self.costs[index] = message_tokens(message)
            self.edits[index] = message

    def tokens(self, start: int = 0) -> int:
        return sum(self.costs[start:])


class CompactionPlan(Struct, frozen=True):
    """`kept_tokens` counts the messages that stay, after `edits`."""

    cut: CutPoint
    edits: dict[int, AppMessage]
    kept_tokens: int


class TokenBudget(Struct, frozen=True):
    """How to divide the room besides prompt and tools, in estimated tokens."""

    room: float
    summary: float
    files: float
    keep: float


def for_summary(room: float, files: int, keep: float, reserve: float) -> TokenBudget:
    """`files` is the size of a full file list; `keep` and `reserve` are from the settings."""
    files_room = min(float(files), room * FILES_SHARE)
    summary = min(reserve * SUMMARY_OF_RESERVE, (room - files_room) * SUMMARY_SHARE)
    return TokenBudget(room, summary, files_room, min(keep, room * KEEP_SHARE))


def for_digest(room: float, files: int) -> TokenBudget:
    """Keep as much of the newest as fits."""
    files_room = min(float(files), room * FILES_SHARE)
    summary = min(DIGEST_TOKENS, (room - files_room) * DIGEST_SHARE)
    return TokenBudget(room, summary, files_room, room * DIGEST_FILL - files_room - summary)


def make_plan(view: ContextView, shares: TokenBudget, previous_tokens: int) -> CompactionPlan:
    """Decide where to cut, and which of the kept messages to shorten."""
    valid = valid_starts(view.messages)
    cut = find_cut(view.messages, view.costs, shares.keep, valid)
    if sum(view.costs[: cut.first_kept]) < MIN_CUT_TOKENS:
        # A cut would remove so little that not the older part is too large, but a message or two.
        room = (shares.room - previous_tokens) * FIT_FILL
        if (plan := _fitted(view, CutPoint(0, 0), room)).kept_tokens <= room:
            return plan
    taken = shares.summary * OVERSHOOT + shares.files if cut.first_kept else previous_tokens
    return _fitted(view, cut, shares.room - taken)


def _fitted(view: ContextView, cut: CutPoint, room: float) -> CompactionPlan:
    start = cut.first_kept
    fitted = fit(view.messages[start:], view.costs[start:], max(room, 0))
    edits = {index: message for index, message in view.edits.items() if index >= start}
    edits |= {start + index: message for index, message in fitted.changed.items()}
    return CompactionPlan(cut, edits, fitted.tokens)


def valid_starts(messages: Sequence[AppMessage]) -> list[bool]:
    """For each index, whether the kept part may start there: without a result whose call is cut off."""
    inside = [0] * (len(messages) + 1)  # how many call-result pairs open and close here, summed up below
    waiting: dict[str, list[int]] = {}
    for index, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            for part in message.content:
                if isinstance(part, ToolCall):
                    waiting.setdefault(part.id, []).append(index)
        elif isinstance(message, ToolResultMessage) and (calls := waiting.get(message.tool_call_id)):
            inside[calls.pop() + 1] += 1
            inside[index + 1] -= 1
    valid = []
    open_pairs = 0
    for index, message in enumerate(messages):
        open_pairs += inside[index]
        valid.append(open_pairs == 0 and not isinstance(message, ToolResultMessage))
    return valid


def is_turn_start(message: AppMessage) -> bool:
    """Whether the message is neither an answer nor a tool result."""
    return not isinstance(message, (AssistantMessage, ToolResultMessage))


def last_unit(messages: Sequence[AppMessage], valid: Sequence[bool]) -> int:
    """The index of the newest messages that must stay: the next answer is about them."""
    newest_first = range(len(messages) - 1, -1, -1)
    return next((index for index in newest_first if valid[index] and is_asked(messages[index])), 0)


def is_asked(message: AppMessage) -> bool:
    """Whether a request may end with the message: not with an answer that failed or has no content."""
    match message:
        case AssistantMessage():
            said = any(
                isinstance(part, ToolCall) or (isinstance(part, TextContent) and part.text.strip())
                for part in message.content
            )
            return message.stop_reason != "error" and said
        case BashExecutionMessage() | PythonExecutionMessage():
            return message.exclude_from_context is not True
    return True


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
    for index in range(len(messages) - 1, -1, -1):
        kept += costs[index]
        if kept > keep_tokens:
            break
        if valid[index] and index <= first:
            first = index
            if is_turn_start(messages[index]):
                whole, kept_whole = index, kept
    if whole is not None and kept_whole * 2 >= sum(costs[first:]):
        return CutPoint(whole, whole)
    return CutPoint(first, _turn_start(messages, first))


def _turn_start(messages: Sequence[AppMessage], first_kept: int) -> int:
    if not messages or is_turn_start(messages[first_kept]):
        return first_kept
    starts = (index for index in range(first_kept - 1, -1, -1) if is_turn_start(messages[index]))
    return next(starts, first_kept)
