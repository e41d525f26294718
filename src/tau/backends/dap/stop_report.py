"""What an agent wants to know at every stop: frames, variables, the exception, asked at once."""

import asyncio
import re
from contextlib import suppress

from msgspec.structs import replace

from tau.backends.dap.connection import DapError
from tau.backends.dap.protocol import (
    DebugVariable,
    StackFrame,
    StopPlace,
    VariableScope,
    rows_of,
    value_text,
)
from tau.backends.dap.target import DebugTarget

PLACE_S = 5.0
TOP_FRAMES = 6
MAX_LOCALS = 20
NOT_LOCAL = ("global", "static", "register")
GROUPS = frozenset({"special variables", "function variables", "class variables"})  # of debugpy


async def read_place(target: DebugTarget, stop: dict[str, object]) -> StopPlace:
    """As much as the adapter tells in time; never raises DapError."""
    thread = stop.get("threadId")
    place = StopPlace(
        reason=value_text(stop.get("reason") or "stopped", 100),
        description=value_text(stop.get("text") or stop.get("description") or "", 300),
        thread_id=thread if isinstance(thread, int) else None,
    )
    with suppress(DapError, TimeoutError):
        async with asyncio.timeout(PLACE_S):
            if place.thread_id is None:
                threads = await target.threads(PLACE_S)
                place = replace(place, thread_id=threads[0].id if threads else None)
            asked = {"threadId": place.thread_id, "startFrame": 0, "levels": TOP_FRAMES}
            frames = rows_of(await target.request("stackTrace", asked, PLACE_S), "stackFrames", StackFrame)
            place = replace(place, frames=tuple(frames[:TOP_FRAMES]))
            if place.reason == "exception" and target.supports("supportsExceptionInfoRequest"):
                place = replace(place, exception=await _exception(target, place.thread_id))
            if place.top is not None:
                place = await _with_variables(target, place, place.top)
    return place


async def _with_variables(target: DebugTarget, place: StopPlace, top: StackFrame) -> StopPlace:
    answer = await target.request("scopes", {"frameId": top.id}, PLACE_S)
    scopes = [scope for scope in rows_of(answer, "scopes", VariableScope) if scope.variables_reference]
    for scope in scopes:
        if scope.expensive or scope.presentation_hint == "registers":
            continue
        if scope.name.lower().startswith(NOT_LOCAL):
            continue
        rows = await _variables(target, scope)
        if rows or scope is scopes[-1]:
            return replace(
                place,
                scope=scope.name,
                scope_id=scope.variables_reference,
                variables=tuple(rows[:MAX_LOCALS]),
                more_variables=max(len(rows) - MAX_LOCALS, 0),
            )
    return place


async def _variables(target: DebugTarget, scope: VariableScope) -> list[DebugVariable]:
    answer = await target.request("variables", {"variablesReference": scope.variables_reference}, PLACE_S)
    return [row for row in rows_of(answer, "variables", DebugVariable) if row.name not in GROUPS]


async def _exception(target: DebugTarget, thread: int | None) -> str:
    with suppress(DapError):
        info = await target.request("exceptionInfo", {"threadId": thread}, PLACE_S)
        said = ": ".join(str(info[key]) for key in ("exceptionId", "description") if info.get(key))
        return value_text(re.sub(r"\s*\(note: [^()]*\)", "", said), 500)  # debugpy explains itself
    return ""
