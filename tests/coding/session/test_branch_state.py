"""State that follows the branch is found again, at a bounded cost."""

from pathlib import Path

from tau.ai.wire import UserMessage
from tau.coding.session.branch_state import MAX_PAST_STOP, BranchState
from tau.coding.session.context import EntryNode
from tau.coding.session.entries import CompactionEntry, CustomEntry, MessageEntry
from tau.coding.session.storage.log import SessionLog


def searched(fillers: int) -> tuple[str | None, int]:
    """The value found behind a compaction and so many other entries, and how many entries were read."""
    log = SessionLog.new(None, Path.cwd())
    value = log.append(CustomEntry(custom_type="value", data={}))
    for _ in range(fillers):
        log.append(MessageEntry(message=UserMessage(content="x", timestamp=1)))
    log.append(CompactionEntry(summary="s", first_kept_entry_id=value, tokens_before=1))
    reads = 0

    def read(node: EntryNode) -> str | None:
        nonlocal reads
        reads += 1
        return node.id if node.type == "custom" else None

    found = BranchState(log, read, stop="compaction").get()
    return ("value" if found == value else found), reads


def test_value_just_before_a_compaction_is_found() -> None:
    assert searched(MAX_PAST_STOP - 1)[0] == "value"


def test_search_ends_a_bounded_number_of_entries_before_a_compaction() -> None:
    found, reads = searched(MAX_PAST_STOP + 500)
    assert found is None and reads == MAX_PAST_STOP + 1
