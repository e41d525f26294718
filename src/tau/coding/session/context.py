"""The context: the messages of the branch that ends in the leaf, and its model, thinking level and mode."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from tau.ai.wire import (
    AppMessage,
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    PythonExecutionMessage,
    ToolResultMessage,
    UserMessage,
)
from tau.base.clock import from_iso
from tau.coding.session import entries as s


class EntryNode(Struct, frozen=True, gc=False):
    """An entry's place in the tree and in the file."""

    type: str
    id: str
    parent_id: str | None
    start: int
    size: int


Decode = Callable[[EntryNode], s.KnownEntry | None]


class ContextItem(Struct, frozen=True, gc=False):
    """A message and the id of its entry."""

    id: str
    message: AppMessage


class Context(Struct, frozen=True, kw_only=True):
    """`items` are in order: the summary of the latest compaction, the messages it kept, later ones."""

    items: list[ContextItem]
    model: tuple[str, str] | None = None  # provider and id
    thinking: str | None = None
    mode: str | None = None
    compaction: s.CompactionEntry | None = None

    @property
    def messages(self) -> list[AppMessage]:
        return [item.message for item in self.items]


def build_context(branch: Sequence[EntryNode], decode: Decode) -> Context:
    """`branch` goes from the root to the leaf. Only the needed entries are decoded."""
    compaction, kept = _visible(branch, decode)
    items = [] if compaction is None else [ContextItem(compaction.id, _compaction_message(compaction))]
    items.extend(_items(kept, decode))
    return Context(
        items=items,
        model=_model(branch, decode),
        thinking=_latest(branch, "thinking_level_change", decode, "thinking_level"),
        mode=_mode(branch, decode),
        compaction=compaction,
    )


def extend_context(context: Context, entry: s.KnownEntry) -> Context | None:
    """The context after one more entry; None if it must be rebuilt."""
    match entry:
        case s.MessageEntry(message=message):
            context.items.append(ContextItem(entry.id, message))
            if isinstance(message, AssistantMessage):
                return _with(context, model=(message.provider, message.model))
            return context
        case s.ModelChange():
            return _with(context, model=_model_of(entry) or context.model)
        case s.ThinkingLevelChange(thinking_level=level):
            return _with(context, thinking=level)
        case s.ContextEdit():
            return _after(context, entry)
        case s.CompactionEntry() | s.ModeChange():
            return None
        case s.CustomMessageEntry() | s.BranchSummaryEntry():
            context.items.append(ContextItem(entry.id, _spoken(entry)))
            return context
    return context


def _after(context: Context, edit: s.ContextEdit) -> Context | None:
    """Apply an edit, if its content replaces the current one completely, as an earlier edit may have.

    The result has a new list, so that a token count of the old one is seen to be outdated.
    """
    place = next((i for i, item in enumerate(context.items) if item.id == edit.target_id), None)
    if place is None or edit.replacement is None:
        return None
    item = context.items[place]
    message = _edited(item.message, edit.replacement.content)
    if message is item.message:
        return None
    items = context.items.copy()
    items[place] = ContextItem(item.id, message)
    return replace(context, items=items)


def _with(context: Context, **changes: Any) -> Context:
    same = all(getattr(context, name) == value for name, value in changes.items())
    return context if same else replace(context, **changes)


def _visible(branch: Sequence[EntryNode], decode: Decode) -> tuple[s.CompactionEntry | None, list[EntryNode]]:
    for place in range(len(branch) - 1, -1, -1):
        if branch[place].type == "compaction" and isinstance(
            compaction := decode(branch[place]), s.CompactionEntry
        ):
            first = compaction.first_kept_entry_id
            start = next((i for i in range(place, -1, -1) if branch[i].id == first), place)
            return compaction, [*branch[start:place], *branch[place + 1 :]]
    return None, list(branch)


_SPOKEN = {"message", "custom_message", "branch_summary"}


def _items(nodes: Sequence[EntryNode], decode: Decode) -> Iterator[ContextItem]:
    edits: dict[str, s.ContextEdit] = {}
    for node in nodes:
        if node.type == "context_edit" and isinstance(edit := decode(node), s.ContextEdit):
            edits[edit.target_id] = edit
    for node in nodes:
        if node.type not in _SPOKEN or (entry := decode(node)) is None:
            continue
        message = _spoken(cast("Spoken", entry))
        if (edit := edits.get(node.id)) is not None:
            if edit.replacement is None:
                continue
            message = _edited(message, edit.replacement.content)
        yield ContextItem(node.id, message)


Spoken = s.MessageEntry | s.CustomMessageEntry | s.BranchSummaryEntry


def _spoken(entry: Spoken) -> AppMessage:
    match entry:
        case s.MessageEntry(message=message):
            return message
        case s.CustomMessageEntry():
            return CustomMessage(
                entry.custom_type, entry.content, entry.display, from_iso(entry.timestamp), entry.details
            )
        case s.BranchSummaryEntry():
            return BranchSummaryMessage(entry.summary, entry.from_id, from_iso(entry.timestamp))


def _compaction_message(entry: s.CompactionEntry) -> CompactionSummaryMessage:
    return CompactionSummaryMessage(entry.summary, entry.tokens_before, from_iso(entry.timestamp))


def _edited(message: AppMessage, content: Any) -> AppMessage:
    """The message with other content; unchanged if it cannot hold it."""
    match message:
        case AssistantMessage() | ToolResultMessage() if isinstance(content, str):
            return message
        case UserMessage():
            return replace(message, content=content, attachments=UNSET)
        case AssistantMessage() | ToolResultMessage() | CustomMessage():
            return replace(message, content=content)
        case BashExecutionMessage() | PythonExecutionMessage() if isinstance(content, str):
            return replace(message, output=content)
    return message


def _model(branch: Sequence[EntryNode], decode: Decode) -> tuple[str, str] | None:
    """The model last used: the one chosen, or the one that answered."""
    for node in reversed(branch):
        if node.type == "model_change" and isinstance(change := decode(node), s.ModelChange):
            if (model := _model_of(change)) is not None:
                return model
        elif node.type == "message" and isinstance(entry := decode(node), s.MessageEntry):
            message = entry.message
            if isinstance(message, AssistantMessage):
                return message.provider, message.model
    return None


def _model_of(change: s.ModelChange) -> tuple[str, str] | None:
    if change.model_id:
        return change.provider, change.model_id
    if isinstance(change.model, UnsetType) or change.role not in (UNSET, "default"):
        return None
    provider, _, id = change.model.partition("/")
    return provider, id


def _mode(branch: Sequence[EntryNode], decode: Decode) -> str | None:
    mode = _latest(branch, "mode_change", decode, "mode")
    return None if mode == "none" else mode


def _latest(branch: Sequence[EntryNode], type: str, decode: Decode, field: str) -> str | None:
    for node in reversed(branch):
        if node.type == type and (entry := decode(node)) is not None:
            return cast("str | None", getattr(entry, field))
    return None
