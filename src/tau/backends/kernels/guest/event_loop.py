"""The event loop of a Python kernel: cells that await run in it, and it goes on while no cell runs."""

import asyncio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any


class GuestEventLoop:
    """One loop for the kernel's whole life, always on the main thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._cell: Any = None
        self._asked = False  # the running cell was asked to end

    def run(self, parts: "list[CodeType]", names: "dict[str, Any]") -> "Any":
        """The parts of a cell in order; the value of the last one."""
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

    def wait_for(self, cells: "Any") -> "Any":
        """The next cell; until it is there, tasks that earlier cells began go on."""
        while cells.empty():
            self._loop.run_forever()
        return cells.get()

    def wake(self) -> None:
        """Called from another thread: a cell is waiting."""
        self._loop.call_soon_threadsafe(self._stop_waiting)

    def interrupt(self) -> bool:
        """End a cell that awaits something. False if its code is at work instead, or was asked before."""
        task = self._cell
        if task is None or task.done() or self._asked or self.is_busy():
            return False
        self._asked = True
        task.cancel()
        self._loop.call_soon_threadsafe(_nothing)  # the loop may be asleep
        return True

    def is_busy(self) -> bool:
        """Whether a step of a task is at work this moment."""
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
