"""Texts for the model from what debug adapters answer: stops, frames, variables, breakpoints."""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

from tau.backends.dap.protocol import (
    BreakpointRow,
    DebugSummary,
    DebugVariable,
    StackFrame,
    StopPlace,
    value_text,
)
from tau.base.errors import ToolError
from tau.base.sizes import MIB, format_bytes
from tau.base.text import clean_line, plain, shortened
from tau.coding.files.paths import shown
from tau.coding.ports import CodingContext

SOURCE_LINES = 2  # before and after
MAX_SOURCE_BYTES = 4 * MIB
MAX_LINE_CHARS = 200
LOCAL_CHARS = 200
MAX_VARIABLES = 200


def place_of(frame: StackFrame, cwd: Path) -> str:
    path = None if frame.source is None else frame.source.path or frame.source.name
    if not path:
        return frame.instruction_pointer_reference or "no source"
    text = shown(Path(path), cwd) if path.startswith("/") else path
    return f"{clean_line(text)}:{frame.line}"


async def source_around(frame: StackFrame | None, ctx: CodingContext) -> list[tuple[int, str]]:
    """Five lines, if the call may read the file."""
    path = None if frame is None or frame.source is None else frame.source.path
    if frame is None or not path or not path.startswith("/") or frame.line < 1:
        return []
    try:
        data = await ctx.fs.read_part(Path(path), 0, MAX_SOURCE_BYTES)
    except (OSError, ToolError):
        return []
    first, last = max(frame.line - SOURCE_LINES, 1), frame.line + SOURCE_LINES
    return await asyncio.to_thread(_cut, data, first, last)


def _cut(data: bytes, first: int, last: int) -> list[tuple[int, str]]:
    lines = data.decode("utf-8", "replace").split("\n")[first - 1 : last]
    return [
        (first + at, shortened(plain(line.rstrip("\r").expandtabs(4)), MAX_LINE_CHARS))
        for at, line in enumerate(lines)
    ]


def stop_lines(place: StopPlace, source: Sequence[tuple[int, str]], cwd: Path) -> list[str]:
    """Everything about a stop, on a screen."""
    why = place.exception or place.description
    reason = f"{place.reason} ({why})" if why and why != place.reason else place.reason
    thread = f", thread {place.thread_id}" if place.thread_id is not None else ""
    top = place.top
    where = f" in {clean_line(top.name)} at {place_of(top, cwd)}" if top else ""
    lines = [f"Stopped: {reason}{where}{thread}"]
    width = len(str(source[-1][0])) if source else 0
    for number, text in source:
        mark = ">" if top is not None and number == top.line else " "
        lines.append(f"{mark} {number:>{width}} {text}".rstrip())
    if place.frames:
        lines += ["Frames:", *frame_lines(place.frames, cwd)]
    if place.variables:
        name = place.scope if place.scope.lower().startswith("local") else f"Variables of {place.scope}"
        lines += [f"{name} (scope_id {place.scope_id}):", *variable_lines(place.variables, LOCAL_CHARS)]
    if place.more_variables:
        lines.append(f"  [{place.more_variables} more]")
    return lines


def frame_lines(frames: Iterable[StackFrame], cwd: Path) -> list[str]:
    return [f"  {frame.id}: {clean_line(frame.name)} at {place_of(frame, cwd)}" for frame in frames]


def variable_lines(variables: Sequence[DebugVariable], most_chars: int) -> list[str]:
    lines = []
    for each in variables[:MAX_VARIABLES]:
        kind = f": {value_text(each.type, 80)}" if each.type else ""
        inner = f" (variable_ref {each.variables_reference})" if each.variables_reference else ""
        lines.append(f"  {value_text(each.name, 200)}{kind} = {value_text(each.value, most_chars)}{inner}")
    if len(variables) > MAX_VARIABLES:
        lines.append(f"  [{len(variables) - MAX_VARIABLES} more]")
    return lines


def breakpoint_line(row: BreakpointRow, cwd: Path) -> str:
    if row.path:
        place = f"{shown(Path(row.path), cwd)}:{row.line}"
    else:
        place = row.function or row.instruction_reference or row.data_id
        place += f"+{row.offset}" if row.offset else ""
    moved = f", moved to line {row.actual_line}" if row.actual_line and row.path else ""
    state = "set" if row.verified else "not bound yet"
    extra = [
        f"{name} {value}"
        for name, value in (
            ("if", row.condition),
            ("hits", row.hit_condition),
            ("logs", row.log_message),
            ("on", row.access_type),
        )
        if value
    ]
    said = f" ({row.message})" if row.message and not row.verified else ""
    return "  " + clean_line(f"{' '.join((place, *extra))}: {state}{moved}{said}")


def summary_lines(session: DebugSummary) -> list[str]:
    lines = [f"Session {session.id}: {session.adapter}, {session.status}, {session.program}"]
    if session.exit_code is not None:
        lines[0] += f", exit code {session.exit_code}"
    if session.why_ended:
        lines.append(f"  ended: {session.why_ended}")
    counts = [
        (session.threads, "thread"),
        (session.breakpoint_count + session.function_breakpoint_count, "breakpoint"),
        (session.children, "child program"),
    ]
    if facts := [f"{number} {name}{'s' * (number > 1)}" for number, name in counts if number]:
        lines.append(f"  {', '.join(facts)}")
    if session.output_bytes:
        cut = " (older output was dropped)" if session.output_truncated else ""
        lines.append(f"  {format_bytes(session.output_bytes)} of output{cut}")
    if session.needs_configuration_done:
        lines.append("  not configured yet: the next request completes the handshake")
    return lines
