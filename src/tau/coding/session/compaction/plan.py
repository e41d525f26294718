"""Plans a compaction by token counts, before any model is asked: what stays and what goes."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from tau.ai.wire import AppMessage
from tau.coding.session.compaction.cut import CutPoint, find_cut, valid_starts
from tau.coding.session.compaction.estimate import message_tokens
from tau.coding.session.compaction.shorten import fit

FILES_SHARE = 0.3  # of the room, at most, before the file list is abbreviated
SUMMARY_SHARE = 0.3
KEEP_SHARE = 0.4
DIGEST_SHARE = 0.25
DIGEST_TOKENS = 3_000
DIGEST_FILL = (
    0.75  # how full a cut without a summary leaves the window, so that the next one is not due at once
)
FIT_FILL = 0.85  # the same if only large messages are shortened
SUMMARY_OF_RESERVE = 0.8
MIN_CUT_TOKENS = 400  # less than this is not worth a summary
OVERSHOOT = 1.25  # how much longer than requested a summary may be


class ContextView:
    """A conversation with unwritten changes; `edits` holds them by index."""

    def __init__(self, messages: Sequence[AppMessage], costs: Sequence[int]) -> None:
        self.messages = list(messages)
        self.costs = list(costs)
        self.edits: dict[int, AppMessage] = {}

    def edit(self, changes: Mapping[int, AppMessage]) -> None:
        for place, message in changes.items():
            self.messages[place] = message
            self.costs[place] = message_tokens(message)
            self.edits[place] = message

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
    edits = {place: message for place, message in view.edits.items() if place >= start}
    edits |= {start + place: message for place, message in fitted.changed.items()}
    return CompactionPlan(cut, edits, fitted.tokens)
