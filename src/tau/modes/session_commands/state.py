"""Commands about the state of the session, its todo list and its permissions."""

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from tau.agent.loop_owner import InterruptMode
from tau.agent.queue import TakeMode
from tau.ai.model import ThinkingLevel
from tau.coding.session.stats import SessionStats
from tau.coding.todo.list import Phases
from tau.config.settings import ApprovalMode
from tau.modes.session_commands.command import CommandCall, NoFields, command
from tau.modes.session_commands.models import ModelInfo, model_info


class WindowUsage(Struct, frozen=True, rename="camel"):
    tokens: int
    context_window: int
    percent: float


class OfferedTool(Struct, frozen=True):
    name: str
    description: str
    parameters: dict[str, Any]


class SessionState(Struct, frozen=True, rename="camel", kw_only=True):
    """`queued_message_count` and `pending_message_count` are the same number, for clients of either kind."""

    model: ModelInfo
    thinking_level: ThinkingLevel
    is_streaming: bool
    is_compacting: bool
    steering_mode: TakeMode
    follow_up_mode: TakeMode
    interrupt_mode: InterruptMode
    approval_mode: ApprovalMode
    session_file: str | UnsetType = UNSET
    session_id: str
    session_name: str | UnsetType = UNSET
    auto_compaction_enabled: bool
    message_count: int
    queued_message_count: int
    pending_message_count: int
    todo_phases: Phases
    system_prompt: list[str]
    dump_tools: list[OfferedTool]
    context_usage: WindowUsage


class StatsWithContext(SessionStats, frozen=True, rename="camel", kw_only=True):
    context_usage: WindowUsage
    premium_requests: int = 0


class TodosRequest(Struct, frozen=True):
    phases: Phases


class TodoState(Struct, frozen=True, rename="camel"):
    todo_phases: Phases


class ApprovalModeRequest(Struct, frozen=True):
    mode: ApprovalMode


class CommandSource(Struct, frozen=True, rename="camel"):
    path: str
    source: str
    scope: str
    origin: str = "top-level"


class AvailableCommand(Struct, frozen=True, rename="camel"):
    name: str
    description: str
    source: str
    source_info: CommandSource


class AvailableCommands(Struct, frozen=True):
    """Commands of files and extensions; send one as a prompt, after a slash."""

    commands: list[AvailableCommand]


async def get_state(call: CommandCall, request: NoFields) -> SessionState:
    session = call.host.session
    setup = session.setup()
    waiting = len(session.queue)
    return SessionState(
        model=model_info(session.model),
        thinking_level=session.thinking,
        is_streaming=call.host.busy,
        is_compacting=session.compaction.running,
        steering_mode=session.queue.steering_mode,
        follow_up_mode=session.queue.follow_up_mode,
        interrupt_mode=session.requests.interrupt_mode,
        approval_mode=session.permissions.mode,
        session_file=UNSET if session.log.path is None else str(session.log.path),
        session_id=session.log.header.id,
        session_name=session.names.name or UNSET,
        auto_compaction_enabled=session.compaction.enabled,
        message_count=len(session.log.messages()),
        queued_message_count=waiting,
        pending_message_count=waiting,
        todo_phases=session.todos.phases,
        system_prompt=[setup.system],
        dump_tools=[OfferedTool(spec.name, spec.description, spec.parameters) for spec in setup.specs()],
        context_usage=_window_usage(call),
    )


async def get_session_stats(call: CommandCall, request: NoFields) -> StatsWithContext:
    stats = call.host.session.stats.summary()
    fields = {name: getattr(stats, name) for name in stats.__struct_fields__}
    return StatsWithContext(**fields, context_usage=_window_usage(call))


def _window_usage(call: CommandCall) -> WindowUsage:
    usage = call.host.session.compaction.usage()
    return WindowUsage(usage.tokens, usage.window, usage.percent)


async def set_todos(call: CommandCall, request: TodosRequest) -> TodoState:
    todos = call.host.session.todos
    todos.edit(request.phases)
    return TodoState(todos.phases)


async def set_approval_mode(call: CommandCall, request: ApprovalModeRequest) -> None:
    call.host.session.permissions.set_mode(request.mode)


async def get_commands(call: CommandCall, request: NoFields) -> AvailableCommands:
    host = call.host
    supplies = host.session.supplies()
    supplies.discovery.refresh()
    found = [
        AvailableCommand(
            file.name,
            file.description,
            "skill" if file.is_skill else "prompt",
            CommandSource(str(file.path), "local", file.origin),
        )
        for file in supplies.commands()
    ]
    if (extensions := host.session.extensions) is not None:
        sources = {one.name: CommandSource(one.path, "local", one.origin) for one in extensions.report()}
        own = {
            one.name: AvailableCommand(one.name, one.description, "extension", sources[one.source])
            for one in extensions.commands()
        }
        found = [*own.values(), *(one for one in found if one.name not in own)]
    return AvailableCommands(found)


COMMANDS = (
    command(get_state, "Return the state of the session"),
    command(get_session_stats, "Return message counts, tokens and cost"),
    command(set_todos, "Replace the todo list"),
    command(set_approval_mode, "Change what runs without approval"),
    *(
        command(get_commands, "List the commands of files and extensions", name=name)
        for name in ("get_commands", "get_available_commands")
    ),
)
