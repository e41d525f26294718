"""The cell that runs in a kernel now: its end, its clock, and the calls that it waits for."""

import asyncio
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, Protocol

from tau.backends.kernels.cells import CellEnd, CellHost, Listen
from tau.backends.kernels.channel import HostCall
from tau.backends.kernels.host_calls import answer
from tau.base import log
from tau.base.errors import TauError

# The kernels that wait for what is done now: a cell that asks for one of them would wait for itself.
WAITING: ContextVar[tuple[object, ...]] = ContextVar("WAITING", default=())


class Reply(Protocol):
    def __call__(self, call: HostCall, **fields: Any) -> None: ...


class RunningCell:
    """`over` is set when `end` says how it ended."""

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
        """The task answers a call of this cell; it ends with the cell."""
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def answer(self, call: HostCall, reply: Reply, kernel: object) -> None:
        WAITING.set((*WAITING.get(), kernel))
        self.begin_call()
        try:
            value = await answer(self.host, call.op, call.args)
            reply(call, ok=True, value=value)
        except asyncio.CancelledError:
            reply(call, ok=False, error="The cell has ended.")  # a thread that it left may wait
            raise
        except TauError as error:
            reply(call, ok=False, error=str(error))
        except Exception as error:
            log.error(f"A cell's call of {call.op} failed.", error)
            reply(call, ok=False, error=f"{type(error).__name__}: {error}")
        finally:
            self.end_call()

    def begin_call(self) -> None:
        """Waiting for the host is not the cell's time: the clock stands."""
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
            with suppress(RuntimeError):  # the time is up just now
                self.clock.reschedule(when)
