"""The conversation as HTML, a page at a time, by the renderers of the HTML export."""

from collections.abc import Sequence
from typing import TypeVar

from msgspec import UNSET, Struct, UnsetType

from tau.ai.wire import AssistantMessage, ToolResultMessage
from tau.base.errors import SessionError
from tau.coding.export.entry_html import EntryView, render_entry
from tau.coding.export.exported_session import ExportedSession
from tau.coding.export.markdown_html import code_block, prose
from tau.coding.export.syntax_colors import language_of
from tau.coding.session import entries as s
from tau.coding.session.context import EntryNode
from tau.coding.session.storage.log import SessionLog

MAX_ENTRIES = 100  # of one page

_M = TypeVar("_M")


class CallCard(Struct, frozen=True):
    """A tool call of an answer, in the order of its cards; `done` if its result is known."""

    id: str
    name: str
    done: bool


class TranscriptItem(Struct, frozen=True):
    """An entry as HTML, with the results of its calls. `id` is the entry's."""

    id: str
    role: str
    html: str
    calls: list[CallCard] = []


class TranscriptPage(Struct, frozen=True):
    """Items in order. The previous page ends before the entry `before`, the next one starts at `after`."""

    items: list[TranscriptItem]
    before: str | UnsetType = UNSET
    after: str | UnsetType = UNSET


class _Entry(Struct):
    id: str
    entry: s.KnownEntry
    results: dict[str, ToolResultMessage]


def transcript_page(
    log: SessionLog, *, before: str | None = None, start: str | None = None, limit: int = 40
) -> TranscriptPage:
    """At most `limit` entries of the branch: the last, those `before` an entry, or those from `start` on.

    A few more if results of calls follow. Raises SessionError if the entry is not on the branch.
    """
    session = ExportedSession(log, None)  # what is on disk is masked already
    branch = log.branch()
    limit = max(1, min(limit, MAX_ENTRIES))
    if start is not None:
        first = _index(branch, start)
        end = min(first + limit, len(branch))
    else:
        end = len(branch) if before is None else _index(branch, before)
        first = max(0, end - limit)
    while 0 < first < end and _is_result(session, branch[first]):
        first -= 1  # a result belongs to the call above it
    while end < len(branch) and before is None and _is_result(session, branch[end]):
        end += 1
    items = [item for row in _pair(session, branch[first:end]) if (item := _item(row)).html]
    return TranscriptPage(
        items, branch[first].id if first > 0 else UNSET, branch[end].id if end < len(branch) else UNSET
    )


def render(text: str, language: str = "") -> str:
    """Markdown as HTML, or code in a language, "diff" included."""
    if not language:
        return prose(text)
    return code_block(text, "diff" if language == "diff" else language_of(language))


def _pair(session: ExportedSession, nodes: Sequence[EntryNode]) -> list[_Entry]:
    """Entries, the results of calls joined with their answers."""
    found: list[_Entry] = []
    calls: dict[str, _Entry] = {}
    for node in nodes:
        entry = session.entry(node)
        if entry is None:
            continue
        result = _message(entry, ToolResultMessage)
        if result is not None and result.tool_call_id in calls:
            calls[result.tool_call_id].results[result.tool_call_id] = result
            continue
        found.append(row := _Entry(node.id, entry, {}))
        answer = _message(entry, AssistantMessage)
        calls.update({call.id: row for call in answer.tool_calls} if answer is not None else {})
    return found


def _item(row: _Entry) -> TranscriptItem:
    message = row.entry.message if isinstance(row.entry, s.MessageEntry) else None
    calls = message.tool_calls if isinstance(message, AssistantMessage) else []
    return TranscriptItem(
        row.id,
        str(message.__struct_config__.tag) if message is not None else "note",
        "".join(render_entry(row.entry, EntryView(results=row.results))),
        [CallCard(call.id, call.name, call.id in row.results) for call in calls],
    )


def _is_result(session: ExportedSession, node: EntryNode) -> bool:
    return node.type == "message" and _message(session.entry(node), ToolResultMessage) is not None


def _message(entry: s.KnownEntry | None, kind: type[_M]) -> _M | None:
    message = entry.message if isinstance(entry, s.MessageEntry) else None
    return message if isinstance(message, kind) else None


def _index(branch: Sequence[EntryNode], id: str) -> int:
    for index in range(len(branch) - 1, -1, -1):
        if branch[index].id == id:
            return index
    raise SessionError(f'The entry "{id}" is not in this conversation; load it again.')
