"""Reads the input of a compaction from the log and appends its result."""

from collections.abc import Mapping

from msgspec import UNSET

from tau.agent.events import CompactionResult
from tau.agent.loop_owner import Complete, Setup
from tau.ai.wire import AppMessage
from tau.base.errors import TauError
from tau.coding.session.compaction.attempts import (
    CompactionAction,
    CompactionEdits,
    CompactionInput,
    make_edit,
)
from tau.coding.session.compaction.estimate import message_tokens
from tau.coding.session.compaction.file_ops import FileOps, earlier_file_ops
from tau.coding.session.compaction.meter import ContextMeasurement
from tau.coding.session.compaction.trigger import CompactionTarget
from tau.coding.session.entries import BranchSummaryEntry, MessageEntry
from tau.coding.session.storage.log import SessionLog
from tau.config.settings import CompactionSettings


def make_job(
    log: SessionLog,
    complete: Complete,
    settings: CompactionSettings,
    setup: Setup,
    reading: ContextMeasurement,
    target: CompactionTarget,
    *,
    action: CompactionAction = "context-full",
    focus: str = "",
) -> CompactionInput:
    """Copy everything that a compaction needs: the session may continue meanwhile."""
    compaction = log.context().compaction
    start = 0 if compaction is None else 1
    items = list(reading.items[start:])
    before: list[FileOps] = [] if compaction is None else [earlier_file_ops(compaction.details)]
    written: list[AppMessage] = []
    for item in items:
        node = log.node(item.id)
        assert node is not None
        entry = log.decode(node)
        written.append(entry.message if isinstance(entry, MessageEntry) else item.message)
        if isinstance(entry, BranchSummaryEntry):
            before.append(earlier_file_ops(entry.details))
    return CompactionInput(
        items=items,
        written=written,
        costs=list(reading.costs[start:]),
        previous="" if compaction is None else compaction.summary,
        earlier=before,
        frame=reading.frame,
        estimated=reading.estimated,
        limit=target.limit / target.ratio,
        keep=settings.keep_recent_tokens / target.ratio,
        ratio=target.ratio,
        tokens=reading.tokens,
        window=target.window,
        model=setup.model,
        complete=complete,
        settings=settings,
        cwd=log.header.cwd,
        action=action,
        focus=focus,
        ask_model=target.ask_model,
        must=target.must,
    )


def write(log: SessionLog, changes: CompactionEdits, leaf: str | None) -> CompactionResult | None:
    """Append the changes made for `leaf`, unless the user has moved to another branch meanwhile."""
    id = log.leaf
    while id != leaf:
        node = None if id is None else log.node(id)
        if node is None:
            raise TauError("The session has moved to another branch, so this one was not compacted.")
        id = node.parent_id
    for edit in changes.edits:
        log.append(edit)
    entry = changes.entry
    if entry is None:
        return None
    log.append(entry)
    details = UNSET if entry.details is None else entry.details
    return CompactionResult(
        entry.summary, entry.first_kept_entry_id, entry.tokens_before, changes.tokens_after, details
    )


def replace_messages(log: SessionLog, reading: ContextMeasurement, changed: Mapping[int, AppMessage]) -> int:
    """Replace the content of these messages in the context from now on; returns the tokens saved."""
    edits = [make_edit(reading.items[index].id, message) for index, message in changed.items()]
    saved = sum(reading.costs[index] - message_tokens(message) for index, message in changed.items())
    for edit in edits:
        log.append(edit)
    return saved
