"""The actions of the tool `debug`; each returns its text for the model."""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from tau.backends.dap.breakpoints import CAPABILITIES, BreakpointKind
from tau.backends.dap.connection import DapError
from tau.backends.dap.protocol import (
    BreakpointRow,
    DebugVariable,
    StopPlace,
    VariableScope,
    rows_of,
    value_text,
)
from tau.base.errors import ToolError
from tau.base.text import plain, shortened
from tau.coding.debug.answers import (
    breakpoint_line,
    frame_lines,
    source_around,
    stop_lines,
    summary_lines,
    variable_lines,
)
from tau.coding.debug.call import DebugAction, DebugCall, working_folder
from tau.coding.debug.launch import (
    adapter_for_attach,
    adapter_for_launch,
    attach_arguments,
    launch_arguments,
)
from tau.coding.files.paths import resolve

T = TypeVar("T")
MAX_LEVELS = 100
MAX_VALUE_CHARS = 20_000
MAX_ROWS = 200
MAX_INSTRUCTIONS = 1_000
MAX_MEMORY_BYTES = 64 * 1024
MAX_NEW_OUTPUT_CHARS = 2_000
NO_ADDRESS = (
    "disassemble requires memory_reference unless the current stop location has"
    " an instruction pointer reference"
)
STEPS: dict[DebugAction, str] = {
    "continue": "continue",
    "step_over": "next",
    "step_in": "stepIn",
    "step_out": "stepOut",
}
KINDS: dict[BreakpointKind, str] = {
    "source": "breakpoints",
    "function": "function_breakpoints",
    "instruction": "instruction_breakpoints",
    "data": "data_breakpoints",
}


# Start and end


async def launch(call: DebugCall) -> str:
    params, sessions = call.params, call.sessions
    cwd = call.cwd
    if not cwd.is_dir():
        raise ToolError(f"There is no directory {cwd}.")
    program = resolve(params.program or "", cwd)
    if not program.exists():
        raise ToolError(f"There is no program {program}.")
    spec = adapter_for_launch(sessions.found, params.adapter, program)
    first = _first_breakpoint(call)
    arguments = launch_arguments(spec, sessions.found, program, params.args, cwd, stops=first is None)
    session = await sessions.start(
        spec,
        "launch",
        arguments,
        cwd=cwd,
        program=str(program),
        timeout_s=call.timeout_s,
        breakpoints=() if first is None else (first,),
    )
    call.details["adapter"] = spec.name
    notes = [] if first is None else _rows(call, *first, session.breakpoints.rows(first[0], first[1].path))
    return "\n".join([f"Launched with {spec.name}.", *notes, await _state_text(call, session.status)])


def _first_breakpoint(call: DebugCall) -> tuple[BreakpointKind, BreakpointRow] | None:
    params = call.params
    if params.function or (params.file and params.line is not None):
        return _wanted_breakpoint(call)
    return None


async def attach(call: DebugCall) -> str:
    params, sessions = call.params, call.sessions
    spec = adapter_for_attach(sessions.found, params.adapter, None if params.pid is not None else params.port)
    host = params.host or "127.0.0.1"
    arguments = attach_arguments(spec, call.cwd, pid=params.pid, host=host, port=params.port)
    program = f"process {params.pid}" if params.pid is not None else f"{host}:{params.port}"
    at = (host, params.port or 0) if spec.is_at_port and params.pid is None else ("", 0)
    session = await sessions.start(
        spec, "attach", arguments, cwd=call.cwd, program=program, timeout_s=call.timeout_s, at=at
    )
    call.details["adapter"] = spec.name
    return "\n".join([f"Attached with {spec.name}.", await _state_text(call, session.status)])


async def terminate(call: DebugCall) -> str:
    session = call.sessions.last
    if session is None or session.is_over:
        return "No debug session to terminate."
    await session.end()
    return f"Terminated debug session {session.id}."


async def list_sessions(call: DebugCall) -> str:
    rows = call.sessions.summaries()
    call.details["sessions"] = rows
    lines = [line for row in rows for line in summary_lines(row)]
    return "\n".join(lines) or "No debug sessions."


async def output(call: DebugCall) -> str:
    session = call.sessions.last
    if session is None:
        raise DapError("No active debug session. Launch or attach first.")
    text = plain(session.output.text())
    session.output.mark_shown()
    call.details["output"] = text
    cut = "[older output was dropped]\n" if session.output.truncated else ""
    return f"{cut}{text}" if text else "No output yet."


# Running


async def step(call: DebugCall) -> str:
    state = await call.session.go(STEPS[call.params.action], call.timeout_s)
    call.details |= {"state": state, "timed_out": state == "running"}
    return await _state_text(call, state)


async def pause(call: DebugCall) -> str:
    state = await call.session.pause(call.timeout_s)
    call.details["state"] = state
    return await _state_text(call, state)


async def _state_text(call: DebugCall, state: str) -> str:
    session = call.sessions.last
    assert session is not None
    place = await session.place() if state == "stopped" else None
    if place is not None:
        source = await source_around(place.top, call.ctx)
        call.details["source"] = source
        lines = stop_lines(place, source, call.ctx.cwd)
    elif state == "terminated":
        code = "" if session.exit_code is None else f" with exit code {session.exit_code}"
        lines = [f"The program ended{code}."]
    else:
        lines = ["The program is running; use pause to stop it, or continue to wait for the next stop."]
    new = plain(session.output.text(since=session.output.shown))
    session.output.mark_shown()
    if new:
        cut = new[-MAX_NEW_OUTPUT_CHARS:]
        lines += ["Output since then:", *(["[earlier: use output]"] if len(cut) < len(new) else []), cut]
    return "\n".join(lines)


# Breakpoints


def _wanted_breakpoint(call: DebugCall) -> tuple[BreakpointKind, BreakpointRow]:
    params = call.params
    kind: BreakpointKind = "source"
    if params.action.endswith("instruction_breakpoint"):
        kind = "instruction"
        row = BreakpointRow(instruction_reference=params.instruction_reference or "", offset=params.offset)
    elif params.action.endswith("data_breakpoint"):
        kind, row = "data", BreakpointRow(data_id=params.data_id or "", access_type=params.access_type)
    elif params.function:
        kind, row = "function", BreakpointRow(function=params.function)
    else:
        path = resolve(params.file or "", working_folder(params, call.ctx.cwd)).resolve()
        row = BreakpointRow(path=str(path), line=params.line or 1)
    return kind, replace(
        row,
        condition=params.condition,
        hit_condition=params.hit_condition,
        log_message=params.log_message,
    )


async def change_breakpoint(call: DebugCall) -> str:
    params, session = call.params, call.session
    if params.exceptions is not None:
        return await _set_exceptions(call, params.exceptions)
    kind, row = _wanted_breakpoint(call)
    if kind in CAPABILITIES:
        call.demand(CAPABILITIES[kind], f"{kind} breakpoints")
    before = session.breakpoints.rows(kind, row.path)
    if params.action.startswith("set_"):
        _demand_conditions(call)
        session.breakpoints.put(kind, row)
    elif not session.breakpoints.remove(kind, row):
        return "\n".join(["There is no such breakpoint.", *_rows(call, kind, row, before)])
    try:
        await session.set_breakpoints(kind, row.path, call.timeout_s)
    except DapError:
        session.breakpoints.restore(kind, row.path, before)
        raise
    return "\n".join(_rows(call, kind, row, session.breakpoints.rows(kind, row.path)))


def _demand_conditions(call: DebugCall) -> None:
    params = call.params
    for value, capability, what in (
        (params.condition, "supportsConditionalBreakpoints", "conditional breakpoints"),
        (params.hit_condition, "supportsHitConditionalBreakpoints", "hit conditions"),
        (params.log_message, "supportsLogPoints", "log points"),
    ):
        if value:
            call.demand(capability, what)


def _rows(call: DebugCall, kind: BreakpointKind, row: BreakpointRow, rows: list[BreakpointRow]) -> list[str]:
    call.details[KINDS[kind]] = rows
    where = f" in {row.path.rpartition('/')[2]}" if row.path else ""
    if not rows:
        return [f"No {kind} breakpoints{where}."]
    return [f"Breakpoints{where}:", *(breakpoint_line(each, call.ctx.cwd) for each in rows)]


async def _set_exceptions(call: DebugCall, filters: list[str]) -> str:
    if call.params.action == "remove_breakpoint":
        raise ToolError('To stop at no exceptions, use set_breakpoint with "exceptions": [].')
    known = call.session.target.capabilities.get("exceptionBreakpointFilters")
    names = (
        [str(row.get("filter")) for row in known if isinstance(row, dict)] if isinstance(known, list) else []
    )
    wrong = [name for name in filters if name not in names]
    if wrong:
        there = ", ".join(names) or "none"
        raise ToolError(f"Active adapter has no exception filter {wrong[0]!r}; it has: {there}.")
    await call.ask("setExceptionBreakpoints", {"filters": filters})
    return f"Stops at exceptions: {', '.join(filters) or 'none'}."


async def data_breakpoint_info(call: DebugCall) -> str:
    params = call.params
    call.demand("supportsDataBreakpoints", "data breakpoints")
    reference = params.variable_ref if params.variable_ref is not None else params.scope_id
    frame = params.frame_id if reference is not None or params.frame_id is not None else None
    if reference is None and frame is None:
        place = await call.session.place()
        reference = place.scope_id if place is not None and place.scope_id else None
    answer = await call.ask(
        "dataBreakpointInfo", {"name": params.name, "variablesReference": reference, "frameId": frame}
    )
    call.details["data_breakpoint_info"] = answer
    id = answer.get("dataId")
    said = value_text(answer.get("description", ""), 300)
    if not id:
        return f"{params.name} cannot be watched: {said}"
    kinds = answer.get("accessTypes")
    access = f"; access_type {', '.join(map(str, kinds))}" if isinstance(kinds, list) else ""
    return f"data_id {value_text(id, 500)} ({said}){access}"


# Looking


async def evaluate(call: DebugCall) -> str:
    params = call.params
    frame = params.frame_id
    if frame is None:
        place = await call.session.place()
        frame = place.top.id if place is not None and place.top is not None else None
    asked = {"expression": params.expression, "context": params.context, "frameId": frame}
    answer = await call.ask("evaluate", asked)
    call.details["evaluation"] = answer
    kind = f" ({value_text(answer['type'], 200)})" if answer.get("type") else ""
    inner = answer.get("variablesReference")
    parts = f"\nIts parts: variables with variable_ref {inner}" if isinstance(inner, int) and inner else ""
    return f"{shortened(plain(str(answer.get('result', ''))), MAX_VALUE_CHARS)}{kind}{parts}"


async def stack_trace(call: DebugCall) -> str:
    levels = min(max(call.params.levels or 20, 1), MAX_LEVELS)
    frames = (await call.session.frames(levels, call.timeout_s))[:levels]
    call.details["stack_frames"] = frames
    return "\n".join(frame_lines(frames, call.ctx.cwd)) or "No stack frames."


async def threads(call: DebugCall) -> str:
    rows = await call.session.target.threads(call.timeout_s)
    return _listed(call, "threads", rows, lambda row: f"  {row.id}: {row.name}")


async def scopes(call: DebugCall) -> str:
    frame = call.params.frame_id
    if frame is None:
        frame = (await call.session.frame()).id
    rows = rows_of(await call.ask("scopes", {"frameId": frame}), "scopes", VariableScope)
    call.details["scopes"] = rows
    return "\n".join(f"  {row.name}: scope_id {row.variables_reference}" for row in rows) or "No scopes."


async def variables(call: DebugCall) -> str:
    params = call.params
    reference = params.variable_ref if params.variable_ref is not None else params.scope_id
    rows = rows_of(await call.ask("variables", {"variablesReference": reference}), "variables", DebugVariable)
    call.details["variables"] = rows[:MAX_ROWS]
    return "\n".join(variable_lines(rows, 2_000)) or "No variables."


# Memory and machine code


async def disassemble(call: DebugCall) -> str:
    params = call.params
    call.demand("supportsDisassembleRequest", "disassembly")
    reference = params.memory_reference
    if not reference:
        place: StopPlace | None = await call.session.place()
        top = None if place is None else place.top
        reference = None if top is None else top.instruction_pointer_reference
    if not reference:
        raise ToolError(NO_ADDRESS)
    answer = await call.ask(
        "disassemble",
        {
            "memoryReference": reference,
            "instructionCount": min(max(params.instruction_count or 1, 1), MAX_INSTRUCTIONS),
            "instructionOffset": params.instruction_offset,
            "offset": params.offset,
            "resolveSymbols": params.resolve_symbols,
        },
    )
    rows = rows_of(answer, "instructions", dict[str, Any])[:MAX_INSTRUCTIONS]
    call.details["disassembly"] = rows
    return (
        "\n".join(
            value_text(
                f"{row.get('address')}  {row.get('instruction')}  {row.get('symbol') or ''}", 300
            ).rstrip()
            for row in rows
        )
        or "No instructions."
    )


async def read_memory(call: DebugCall) -> str:
    params = call.params
    call.demand("supportsReadMemoryRequest", "memory reads")
    answer = await call.ask(
        "readMemory",
        {
            "memoryReference": params.memory_reference,
            "offset": params.offset,
            "count": min(max(params.count or 0, 0), MAX_MEMORY_BYTES),
        },
    )
    address, data = str(answer.get("address", "")), str(answer.get("data") or "")
    unreadable = answer.get("unreadableBytes")
    bad = unreadable if isinstance(unreadable, int) else 0
    call.details |= {"memory_address": address, "memory_data": data, "unreadable_bytes": bad}
    note = f"\n{bad} unreadable bytes" if bad else ""
    return f"{value_text(address, 100)}, in base64:\n{data}{note}"


async def write_memory(call: DebugCall) -> str:
    params = call.params
    call.demand("supportsWriteMemoryRequest", "memory writes")
    answer = await call.ask(
        "writeMemory",
        {
            "memoryReference": params.memory_reference,
            "offset": params.offset,
            "allowPartial": params.allow_partial,
            "data": params.data,
        },
    )
    written = answer.get("bytesWritten")
    call.details["bytes_written"] = written if isinstance(written, int) else 0
    return f"Wrote {written} bytes." if isinstance(written, int) else "Wrote the bytes."


async def modules(call: DebugCall) -> str:
    params = call.params
    call.demand("supportsModulesRequest", "modules")
    asked = {"startModule": params.start_module, "moduleCount": params.module_count}
    rows = rows_of(await call.ask("modules", asked), "modules", dict[str, Any])
    return _listed(call, "modules", rows, lambda row: f"{row.get('name')} {row.get('path') or ''}")


async def loaded_sources(call: DebugCall) -> str:
    call.demand("supportsLoadedSourcesRequest", "loaded sources")
    rows = rows_of(await call.ask("loadedSources", {}), "sources", dict[str, Any])
    return _listed(call, "sources", rows, lambda row: str(row.get("path") or row.get("name")))


async def custom_request(call: DebugCall) -> str:
    body = await call.session.request(call.params.command or "", call.params.arguments, call.timeout_s)
    call.details["custom_body"] = body
    return (
        plain(json.dumps(body, indent=1, ensure_ascii=False)) if body else "Done; the adapter sent no body."
    )


def _listed(call: DebugCall, name: str, rows: Sequence[T], line: Callable[[T], str]) -> str:
    """The first rows, as text and in the details."""
    call.details[name] = rows[:MAX_ROWS]
    lines = [value_text(line(row), 300) for row in rows[:MAX_ROWS]]
    more = [f"[{len(rows) - MAX_ROWS} more]"] if len(rows) > MAX_ROWS else []
    return "\n".join([*lines, *more]) or f"No {name}."


ACTIONS: dict[DebugAction, Callable[[DebugCall], Awaitable[str]]] = {
    "launch": launch,
    "attach": attach,
    "set_breakpoint": change_breakpoint,
    "remove_breakpoint": change_breakpoint,
    "set_instruction_breakpoint": change_breakpoint,
    "remove_instruction_breakpoint": change_breakpoint,
    "data_breakpoint_info": data_breakpoint_info,
    "set_data_breakpoint": change_breakpoint,
    "remove_data_breakpoint": change_breakpoint,
    **dict.fromkeys(STEPS, step),
    "pause": pause,
    "evaluate": evaluate,
    "stack_trace": stack_trace,
    "threads": threads,
    "scopes": scopes,
    "variables": variables,
    "disassemble": disassemble,
    "read_memory": read_memory,
    "write_memory": write_memory,
    "modules": modules,
    "loaded_sources": loaded_sources,
    "custom_request": custom_request,
    "output": output,
    "terminate": terminate,
    "sessions": list_sessions,
}
