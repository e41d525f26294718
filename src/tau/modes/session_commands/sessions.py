"""Commands about sessions: new, switch, fork, name, export, and their content."""

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from tau.ai.wire import AppMessage, AssistantMessage
from tau.base.errors import UsageError
from tau.base.files import mode_of, typed_path
from tau.base.late import late
from tau.base.sizes import KIB
from tau.coding.session.context import EntryNode
from tau.coding.session.session import Session
from tau.coding.session.tree_navigation import BranchPoint
from tau.modes.session_commands.command import CommandCall, CommandError, NoFields, command

session_export = late("tau.modes.session_export")

MAX_PAGE_MESSAGES = 256
DEFAULT_PAGE_MESSAGES = 100
MAX_PAGE_BYTES = 768 * KIB


class NewSessionRequest(Struct, frozen=True, rename="camel"):
    parent_session: str | None = None


class SwitchSessionRequest(Struct, frozen=True, rename="camel"):
    session_path: str


class SessionSwitched(Struct, frozen=True):
    """`cancelled`: an extension refused."""

    cancelled: bool = False


class EntryRequest(Struct, frozen=True, rename="camel"):
    entry_id: str


class Branched(Struct, frozen=True):
    """`text` is the message to edit and send again."""

    text: str
    cancelled: bool


class MessagePlaces(Struct, frozen=True):
    """The user's messages that a branch or a fork can start from."""

    messages: list[BranchPoint]


class NameRequest(Struct, frozen=True):
    name: str


class ExportRequest(Struct, frozen=True, rename="camel"):
    output_path: str | None = None


class ExportedFile(Struct, frozen=True):
    path: str


class MessageList(Struct, frozen=True):
    messages: list[AppMessage]


class PageRequest(Struct, frozen=True):
    cursor: str | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_PAGE_MESSAGES)] = DEFAULT_PAGE_MESSAGES


class MessagePage(Struct, frozen=True, rename="camel"):
    messages: list[msgspec.Raw]
    total_messages: int
    next_cursor: str | UnsetType = UNSET


class EntriesRequest(Struct, frozen=True):
    since: str | None = None


class EntryList(Struct, frozen=True, rename="camel"):
    entries: list[msgspec.Raw]
    leaf_id: str | None


class EntryTree(Struct, frozen=True, rename="camel"):
    """Each node is `{entry, children, label?}`."""

    tree: msgspec.Raw
    leaf_id: str | None


class LastText(Struct, frozen=True):
    text: str | None


async def new_session(call: CommandCall, request: NewSessionRequest) -> SessionSwitched:
    parent = request.parent_session
    return SessionSwitched(cancelled=not await call.host.new(Path(parent) if parent else None))


async def switch_session(call: CommandCall, request: SwitchSessionRequest) -> SessionSwitched:
    path = call.host.session.cwd / typed_path(request.session_path)
    if not stat.S_ISREG(mode_of(path)):
        raise UsageError(f'There is no session file "{path}".')
    return SessionSwitched(cancelled=not await call.host.resume(path))


async def fork(call: CommandCall, request: EntryRequest) -> Branched:
    """Copy the branch before a user message into a new session, to send another message there."""
    session = call.host.session
    text, _ = session.tree.to_edit(request.entry_id)
    node = session.log.node(request.entry_id)
    assert node is not None
    if node.parent_id is None:
        is_done = await call.host.new(session.log.path)
    else:
        is_done = await call.host.fork(node.parent_id)
    return Branched(text, cancelled=not is_done)


async def clone(call: CommandCall, request: NoFields) -> SessionSwitched:
    return SessionSwitched(cancelled=not await call.host.fork(call.host.session.log.leaf))


async def branch(call: CommandCall, request: EntryRequest) -> Branched:
    move = await call.host.session.goto(request.entry_id)
    return Branched(move.editor_text or "", move.cancelled)


async def get_branch_messages(call: CommandCall, request: NoFields) -> MessagePlaces:
    return MessagePlaces(call.host.session.tree.branch_points())


async def set_session_name(call: CommandCall, request: NameRequest) -> None:
    call.host.session.names.rename(request.name)


async def export_html(call: CommandCall, request: ExportRequest) -> ExportedFile:
    name = request.output_path or None
    if name is not None and Path(name).suffix.lower() not in (".html", ".htm"):
        raise UsageError(f'The path "{name}" must end in .html.')
    path = await session_export.export_page(call.host.session, name, call.host.paths)
    return ExportedFile(str(path))


async def get_messages(call: CommandCall, request: NoFields) -> MessageList:
    return MessageList(call.host.session.log.messages())


async def get_messages_page(call: CommandCall, request: PageRequest) -> MessagePage:
    """A cursor is the leaf it was made at and the number of messages before it."""
    log = call.host.session.log
    messages = log.messages()
    start = 0
    if request.cursor is not None:
        leaf, _, index = request.cursor.partition(":")
        branch = log.branch()
        place = next((at for at, node in enumerate(branch) if node.id == leaf), None)
        moved = place is None or any(node.type == "compaction" for node in branch[place + 1 :])
        if moved or not (index.isdecimal() and len(index) < 10):
            raise CommandError("The cursor is stale; start again without one.", "stale_cursor")
        start = int(index)
    page: list[msgspec.Raw] = []
    size = 0
    for message in messages[start : start + request.limit]:
        encoded = msgspec.json.encode(message, enc_hook=str)
        size += len(encoded)
        if page and size > MAX_PAGE_BYTES:
            break
        page.append(msgspec.Raw(encoded))
    end = start + len(page)
    more = end < len(messages)
    return MessagePage(page, len(messages), f"{log.leaf}:{end}" if more else UNSET)


async def get_entries(call: CommandCall, request: EntriesRequest) -> EntryList:
    log = call.host.session.log
    nodes = list(log.nodes())
    if request.since is not None:
        places = [at for at, node in enumerate(nodes) if node.id == request.since]
        if not places:
            raise UsageError(f'The session has no entry "{request.since}".')
        nodes = nodes[places[0] + 1 :]
    return EntryList([msgspec.Raw(log.line(node)) for node in nodes], log.leaf)


async def get_tree(call: CommandCall, request: NoFields) -> EntryTree:
    session = call.host.session
    return EntryTree(msgspec.Raw(b"".join(_tree_json(session))), session.log.leaf)


def _tree_json(session: Session) -> Iterator[bytes]:
    """The whole tree, without recursion: a long session is as deep as it is long."""
    log = session.log
    labels = session.tree.labels
    children: dict[str | None, list[EntryNode]] = {}
    for node in log.nodes():
        parent = node.parent_id if node.parent_id in log else None
        children.setdefault(parent, []).append(node)
    pending: list[EntryNode | bytes] = [b"]"]

    def push(nodes: list[EntryNode]) -> None:
        for at, node in enumerate(reversed(nodes)):
            if at:
                pending.append(b",")
            pending.append(node)

    yield b"["
    push(children.get(None, []))
    while pending:
        item = pending.pop()
        if isinstance(item, bytes):
            yield item
            continue
        yield b'{"entry":'
        yield log.line(item)
        if label := labels.get(item.id):
            yield b',"label":'
            yield msgspec.json.encode(label)
        yield b',"children":['
        pending.append(b"]}")
        push(children.get(item.id, []))


async def get_last_assistant_text(call: CommandCall, request: NoFields) -> LastText:
    for message in reversed(call.host.session.log.messages()):
        if isinstance(message, AssistantMessage) and message.text:
            return LastText(message.text)
    return LastText(None)


COMMANDS = (
    command(new_session, "Start an empty session with the same model"),
    command(switch_session, "Open a stored session"),
    command(fork, "Continue in a copy that ends before a user message"),
    command(clone, "Continue in a copy of the current branch"),
    command(branch, "Go back to before a user message, in the same session"),
    *(
        command(get_branch_messages, f"List the user messages that a {what} can start from", name=name)
        for name, what in (("get_branch_messages", "branch"), ("get_fork_messages", "fork"))
    ),
    command(set_session_name, "Name the session; an empty name removes it"),
    command(export_html, "Write the session to an HTML page, with secrets masked", slow=True),
    command(get_messages, "Return the whole conversation"),
    command(get_messages_page, "Return a part of the conversation"),
    command(get_entries, "Return the entries of the session file, or those after one"),
    command(get_tree, "Return the session as a tree of entries"),
    command(get_last_assistant_text, "Return the text of the last answer"),
)
