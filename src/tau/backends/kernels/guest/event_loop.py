"""The event loop of a Python kernel: it runs cells that use `await` and keeps running between cells."""

import asyncio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _queue import SimpleQueue
    from types import CodeType
    from typing import Any


class GuestEventLoop:
    """One loop for the lifetime of the kernel, always on the main thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._cell: asyncio.Task[Any] | None = None
        self._asked = False  # the running cell has been interrupted

    def run(self, parts: "list[CodeType]", names: "dict[str, Any]") -> "Any":
        """Run the parts of a cell in order; returns the value of the last one."""
        self._asked = False
        self._cell = task = asyncio.Task(_evaluated(parts, names), loop=self._loop)
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

    def wait_for(self, cells: "SimpleQueue[dict[str, Any] | None]") -> "dict[str, Any] | None":
        """Return the next cell; background tasks of earlier cells run meanwhile."""
        while cells.empty():
            self._loop.run_forever()
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
        self._loop.call_soon_threadsafe(_nothing)  # the loop may be asleep
        return True

    def is_busy(self) -> bool:
        """Whether a task step is running right now."""
        return self._loop.is_running() and asyncio.current_task(self._loop) is not None

    def _stop_waiting(self) -> None:
        if self._cell is None:
            self._loop.stop()


async def _evaluated(parts: "list[CodeType]", names: "dict[str, Any]") -> "Any":
    value = None
    for part in parts:
        value = eval(part, names)
        if part.co_flags & 0x80:
            value = await value
    return value


def _nothing() -> None:
    pass
