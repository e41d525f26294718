"""What debug adapters send, as far as it is used, and how sessions are summed up."""

from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from tau.backends.dap.connection import DapError
from tau.base.text import clean_line, shortened

T = TypeVar("T")
MAX_ROWS = 10_000  # of one answer
MAX_VALUE_CHARS = 2_000

SessionStatus = Literal["launching", "running", "stopped", "terminated"]


class SourceFile(Struct, frozen=True, rename="camel"):
    name: str | None = None
    path: str | None = None
    source_reference: int | None = None


class StackFrame(Struct, frozen=True, rename="camel"):
    id: int
    name: str = ""
    line: int = 0
    column: int = 0
    source: SourceFile | None = None
    instruction_pointer_reference: str | None = None


class DebugThread(Struct, frozen=True):
    id: int
    name: str = ""


class VariableScope(Struct, frozen=True, rename="camel"):
    name: str = ""
    variables_reference: int = 0
    expensive: bool = False
    presentation_hint: str | None = None


class DebugVariable(Struct, frozen=True, rename="camel"):
    name: str = ""
    value: str = ""
    type: str | None = None
    variables_reference: int = 0


class BreakpointRow(Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """A breakpoint that was asked for, and what the adapter made of it."""

    path: str = ""
    line: int = 0
    function: str = ""
    instruction_reference: str = ""
    data_id: str = ""
    offset: int | None = None
    access_type: str | None = None
    condition: str | None = None
    hit_condition: str | None = None
    log_message: str | None = None
    id: int | None = None
    verified: bool = False
    actual_line: int | None = None
    message: str | None = None

    @property
    def key(self) -> tuple[str, int, str, str, str, int]:
        return (
            *(self.path, self.line, self.function, self.instruction_reference, self.data_id),
            self.offset or 0,
        )


class StopPlace(Struct, frozen=True, rename="camel", kw_only=True):
    """Where and why a program stopped: top frames and variables, as far as the adapter told in time."""

    reason: str
    description: str = ""
    thread_id: int | None = None
    frames: tuple[StackFrame, ...] = ()
    scope: str = ""
    scope_id: int = 0
    variables: tuple[DebugVariable, ...] = ()
    more_variables: int = 0
    exception: str = ""

    @property
    def top(self) -> StackFrame | None:
        return self.frames[0] if self.frames else None


class DebugSummary(Struct, frozen=True, rename="camel", kw_only=True):
    """A session as every face shows it."""

    id: str
    adapter: str
    cwd: str
    program: str
    status: SessionStatus
    launched_at: float
    last_used_at: float
    stop: StopPlace | None = None
    threads: int = 0
    breakpoint_files: int = 0
    breakpoint_count: int = 0
    function_breakpoint_count: int = 0
    exit_code: int | None = None
    output_bytes: int = 0
    output_truncated: bool = False
    needs_configuration_done: bool = False
    children: int = 0
    why_ended: str = ""


def rows_of(body: dict[str, Any], key: str, kind: type[T]) -> list[T]:
    """A list in an answer. Raises DapError."""
    value = body.get(key)
    if not isinstance(value, list):
        return []
    try:
        return msgspec.convert(value[:MAX_ROWS], list[kind], strict=False)  # type: ignore[valid-type]
    except msgspec.ValidationError as error:
        raise DapError(f"the adapter sent {key} of an unknown form: {error}") from None


def value_text(value: Any, most: int = MAX_VALUE_CHARS) -> str:
    return shortened(clean_line(str(value)), most)
