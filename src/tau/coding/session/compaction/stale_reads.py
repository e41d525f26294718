"""Stale reads: results with file content that is shown again later or has changed since."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from tau.ai.wire import AppMessage, TextContent, ToolResultMessage
from tau.base.errors import ToolError
from tau.coding.files.paths import Selector, split_selector
from tau.coding.session.compaction.estimate import message_tokens
from tau.coding.session.compaction.file_ops import (
    CallResult,
    calls_with_results,
    changed_paths,
    normalize_path,
    read_paths,
)
from tau.coding.session.compaction.truncation import plain
from tau.coding.session.context import ContextItem

SUFFIX_TOKENS = 8_000  # what a server's cache may lose to a change without a compaction
PROTECTED_TOKENS = 16_000  # of the newest messages: what was read for an edit stays after it
MIN_SAVED_TOKENS = 100
MIN_TOTAL_SAVED_TOKENS = 500  # what a change without a compaction must save


class _ShownLines(Struct, frozen=True):
    """Which lines of a file a result shows. `whole`: nothing between them is elided."""

    selector: Selector
    first: int
    last: float
    whole: bool

    def covers(self, other: "_ShownLines") -> bool:
        if self.selector == other.selector:
            return True
        return self.whole and self.first <= other.first and self.last >= other.last


def stale_reads(
    messages: Sequence[AppMessage], costs: Sequence[int], cwd: str, *, changed_before: int = 0
) -> dict[int, AppMessage]:
    """Replacements for stale results, by index.

    A result is stale if a later one shows all of it; before the index `changed_before`, also if the file was
    changed later.
    """
    later: dict[str, list[_ShownLines]] = {}
    changed: set[str] = set()
    stale: dict[int, AppMessage] = {}
    for called in reversed(calls_with_results(messages)):
        result = called.result
        if result is None or called.failed:
            continue
        if called.call.name != "read":
            changed.update(normalize_path(path, cwd) for path in changed_paths(called.call, result))
            continue
        for path in read_paths(called.call)[:1]:
            file = normalize_path(path, cwd)
            shown = _shown_lines(called, result)
            again = any(newer.covers(shown) for newer in later.get(file, ()))
            if again or (file in changed and called.index < changed_before):
                note = _placeholder(called, result, again=again)
                if costs[called.index] - message_tokens(note) >= MIN_SAVED_TOKENS:
                    stale[called.index] = note
            later.setdefault(file, []).append(shown)
    return stale


def recent_stale_reads(items: Sequence[ContextItem], costs: Sequence[int], cwd: str) -> dict[int, AppMessage]:
    """Stale results followed by few tokens, so that the server's cache loses little."""
    first, after = len(items), 0
    while first and after <= SUFFIX_TOKENS:  # the copy itself may be large: only what follows it counts
        first -= 1
        after += costs[first]
    start = first
    while start and isinstance(items[start].message, ToolResultMessage):
        start -= 1
    recent = stale_reads([item.message for item in items[start:]], costs[start:], cwd)
    stale = {start + index: note for index, note in recent.items() if start + index >= first}
    saved = sum(costs[index] - message_tokens(note) for index, note in stale.items())
    return stale if saved >= MIN_TOTAL_SAVED_TOKENS else {}


def _shown_lines(called: CallResult, result: ToolResultMessage) -> _ShownLines:
    try:
        selector = split_selector(_path_text(called))[1]
    except ToolError:
        selector = Selector()
    details: object = plain(result.details)
    if isinstance(details, dict) and isinstance(first := details.get("firstLine"), int):
        last = details.get("lastLine")
        return _ShownLines(
            selector,
            first,
            last if isinstance(last, int) else first,
            "summary" not in details and len(selector.ranges) < 2,
        )
    if len(selector.ranges) == 1:
        lines = selector.ranges[0]
        return _ShownLines(selector, lines.first, float("inf") if lines.last is None else lines.last, True)
    return _ShownLines(selector, 1, float("inf"), False)


def _path_text(called: CallResult) -> str:
    texts = (called.call.arguments.get(key) for key in ("path", "file_path", "file", "filename"))
    return next((text for text in texts if isinstance(text, str)), "")


def _placeholder(called: CallResult, result: ToolResultMessage, *, again: bool) -> ToolResultMessage:
    why = "shown again later" if again else "the file changed later; read it again if you need it"
    text = f"[{_path_text(called)} was shown here; this older copy was removed: {why}]"
    return replace(result, content=[TextContent(text)])
