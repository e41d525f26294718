"""The event loop of a Python kernel: it runs cells and keeps running between cells."""

import asyncio
import os
import selectors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _queue import SimpleQueue
    from collections.abc import Callable
    from types import CodeType
    from typing import Any

    from tau.backends.kernels.guest.cell_loop import ChannelMessage


class GuestEventLoop:
    """One loop for the lifetime of the kernel, always on the main thread."""

    def __init__(self, exit_fork: "Callable[[], None]") -> None:
        """`exit_fork` ends the process if it is a forked one."""
        self._loop = asyncio.new_event_loop()
        self._exit_fork = exit_fork
        self._cell: asyncio.Task[Any] | None = None
        self._asked = False  # the running cell has been interrupted
        _allow_nested_run()
        os.register_at_fork(after_in_child=self._on_fork)

    def run(self, parts: "list[CodeType]", names: "dict[str, Any]") -> object:
        """Run the parts of a cell in order; returns the value of the last one."""
        self._asked = False
        self._cell = task = asyncio.Task(_evaluate_parts(parts, names), loop=self._loop)
        try:
            return self._loop.run_until_complete(task)
        except asyncio.CancelledError:
            if self._asked:
                raise KeyboardInterrupt from None
            raise
        finally:
            self._cell = None
            if not task.done():
                task.cancel()

    def wait_for(self, cells: "SimpleQueue[ChannelMessage | None]") -> "ChannelMessage | None":
        """Return the next cell; background tasks of earlier cells run meanwhile."""
        while cells.empty():
            self._loop.run_forever()
            self._exit_fork()
        return cells.get()

    def wake(self) -> None:
        """Signal from another thread that a cell is waiting."""
        self._loop.call_soon_threadsafe(self._stop_waiting)

    def interrupt(self) -> bool:
        """Interrupt a cell that is awaiting. False if its code is running, or it was already interrupted."""
        task = self._cell
        if task is None or task.done() or self._asked or self.is_busy():
            return False
        self._asked = True
        task.cancel()
        self._loop.call_soon_threadsafe(lambda: None)  # the loop may be asleep
        return True

    def is_busy(self) -> bool:
        """Whether a task step is running right now."""
        return self._loop.is_running() and asyncio.current_task(self._loop) is not None

    def _on_fork(self) -> None:
        # With the parent's selector, the child would take the parent's events.
        self._loop._selector = selectors.SelectSelector()  # type: ignore[attr-defined]  # noqa: SLF001
        if self._cell is None:  # forked by a background task: it ends with this step
            self._loop.call_soon(self._loop.stop)

    def _stop_waiting(self) -> None:
        if self._cell is None:
            self._loop.stop()


def _allow_nested_run() -> None:
    """Let `asyncio.run` work in a cell, although the cell has a running loop."""
    run = asyncio.run

    def run_nested(*args: "Any", **options: "Any") -> "Any":
        outer = asyncio._get_running_loop()  # noqa: SLF001 - documented for event loops
        asyncio._set_running_loop(None)  # noqa: SLF001
        try:
            return run(*args, **options)
        finally:
            asyncio._set_running_loop(outer)  # noqa: SLF001

    run_nested.__name__ = run_nested.__qualname__ = "run"
    run_nested.__doc__ = run.__doc__
    asyncio.run = run_nested


async def _evaluate_parts(parts: "list[CodeType]", names: "dict[str, Any]") -> object:
    value = None
    for part in parts:
        value = eval(part, names)
        if part.co_flags & 0x80:
            value = await value
    return value
