"""The context: the messages of the branch that ends in the leaf, and its model, thinking level and mode."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from tau.ai import wire as w
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
    message: w.AppMessage


class Context(Struct, frozen=True, kw_only=True):
    """`items` are in order: the summary of the latest compaction, the messages it kept, later ones."""

    items: list[ContextItem]
    model: tuple[str, str] | None = None  # provider and id
    base_url: str | None = None  # of the model, if it was given for this session
    thinking: str | None = None
    mode: str | None = None
    compaction: s.CompactionEntry | None = None

    @property
    def messages(self) -> list[w.AppMessage]:
        return [item.message for item in self.items]


def build_context(branch: Sequence[EntryNode], decode: Decode) -> Context:
    """`branch` goes from the root to the leaf. Only the needed entries are decoded."""
    compaction, kept = _split_at_compaction(branch, decode)
    items: list[ContextItem] = []
    if (c := compaction) is not None:
        summary = w.CompactionSummaryMessage(c.summary, c.tokens_before, from_iso(c.timestamp))
        items.append(ContextItem(c.id, summary))
    items.extend(_items(kept, decode))
    model, base_url = _model(branch, decode)
    return Context(
        items=items,
        model=model,
        base_url=base_url,
        thinking=_latest(branch, "thinking_level_change", decode, "thinking_level"),
        mode=_mode(branch, decode),
        compaction=compaction,
    )


def extend_context(context: Context, entry: s.KnownEntry) -> Context | None:
    """The context after one more entry; None if it must be rebuilt."""
    match entry:
        case s.MessageEntry(message=message):
            context.items.append(ContextItem(entry.id, message))
            if isinstance(message, w.AssistantMessage):
                model = message.provider, message.model
                return _update(context, model=model, base_url=_base_url(context, model))
            return context
        case s.ModelChange():
            if (changed := _model_of(entry)) is None:
                return context
            return _update(context, model=changed, base_url=entry.base_url or None)
        case s.ThinkingLevelChange(thinking_level=level):
            return _update(context, thinking=level)
        case s.ContextEdit():
            return _apply_edit(context, entry)
        case s.CompactionEntry() | s.ModeChange():
            return None
        case s.CustomMessageEntry() | s.BranchSummaryEntry():
            context.items.append(ContextItem(entry.id, _message_of(entry)))
            return context
    return context


def _apply_edit(context: Context, edit: s.ContextEdit) -> Context | None:
    """Apply an edit, if its content replaces the current one completely, as an earlier edit may have.

    The result has a new list, so that a token count of the old one is seen to be outdated.
    """
    index = next((i for i, item in enumerate(context.items) if item.id == edit.target_id), None)
    if index is None or edit.replacement is None:
        return None
    item = context.items[index]
    message = _edited(item.message, edit.replacement.content)
    if message is item.message:
        return None
    items = context.items.copy()
    items[index] = ContextItem(item.id, message)
    return replace(context, items=items)


def _update(context: Context, **changes: Any) -> Context:
    same = all(getattr(context, name) == value for name, value in changes.items())
    return context if same else replace(context, **changes)


def _split_at_compaction(
    branch: Sequence[EntryNode], decode: Decode
) -> tuple[s.CompactionEntry | None, list[EntryNode]]:
    for index in range(len(branch) - 1, -1, -1):
        if branch[index].type == "compaction" and isinstance(
            compaction := decode(branch[index]), s.CompactionEntry
        ):
            first = compaction.first_kept_entry_id
            start = next((i for i in range(index, -1, -1) if branch[i].id == first), index)
            return compaction, [*branch[start:index], *branch[index + 1 :]]
    return None, list(branch)


_MESSAGE_TYPES = {"message", "custom_message", "branch_summary"}


def _items(nodes: Sequence[EntryNode], decode: Decode) -> Iterator[ContextItem]:
    edits: dict[str, s.ContextEdit] = {}
    for node in nodes:
        if node.type == "context_edit" and isinstance(edit := decode(node), s.ContextEdit):
            edits[edit.target_id] = edit
    for node in nodes:
        if node.type not in _MESSAGE_TYPES or (entry := decode(node)) is None:
            continue
        message = _message_of(cast("MessageLike", entry))
        if (edit := edits.get(node.id)) is not None:
            if edit.replacement is None:
                continue
            message = _edited(message, edit.replacement.content)
        yield ContextItem(node.id, message)


MessageLike = s.MessageEntry | s.CustomMessageEntry | s.BranchSummaryEntry


def _message_of(entry: MessageLike) -> w.AppMessage:
    match entry:
        case s.MessageEntry(message=message):
            return message
        case s.CustomMessageEntry():
            return w.CustomMessage(
                entry.custom_type, entry.content, entry.display, from_iso(entry.timestamp), entry.details
            )
        case s.BranchSummaryEntry():
            return w.BranchSummaryMessage(entry.summary, entry.from_id, from_iso(entry.timestamp))


def _edited(message: w.AppMessage, content: Any) -> w.AppMessage:
    """The message with other content; unchanged if it cannot hold it."""
    match message:
        case w.AssistantMessage() | w.ToolResultMessage() if isinstance(content, str):
            return message
        case w.UserMessage():
            return replace(message, content=content, attachments=UNSET)
        case w.AssistantMessage():
            return replace(message, content=content, provider_payload=UNSET)
        case w.ToolResultMessage() | w.CustomMessage():
            return replace(message, content=content)
        case w.BashExecutionMessage() | w.PythonExecutionMessage() if isinstance(content, str):
            return replace(message, output=content)
    return message


def _model(branch: Sequence[EntryNode], decode: Decode) -> tuple[tuple[str, str] | None, str | None]:
    """The model last used, chosen or answering, and the address it was chosen with."""
    answering: tuple[str, str] | None = None
    for node in reversed(branch):
        if node.type == "model_change" and isinstance(change := decode(node), s.ModelChange):
            if (model := _model_of(change)) is not None:
                same = answering in (None, model)
                return answering or model, (change.base_url or None) if same else None
        elif answering is None and node.type == "message":
            entry = decode(node)
            if isinstance(entry, s.MessageEntry) and isinstance(entry.message, w.AssistantMessage):
                answering = entry.message.provider, entry.message.model
    return answering, None


def last_choice(branch: Sequence[EntryNode], decode: Decode, model: tuple[str, str]) -> s.ModelChange | None:
    """The entry that the model was last chosen with."""
    for node in reversed(branch):
        entry = decode(node) if node.type == "model_change" else None
        if isinstance(entry, s.ModelChange) and (entry.provider, entry.model_id) == model:
            return entry
    return None


def last_tier(branch: Sequence[EntryNode], decode: Decode) -> s.TierChange | None:
    """The last entry that changed the service tier."""
    for node in reversed(branch):
        if node.type == "service_tier_change" and isinstance(entry := decode(node), s.TierChange):
            return entry
    return None


def _base_url(context: Context, model: tuple[str, str]) -> str | None:
    return context.base_url if context.model == model else None


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
