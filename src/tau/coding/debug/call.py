"""One call of the tool `debug`: its parameters, what each action needs, and what it reports."""

import base64
import binascii
import shlex
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, json

from tau.backends.dap.protocol import (
    BreakpointRow,
    DebugSummary,
    DebugThread,
    DebugVariable,
    StackFrame,
    VariableScope,
)
from tau.backends.dap.session import DebugSession, SessionState
from tau.backends.dap.sessions import DebugSessions
from tau.base.errors import ToolError
from tau.coding.files.paths import resolve
from tau.coding.ports import CodingContext

TIMEOUT_S = (5.0, 300.0)
DEFAULT_TIMEOUT_S = 30.0

DebugAction = Literal[
    "launch",
    "attach",
    "set_breakpoint",
    "remove_breakpoint",
    "set_instruction_breakpoint",
    "remove_instruction_breakpoint",
    "data_breakpoint_info",
    "set_data_breakpoint",
    "remove_data_breakpoint",
    "continue",
    "step_over",
    "step_in",
    "step_out",
    "pause",
    "evaluate",
    "stack_trace",
    "threads",
    "scopes",
    "variables",
    "disassemble",
    "read_memory",
    "write_memory",
    "modules",
    "loaded_sources",
    "custom_request",
    "output",
    "terminate",
    "sessions",
]
READ_ONLY: frozenset[DebugAction] = frozenset(
    {
        *("output", "threads", "stack_trace", "scopes", "variables", "disassemble", "read_memory"),
        *("loaded_sources", "modules", "sessions"),
    }
)


REQUIRED: dict[DebugAction, tuple[str, ...]] = {
    "launch": ("program",),
    "set_instruction_breakpoint": ("instruction_reference",),
    "remove_instruction_breakpoint": ("instruction_reference",),
    "data_breakpoint_info": ("name",),
    "set_data_breakpoint": ("data_id",),
    "remove_data_breakpoint": ("data_id",),
    "evaluate": ("expression",),
    "disassemble": ("instruction_count",),
    "read_memory": ("memory_reference", "count"),
    "write_memory": ("memory_reference", "data"),
    "custom_request": ("command",),
}


class DebugParams(Struct, frozen=True):
    action: DebugAction
    program: Annotated[str | None, Meta(title="Program to launch")] = None
    args: Annotated[list[str], Meta(title="Its arguments")] = []
    adapter: Annotated[str | None, Meta(title="Debug adapter; default: by the program")] = None
    cwd: Annotated[str | None, Meta(title="Directory to run in")] = None
    file: Annotated[str | None, Meta(title="Source file of a breakpoint")] = None
    line: Annotated[int | None, Meta(title="Its line, from 1")] = None
    function: Annotated[str | None, Meta(title="Function to stop in, instead of a line")] = None
    name: Annotated[str | None, Meta(title="Variable to watch")] = None
    condition: Annotated[str | None, Meta(title="Stop only if this is true")] = None
    hit_condition: Annotated[str | None, Meta(title="Stop at the Nth time")] = None
    log_message: Annotated[str | None, Meta(title="Print this instead of stopping; {expressions}")] = None
    exceptions: Annotated[list[str] | None, Meta(title="Exception filters to stop at")] = None
    expression: Annotated[str | None, Meta(title="Expression or debugger command")] = None
    context: Annotated[str, Meta(title="repl, watch or hover")] = "repl"
    frame_id: Annotated[int | None, Meta(title="Frame; default: where it stopped")] = None
    scope_id: Annotated[int | None, Meta(title="Scope whose variables to list")] = None
    variable_ref: Annotated[int | None, Meta(title="Variable whose parts to list")] = None
    pid: Annotated[int | None, Meta(title="Process to attach to")] = None
    port: Annotated[int | None, Meta(title="Port to attach to")] = None
    host: Annotated[str | None, Meta(title="Host of that port")] = None
    levels: Annotated[int | None, Meta(title="Stack frames to show")] = None
    memory_reference: Annotated[str | None, Meta(title="Address")] = None
    instruction_reference: Annotated[str | None, Meta(title="Address of an instruction")] = None
    instruction_count: Annotated[int | None, Meta(title="Instructions to show")] = None
    instruction_offset: Annotated[int | None, Meta(title="Instructions to skip")] = None
    count: Annotated[int | None, Meta(title="Bytes to read")] = None
    data: Annotated[str | None, Meta(title="Bytes to write, in base64")] = None
    data_id: Annotated[str | None, Meta(title="Id from data_breakpoint_info")] = None
    access_type: Annotated[
        Literal["read", "write", "readWrite"] | None, Meta(title="Which access stops the program")
    ] = None
    command: Annotated[str | None, Meta(title="Any DAP request")] = None
    arguments: Annotated[dict[str, Any], Meta(title="Its arguments")] = {}
    offset: Annotated[int | None, Meta(title="Bytes to add to the address")] = None
    resolve_symbols: Annotated[bool | None, Meta(title="Name the symbols in a disassembly")] = None
    allow_partial: Annotated[bool | None, Meta(title="Write what can be written")] = None
    start_module: Annotated[int | None, Meta(title="First module to list")] = None
    module_count: Annotated[int | None, Meta(title="Modules to list")] = None
    timeout: Annotated[float | None, Meta(title="Seconds, 5 to 300; default 30")] = None


class DebugDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """What people see. `source` are the lines around a stop."""

    action: DebugAction
    success: bool = True
    snapshot: DebugSummary | UnsetType = UNSET
    source: list[tuple[int, str]] | UnsetType = UNSET
    adapter: str | UnsetType = UNSET
    state: SessionState | UnsetType = UNSET
    timed_out: bool | UnsetType = UNSET
    breakpoints: list[BreakpointRow] | UnsetType = UNSET
    function_breakpoints: list[BreakpointRow] | UnsetType = UNSET
    instruction_breakpoints: list[BreakpointRow] | UnsetType = UNSET
    data_breakpoints: list[BreakpointRow] | UnsetType = UNSET
    data_breakpoint_info: dict[str, Any] | UnsetType = UNSET
    threads: list[DebugThread] | UnsetType = UNSET
    stack_frames: list[StackFrame] | UnsetType = UNSET
    scopes: list[VariableScope] | UnsetType = UNSET
    variables: list[DebugVariable] | UnsetType = UNSET
    evaluation: dict[str, Any] | UnsetType = UNSET
    disassembly: list[dict[str, Any]] | UnsetType = UNSET
    memory_address: str | UnsetType = UNSET
    memory_data: str | UnsetType = UNSET
    unreadable_bytes: int | UnsetType = UNSET
    bytes_written: int | UnsetType = UNSET
    modules: list[dict[str, Any]] | UnsetType = UNSET
    sources: list[dict[str, Any]] | UnsetType = UNSET
    custom_body: dict[str, Any] | UnsetType = UNSET
    output: str | UnsetType = UNSET
    sessions: list[DebugSummary] | UnsetType = UNSET


class DebugCall:
    """`details` collects what the action adds to its result."""

    def __init__(
        self, params: DebugParams, ctx: CodingContext, sessions: DebugSessions, timeout_s: float
    ) -> None:
        self.params, self.ctx, self.sessions, self.timeout_s = params, ctx, sessions, timeout_s
        self.details: dict[str, Any] = {}

    @property
    def session(self) -> DebugSession:
        """Raises DapError."""
        return self.sessions.active()

    @property
    def cwd(self) -> Path:
        return working_folder(self.params, self.ctx.cwd)

    async def ask(self, command: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """A request about the current program, without the arguments that were not given. Raises DapError."""
        given = {name: value for name, value in arguments.items() if value is not None}
        return await self.session.request(command, given, self.timeout_s)

    def demand(self, capability: str, what: str) -> None:
        """Raises ToolError."""
        if not self.session.target.supports(capability):
            raise ToolError(f"Active adapter does not support {what}.")


def working_folder(params: DebugParams, cwd: Path) -> Path:
    return resolve(params.cwd, cwd) if params.cwd else cwd


def clamped_timeout(params: DebugParams) -> float:
    wanted = DEFAULT_TIMEOUT_S if params.timeout is None else params.timeout
    return min(max(wanted, TIMEOUT_S[0]), TIMEOUT_S[1])


def check(params: DebugParams) -> None:
    """Raises ToolError if an action lacks what it needs."""
    problem = _problem(params)
    if problem:
        raise ToolError(problem)


def _problem(params: DebugParams) -> str:
    action = params.action
    for name in REQUIRED.get(action, ()):
        if getattr(params, name) in (None, ""):
            return f"{name} is required for {action}"
    match action:
        case "attach" if params.pid is None and params.port is None:
            return "attach requires pid or port"
        case "attach" if params.port is not None and not 0 < params.port < 65_536:
            return "port must be from 1 to 65535"
        case "set_breakpoint" | "remove_breakpoint":
            return _breakpoint_problem(params)
        case "variables" if params.variable_ref is None and params.scope_id is None:
            return "variables requires variable_ref or scope_id"
        case "write_memory":
            try:
                base64.b64decode(params.data or "", validate=True)
            except (binascii.Error, ValueError):
                return "data must be base64"
    return ""


def _breakpoint_problem(params: DebugParams) -> str:
    is_source = params.file is not None and params.line is not None
    if params.function and (params.file is not None or params.line is not None):
        return f"{params.action} takes file+line or function, not both"
    if not (is_source or params.function or params.exceptions is not None):
        return f"{params.action} requires file+line or function"
    return ""


def described(params: DebugParams) -> str:
    """What an action that is not only reading does, as an approval shows it: all that the debugger gets."""
    match params.action:
        case "launch":
            what = shlex.join([params.program or "", *params.args])
        case "attach":
            place = f"{params.host or '127.0.0.1'}:{params.port}" if params.pid is None else str(params.pid)
            what = f"attach to {place}"
        case "evaluate":
            what = f"evaluate {params.expression}"
        case "custom_request":
            what = f"{params.command} {json.encode(params.arguments).decode()}"
        case "write_memory":
            what = f"write {params.data} at {params.memory_reference}"
        case action:
            what = action
    named = {
        "at": f"{params.file}:{params.line}" if params.file else params.function,
        "instruction": params.instruction_reference,
        "data": params.data_id,
        "variable": params.name,
        "if": params.condition,
        "at hit": params.hit_condition,
        "print": params.log_message,
        "exceptions": " ".join(params.exceptions or ()),
    }
    return " ".join((f"debug: {what}", *(f"{key} {value}" for key, value in named.items() if value)))
