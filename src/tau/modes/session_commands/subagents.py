"""Commands about subagents: list, watch, read, stop and message them."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from tau.agent.events import AgentEvent
from tau.base.clock import now_ms
from tau.base.errors import TauError
from tau.base.late import late
from tau.modes.session_commands.command import CommandCall, CommandError, NoFields, command

if TYPE_CHECKING:
    from tau.coding.task.results import AgentProgress

ports = late("tau.coding.task.ports")

SubscriptionLevel = Literal["off", "progress", "events"]
MAX_BYTES = 4 * 1024 * 1024


class SubagentLevel(Struct, frozen=True):
    """`events` includes progress. It is for the open session; ask again after a switch."""

    level: SubscriptionLevel


class SubagentSnapshot(Struct, frozen=True, rename="camel", kw_only=True):
    id: str
    index: int
    agent: str
    agent_source: str
    status: str
    task: str
    last_update: int
    description: str | UnsetType = UNSET
    session_file: str | UnsetType = UNSET
    parent_tool_call_id: str | UnsetType = UNSET
    parent: str = ""
    progress: Any = UNSET


class Subagents(Struct, frozen=True):
    subagents: list[SubagentSnapshot]


class SubagentMessagesRequest(Struct, frozen=True, rename="camel"):
    """By id or by session file, from a byte offset that an earlier answer gave."""

    subagent_id: str = ""
    session_file: str = ""
    from_byte: int = 0


class SubagentMessages(Struct, frozen=True, rename="camel"):
    """`reset`: the offset was not in the file, so this starts at its beginning."""

    session_file: str
    from_byte: int
    next_byte: int
    reset: bool
    entries: list[Any]
    messages: list[Any]


class SubagentRequest(Struct, frozen=True, rename="camel"):
    subagent_id: str


class StoppedSubagents(Struct, frozen=True):
    stopped: int


class SubagentMessage(Struct, frozen=True, rename="camel"):
    subagent_id: str
    message: str


class SubagentReceipt(Struct, frozen=True):
    outcome: str


class SubagentFrame(Struct, frozen=True, rename="camel", tag_field="type", tag="subagent_progress"):
    """What an agent does now; at most every 150 ms."""

    payload: Any


class SubagentLifecycleFrame(Struct, frozen=True, rename="camel", tag_field="type", tag="subagent_lifecycle"):
    """An agent began, ended, was parked or woken."""

    payload: Any


class SubagentEventFrame(Struct, frozen=True, rename="camel", tag_field="type", tag="subagent_event"):
    """An event of an agent's session."""

    payload: Any


def _snapshot(row: "AgentProgress") -> SubagentSnapshot:
    return SubagentSnapshot(
        id=row.id,
        index=row.index,
        agent=row.agent,
        agent_source=row.agent_source,
        status=row.status,
        task=row.task,
        last_update=now_ms() - row.quiet_ms,
        description=row.description or UNSET,
        session_file=row.session_file or UNSET,
        parent_tool_call_id=row.tool_call or UNSET,
        parent=row.parent,
        progress=row,
    )


def _team(call: CommandCall) -> "ports.AgentTeam":
    team = call.host.session.team
    if team is None:
        raise CommandError("This session has no agents.")
    return team()


async def set_subagent_subscription(call: CommandCall, request: SubagentLevel) -> SubagentLevel:
    call.host.stop_watching()
    call.host.stop_watching = lambda: None
    if request.level == "off":
        return request
    team, level = _team(call), request.level

    def listen(change: str, id: str, event: AgentEvent | None) -> None:
        if change == "event":
            if level == "events" and event is not None:
                call.send(SubagentEventFrame({"id": id, "event": event}))
            return
        row = team.row(id)
        if row is not None:
            frame = SubagentLifecycleFrame if change == "lifecycle" else SubagentFrame
            call.send(frame(_snapshot(row)))

    call.host.stop_watching = team.subscribe(listen)
    return request


async def get_subagents(call: CommandCall, request: NoFields) -> Subagents:
    team = call.host.session.team
    made = None if team is None else team.made
    return Subagents([] if made is None else [_snapshot(row) for row in made.rows()])


async def get_subagent_messages(call: CommandCall, request: SubagentMessagesRequest) -> SubagentMessages:
    rows = _team(call).rows()
    wanted = request.subagent_id.lower()
    row = next(
        (one for one in rows if one.id.lower() == wanted or one.session_file == request.session_file), None
    )
    if row is None:
        raise CommandError(f'There is no agent "{request.subagent_id or request.session_file}".')
    return await asyncio.to_thread(_read, Path(row.session_file), request.from_byte)


def _read(path: Path, start: int) -> SubagentMessages:
    """Whole lines from an offset, as many as fit into an answer."""
    size = path.stat().st_size if path.exists() else 0
    reset = not 0 <= start <= size
    begin = 0 if reset else start
    data = b""
    if size:
        with path.open("rb") as file:
            file.seek(begin)
            data = file.read(MAX_BYTES)
            if b"\n" not in data:  # a longer line, such as an image
                data += file.readline()
    data = data[: data.rfind(b"\n") + 1]
    entries: list[object] = []
    for line in data.splitlines():
        try:
            entries.append(msgspec.json.decode(line))
        except msgspec.DecodeError:
            continue
    messages = [one["message"] for one in entries if isinstance(one, dict) and one.get("type") == "message"]
    return SubagentMessages(str(path), begin, begin + len(data), reset, entries, messages)


async def stop_subagent(call: CommandCall, request: SubagentRequest) -> StoppedSubagents:
    """Stop one, or all of them with the id `all`."""
    team = _team(call)
    if request.subagent_id == "all":
        return StoppedSubagents(team.stop_all())
    return StoppedSubagents(int(team.stop(request.subagent_id)))


async def message_subagent(call: CommandCall, request: SubagentMessage) -> SubagentReceipt:
    if not request.message.strip():
        raise CommandError("The message is empty.")
    receipt = await _team(call).mail.send(ports.USER, request.subagent_id, request.message)
    if receipt.outcome == "failed":
        raise TauError(str(receipt.error))
    return SubagentReceipt(receipt.outcome)


COMMANDS = (
    command(set_subagent_subscription, "Choose which events of subagents to receive"),
    command(get_subagents, "List the subagents"),
    command(get_subagent_messages, "Return messages of a subagent"),
    command(stop_subagent, "Stop a subagent"),
    command(message_subagent, "Send a message to a subagent"),
)
