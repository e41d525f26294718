"""The cell running in a kernel: its result, its clock, and its pending host calls."""

import asyncio
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, Protocol

from tau.backends.kernels.cells import CellEnd, CellHost, Listen
from tau.backends.kernels.channel import HostCall
from tau.backends.kernels.host_calls import answer_call
from tau.base import log
from tau.base.errors import TauError

# Kernels waiting for the current work: a cell that needs one of them would deadlock.
WAITING: ContextVar[tuple[object, ...]] = ContextVar("WAITING", default=())


class Reply(Protocol):
    def __call__(self, call: HostCall, **fields: Any) -> None: ...


class RunningCell:
    """`over` is set once `end` says how it ended."""

    def __init__(self, id: int, listen: Listen, host: CellHost) -> None:
        self.id = id
        self.listen = listen
        self.host = host
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
