"""Runs extension code: with a time limit, away from the event loop unless it is async, and counted."""

import asyncio
import inspect
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from tau.base import log
from tau.base.errors import ExtensionError, TauError, ToolError
from tau.base.late import late

if TYPE_CHECKING:
    from tau.ext.extensions.extension import Extension
    from tau.ext.extensions.watchdog import Watchdog

ctypes = late("ctypes")

LIMIT_S = 30.0
SHUTDOWN_LIMIT_S = 2.0
MAX_FAILURES = 5
"""In a row; then an extension is switched off."""
MAX_IDLE_THREADS = 4


class ExtensionStopped(BaseException):
    """Raised into extension code that ran for too long."""


class RemoteError(TauError):
    """A failure in the process of an isolated extension, in the words of `describe` there."""


class ExtensionRun:
    """One call into an extension. An open dialog stops its clock."""

    __slots__ = ("deadline", "dialogs", "extension", "left_s")

    def __init__(self, extension: "Extension", deadline: "asyncio.Timeout | None" = None) -> None:
        self.extension = extension
        self.deadline = deadline
        self.dialogs = 0
        self.left_s = 0.0

    @contextmanager
    def dialog(self) -> Iterator[None]:
        deadline, time = self.deadline, asyncio.get_running_loop().time
        self.dialogs += 1
        if self.dialogs == 1 and deadline is not None and (when := deadline.when()) is not None:
            self.left_s = when - time()
            deadline.reschedule(None)
        try:
            yield
        finally:
            self.dialogs -= 1
            if self.dialogs == 0 and deadline is not None and not deadline.expired() and self.left_s > 0:
                with suppress(RuntimeError):  # the call has ended meanwhile
                    deadline.reschedule(time() + self.left_s)


current_run: ContextVar[ExtensionRun | None] = ContextVar("current_run", default=None)


def stop_thread(ident: int | None, error: type[BaseException] | None = ExtensionStopped) -> None:
    """Raise `error` in a thread as soon as it runs Python code; None takes that back."""
    if ident is not None:
        raised = None if error is None else ctypes.py_object(error)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), raised)


_ThreadResult: TypeAlias = tuple[bool, Any]


class _Worker(threading.Thread):
    def __init__(self, idle: "deque[_Worker]") -> None:
        super().__init__(name="tau-extension", daemon=True)
        self.jobs: SimpleQueue[tuple[Callable[[], Any], Callable[[_ThreadResult], None]] | None] = (
            SimpleQueue()
        )
        self._idle = idle
        self.current: object = None  # the call that runs now

    def run(self) -> None:
        is_needed = True
        while is_needed:
            with suppress(ExtensionStopped):  # meant for a call that had just ended
                is_needed = self._run_next()

    def _run_next(self) -> bool:
        """Wait for a call and run it; False if the thread is not needed anymore."""
        if (job := self.jobs.get()) is None:
            return False
        call, done = job
        self.current = call
        try:
            result = True, call()
        except BaseException as error:
            result = False, error
        self.current = None
        reuse = len(self._idle) < MAX_IDLE_THREADS
        if reuse:
            self._idle.append(self)
        with suppress(RuntimeError):  # the loop is closed
            done(result)
        return reuse


class DaemonThreads:
    """Threads that do not keep the process alive, whatever runs in them."""

    def __init__(self) -> None:
        self._idle: deque[_Worker] = deque()
        self.running = 0

    async def run(self, call: Callable[[], Any]) -> Any:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[_ThreadResult] = loop.create_future()
        try:
            worker = self._idle.pop()
        except IndexError:
            worker = _Worker(self._idle)
            worker.start()
        context = copy_context()

        def done(result: _ThreadResult) -> None:
            loop.call_soon_threadsafe(lambda: None if answer.done() else answer.set_result(result))

        job = partial(context.run, call)
        worker.jobs.put((job, done))
        self.running += 1
        try:
            is_ok, value = await answer
        except asyncio.CancelledError:
            if worker.current is job:
                stop_thread(worker.ident)
            raise
        finally:
            self.running -= 1
        if is_ok:
            return value
        raise value

    def close(self) -> None:
        with suppress(IndexError):
            while True:
                self._idle.pop().jobs.put(None)


class Fault(Struct, frozen=True):
    """A failure of an extension: what it was called for, and what went wrong."""

    source: str
    event: str
    error: str


class ExtensionCalls:
    """Calls into the extensions of one session. `report` gets each fault once."""

    def __init__(self, report: Callable[["Extension", Fault], None], watchdog: "Watchdog") -> None:
        self.threads = DaemonThreads()
        self.watchdog = watchdog
        self._report = report
        self._reported: set[Fault] = set()

    async def call(
        self,
        extension: "Extension",
        event: str,
        function: Callable[..., Any],
        *args: Any,
        limit_s: float = LIMIT_S,
    ) -> Any:
        """Its result. Raises ExtensionError if it fails, which is reported and counted."""
        if extension.disabled:
            raise ExtensionError("switched off after it failed.", source=extension.name)
        try:
            result = await self.run(extension, function, args, limit_s)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            error: BaseException = RuntimeError("it raised CancelledError")
        except BaseException as failure:
            if isinstance(failure, ToolError) or (event.startswith("command:") and type(failure) is TauError):
                extension.failures = 0  # words for the model or the user, not a fault
                raise
            error = failure
        else:
            extension.failures = 0
            return result
        raise self.fail(extension, event, error) from error

    def fail(self, extension: "Extension", event: str, error: BaseException | str) -> ExtensionError:
        """Count and report a failure; returns what to raise."""
        text = error if isinstance(error, str) else describe(error)
        fault = Fault(extension.name, event, text)
        extension.failures += 1
        extension.log.error(f"{event}: {text}", None if isinstance(error, str) else error)
        if fault not in self._reported:
            self._reported.add(fault)
            if not isinstance(error, str):
                log.error(f"The extension {extension.name} failed on {event}.", error)
            if event != "load":  # which its caller reports
                self._report(extension, fault)
        if extension.failures >= MAX_FAILURES and not extension.disabled:
            extension.disabled = True
            why = f"switched off: it failed {MAX_FAILURES} times in a row. /reload switches it on."
            self._report(extension, Fault(extension.name, event, why))
        return ExtensionError(text, source=extension.name)

    async def run(
        self, extension: "Extension", function: Callable[..., Any], args: tuple[Any, ...], limit_s: float
    ) -> Any:
        """The same, without counting: raises what the function raises."""
        run = ExtensionRun(extension)
        token = current_run.set(run)
        extension.running += 1
        try:
            async with asyncio.timeout(limit_s) as deadline:
                run.deadline = deadline
                if not is_async(function):
                    result = await self.threads.run(lambda: function(*args))
                    if not inspect.isawaitable(result):
                        return result
                else:
                    result = function(*args)
                with self.watchdog.watching():
                    return await result
        except TimeoutError:
            if deadline.expired():
                raise TimeoutError(f"it took longer than {limit_s:g} s") from None
            raise
        finally:
            extension.running -= 1
            current_run.reset(token)

    def close(self) -> None:
        self.threads.close()


def is_async(function: Callable[..., Any]) -> bool:
    call = getattr(function, "func", function)  # of a partial
    return inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(vars(type(call)).get("__call__"))


def describe(error: BaseException) -> str:
    """One line: the error, and the last place in the extension's own code."""
    if isinstance(error, ExtensionError):
        return str(error).removeprefix(f"{error.source}: ")
    name = "" if type(error) in (TauError, RemoteError) else f"{type(error).__name__}: "
    text = f"{name}{error}".rstrip(": ") or type(error).__name__
    trace, place = error.__traceback__, ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if "tau_ext" in trace.tb_frame.f_globals.get("__name__", ""):
            place = f" ({file}:{trace.tb_lineno})"
        trace = trace.tb_next
    return f"{text}{place}"
