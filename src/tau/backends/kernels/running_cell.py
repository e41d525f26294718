"""The cell running in a kernel: its result, its clock, and its host calls, which are validated here."""

import asyncio
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from tau.backends.kernels.cells import CellEnd, CellHost, Listen
from tau.backends.kernels.channel import HostCall
from tau.base import log
from tau.base.errors import TauError, ToolError

# Kernels waiting for the current work: a cell that needs one of them would deadlock.
WAITING: ContextVar[tuple[object, ...]] = ContextVar("WAITING", default=())


class ToolRequest(Struct, frozen=True):
    name: str
    arguments: dict[str, Any] = {}


class CompletionRequest(Struct, frozen=True):
    prompt: str
    model: str = "default"
    system: str | None = None
    schema: dict[str, Any] | None = None


class AgentRequest(Struct, frozen=True, rename="camel"):
    prompt: str
    agent_type: str = "task"
    model: str | None = None
    label: str | None = None
    schema: dict[str, Any] | None = None


class OutputRequest(Struct, frozen=True):
    id: str


async def answer_call(host: CellHost, op: str, arguments: dict[str, object]) -> object:
    """Raises ToolError for an invalid call, and whatever the host raises."""
    try:
        match op:
            case "tool":
                call = msgspec.convert(arguments, ToolRequest)
                return await host.tool(call.name, call.arguments)
            case "completion":
                request = msgspec.convert(arguments, CompletionRequest)
                return await host.completion(request.prompt, request.model, request.system, request.schema)
            case "agent":
                task = msgspec.convert(arguments, AgentRequest)
                return await host.agent(task.prompt, msgspec.to_builtins(task))
            case "output":
                return await host.output(msgspec.convert(arguments, OutputRequest).id)
            case "concurrency":
                return await host.concurrency()
    except msgspec.ValidationError as error:
        raise ToolError(f"Wrong arguments for {op}: {error}.") from error
    raise ToolError(f'A cell called "{op}", which does not exist.')


class Reply(Protocol):
    def __call__(self, call: HostCall, **fields: object) -> None: ...


class RunningCell:
    """`begun` is set once an interrupt would reach it, `over` once `end` says how it ended."""

    def __init__(self, id: int, listen: Listen, host: CellHost) -> None:
        self.id = id
        self.listen = listen
        self.host = host
        self.begun = asyncio.Event()
        self.over = asyncio.Event()
        self.end = CellEnd(status="died", lost=True)
        self.stopping = False
        self.tasks: set[asyncio.Task[None]] = set()
        self.clock: asyncio.Timeout | None = None
        self._left_s = 0.0
        self._calls = 0

    def finish(self, end: CellEnd) -> None:
        if not self.over.is_set():
            self.end = end
            self.begun.set()
            self.over.set()

    def begin(self, task: asyncio.Task[None]) -> None:
        """Track a task that answers a call of this cell; it ends with the cell."""
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def answer(self, call: HostCall, reply: Reply, kernel: object) -> None:
        WAITING.set((*WAITING.get(), kernel))
        self.begin_call()
        try:
            value = await answer_call(self.host, call.op, call.args)
            reply(call, ok=True, value=value)
        except asyncio.CancelledError:
            reply(call, ok=False, error="The cell has ended.")  # a leftover thread may be waiting
            raise
        except TauError as error:
            reply(call, ok=False, error=str(error))
        except Exception as error:
            log.error(f"A cell's call to {call.op} failed.", error)
            reply(call, ok=False, error=f"{type(error).__name__}: {error}")
        finally:
            self.end_call()

    def begin_call(self) -> None:
        """Stop the clock: time spent waiting for the host does not count."""
        self._calls += 1
        if self._calls == 1 and self.clock is not None and (when := self.clock.when()) is not None:
            self._left_s = when - asyncio.get_running_loop().time()
            self._set_clock(None)

    def end_call(self) -> None:
        self._calls -= 1
        if self._calls == 0:
            self._set_clock(asyncio.get_running_loop().time() + max(self._left_s, 0))

    def _set_clock(self, when: float | None) -> None:
        if self.clock is not None:
            with suppress(RuntimeError):  # the timeout just fired
                self.clock.reschedule(when)
