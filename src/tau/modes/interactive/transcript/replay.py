"""Rebuilds the transcript of a stored session."""

from collections.abc import Sequence

from msgspec.structs import replace

from tau.ai.wire import BranchSummaryMessage, CustomMessage, ImageContent, ToolResultMessage, UserMessage
from tau.base.clock import from_iso
from tau.coding.session import entries as s
from tau.coding.session.context import EntryNode
from tau.coding.session.storage.log import SessionLog
from tau.modes.interactive.transcript.builder import TranscriptBuilder
from tau.modes.interactive.transcript.notice import NoticeBlock
from tau.modes.interactive.transcript.tool_call import was_stopped
from tau.modes.interactive.transcript.user import without_images

MAX_MESSAGES = 400
"""How many of its last messages a long session shows."""
_SHOWN = frozenset({"message", "custom_message", "branch_summary", "compaction"})


def show_branch(
    builder: TranscriptBuilder, log: SessionLog, max_messages: int = MAX_MESSAGES, *, settle: bool = True
) -> None:
    """Show the active branch since the last compaction, up to a limit; `settle`: nothing runs anymore."""
    branch = log.branch()
    start = _first_kept(branch, log)
    nodes = [node for node in branch[start:] if node.type in _SHOWN][-max_messages:]
    if nodes and len(nodes) == max_messages:
        nodes = _drop_leading_results(nodes, log)
    shown = sum(node.type == "message" for node in nodes)
    earlier = sum(node.type == "message" for node in branch) - shown
    if earlier:
        what = "1 earlier message is" if earlier == 1 else f"{earlier:,} earlier messages are"
        builder.add(NoticeBlock(builder.context, f"{what} not shown; see /tree or /export."))
    with_pictures = _last_pictures(nodes, log, builder.max_pictures)
    stopped = False
    for node in nodes:
        entry = _entry(log, node, whole=node.id in with_pictures)
        message = entry.message if isinstance(entry, s.MessageEntry) else None
        if isinstance(message, ToolResultMessage):
            stopped = stopped or was_stopped(message)
        elif stopped:
            builder.add_stop()
            stopped = False
        _add_entry(builder, entry)
    if stopped:
        builder.add_stop()
    if settle:
        builder.settle()


def is_unanswered(log: SessionLog) -> bool:
    """Whether the last message has no answer, because tau was killed."""
    last = next((node for node in reversed(log.branch()) if node.type in _SHOWN), None)
    entry = None if last is None else _entry(log, last)
    return isinstance(entry, s.MessageEntry) and isinstance(entry.message, UserMessage)


def _add_entry(builder: TranscriptBuilder, entry: s.KnownEntry | None) -> None:
    match entry:
        case s.MessageEntry(message=message):
            builder.message(message)
        case s.CustomMessageEntry(display=True):
            when = from_iso(entry.timestamp)
            builder.message(CustomMessage(entry.custom_type, entry.content, True, when, entry.details))
        case s.BranchSummaryEntry():
            builder.message(BranchSummaryMessage(entry.summary, entry.from_id, from_iso(entry.timestamp)))
        case s.CompactionEntry():
            builder.compaction(entry.summary, entry.tokens_before)


def _first_kept(branch: Sequence[EntryNode], log: SessionLog) -> int:
    """The start of the branch part that the last compaction kept."""
    for place in range(len(branch) - 1, -1, -1):
        if branch[place].type != "compaction":
            continue
        entry = log.decode(branch[place])
        if isinstance(entry, s.CompactionEntry):
            first = entry.first_kept_entry_id
            return next((at for at in range(place, -1, -1) if branch[at].id == first), place)
    return 0


def _drop_leading_results(nodes: list[EntryNode], log: SessionLog) -> list[EntryNode]:
    """Drop leading results whose calls are not shown."""
    for place, node in enumerate(nodes):
        entry = _entry(log, node)
        if not (isinstance(entry, s.MessageEntry) and isinstance(entry.message, ToolResultMessage)):
            return nodes[place:]
    return []


def _last_pictures(nodes: Sequence[EntryNode], log: SessionLog, most: int) -> set[str]:
    """Entries whose images to load: the last ones, up to a limit."""
    ids: set[str] = set()
    for node in reversed(nodes):
        if most <= 0:
            break
        if node.type == "message" and b'"type":"image"' in log.line(node):
            ids.add(node.id)
            most -= 1
    return ids


def _entry(log: SessionLog, node: EntryNode, *, whole: bool = False) -> s.KnownEntry | None:
    """Load an entry; unless `whole`, replace its images with text."""
    if whole:
        return log.decode(node)
    entry = s.decode_known(log.line(node))
    if isinstance(entry, s.MessageEntry) and isinstance(entry.message, UserMessage | ToolResultMessage):
        content = entry.message.content
        if not isinstance(content, str) and any(isinstance(part, ImageContent) for part in content):
            return replace(entry, message=replace(entry.message, content=without_images(content)))
    return entry
