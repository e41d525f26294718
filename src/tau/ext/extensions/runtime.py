"""What runs the code of extensions on behalf of their host: threads, tasks, guarded callbacks, faults."""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tau.agent.events import AgentEvent, ExtensionFault, Notice
from tau.base.errors import ExtensionError, TauError
from tau.base.tasks import spawn
from tau.ext.extensions.calls import LIMIT_S, ExtensionCalls, ExtensionRun, Fault, current_run
from tau.ext.extensions.context import StaleContext
from tau.ext.extensions.event_hub import EventHub
from tau.ext.extensions.extension import Extension
from tau.ext.extensions.watchdog import Watchdog

if TYPE_CHECKING:
    from tau.coding.extensions import Face
    from tau.coding.session.session import Session

NOT_OPEN = "The session is not open yet; do this on the event session_start, or in a handler."
MAX_TASKS = 100
"""Per extension."""


class ExtensionRuntime:
    """`extensions` are those in use, in load order. `emit` reports faults once there is a session."""

    remote: Callable[[Any, str, tuple[Any, ...], dict[str, Any], bool], Any] | None = None
    """In the process of an isolated extension: calls a method of the context in tau's own."""

    def __init__(self, emit: Callable[[AgentEvent], None]) -> None:
        self.extensions: Sequence[Extension] = ()
        self.thread = threading.get_ident()
        self.loop = asyncio.get_running_loop()
        self.is_open = False  # whether somebody listens to events
        self.closed = False
        self.face: Face | None = None
        self.session: Session | None = None
        self.early: list[Notice] = []  # reported before the session was open
        self.group: asyncio.TaskGroup | None = None
        self._emit = emit
        self._spawned: set[asyncio.Task[None]] = set()
        self._hub: dict[str, list[Any]] = {}
        self._hubs: dict[Extension, EventHub] = {}
        self.watchdog = Watchdog(lambda: self.extensions, self._on_blocked)
        self.calls = ExtensionCalls(self._report, self.watchdog)

    def check(self, extension: Extension) -> None:
        """Raises StaleContext for an extension that is not in use anymore."""
        if self.closed or extension.closed:
            raise StaleContext(
                "This session is over or the extension was reloaded; use the context of the current event."
            )

    def require_session(self) -> "Session":
        if self.session is None:
            raise TauError(NOT_OPEN)
        return self.session

    def require_face(self) -> "Face":
        if self.face is None:
            raise TauError("The program that runs this session cannot do that.")
        return self.face

    def call_from_thread(self, call: Callable[[], object]) -> Any:
        """The result of `call` on the loop; waits for it."""
        answer: Future[object] = Future()

        def run() -> None:
            try:
                answer.set_result(call())
            except BaseException as error:
                answer.set_exception(error)

        self.loop.call_soon_threadsafe(run)
        return answer.result(LIMIT_S)

    def run_on_loop(self, call: Callable[[], object]) -> None:
        """Call it now, or soon if this is another thread."""
        if threading.get_ident() == self.thread:
            call()
        else:
            self.loop.call_soon_threadsafe(call)

    def guarded(
        self, extension: Extension, event: str, function: Callable[..., Any], default: object
    ) -> Callable[..., Any]:
        """The function, called on the loop: watched, contained, its failures counted."""

        def call(*args: object) -> object:
            if extension.disabled or extension.closed:
                return default
            token = current_run.set(ExtensionRun(extension))
            try:
                with self.watchdog.watching():
                    result = function(*args)
                extension.failures = 0
                return result
            except BaseException as error:
                self.calls.fail(extension, event, error)
                return default
            finally:
                current_run.reset(token)

        return call

    def spawn(self, work: Coroutine[object, object, None]) -> "asyncio.Task[None]":
        if self.group is None:
            work.close()
            raise TauError(NOT_OPEN)
        task = spawn(self.group, work)
        self._spawned.add(task)
        task.add_done_callback(self._spawned.discard)
        return task

    def start_task(self, extension: Extension, work: Coroutine[object, object, object]) -> None:
        if len(extension.tasks) >= MAX_TASKS:
            work.close()
            raise TauError(f"The extension {extension.name} already has {MAX_TASKS} background tasks.")

        async def run() -> None:
            current_run.set(ExtensionRun(extension))
            try:
                with self.watchdog.watching():
                    await work
            except asyncio.CancelledError:
                work.close()
            except BaseException as error:
                self.calls.fail(extension, "task", error)

        task = self.spawn(run())
        extension.tasks.add(task)
        task.add_done_callback(extension.tasks.discard)

    async def repeat(
        self, extension: Extension, seconds: float, function: Callable[[], Awaitable[None] | None]
    ) -> None:
        while not extension.disabled:
            await asyncio.sleep(seconds)
            with suppress(ExtensionError):
                await self.calls.call(extension, "every", function)

    def hub(self, extension: Extension) -> EventHub:
        """Its view of the events between extensions."""

        def call(event: str, function: Callable[[object], Any], data: Any) -> None:
            if inspect.iscoroutinefunction(function):
                self.start_task(extension, self.calls.call(extension, event, function, data))
            else:
                self.guarded(extension, event, function, None)(data)

        if extension not in self._hubs:
            self._hubs[extension] = EventHub(self._hub, lambda *args: self.run_on_loop(lambda: call(*args)))
        return self._hubs[extension]

    def forget(self, extension: Extension) -> None:
        if (hub := self._hubs.pop(extension, None)) is not None:
            hub.close()

    def end_tasks(self) -> None:
        for task in tuple(self._spawned):
            task.cancel()

    def say(self, extension: str, text: str, level: Any = "warning") -> None:
        notice = Notice(level, text, extension)
        if not self.is_open:
            self.early.append(notice)
        else:
            self._emit(notice)

    def _report(self, extension: Extension, fault: Fault) -> None:
        if self.session is not None:
            self._emit(ExtensionFault(str(extension.source.file), fault.event, fault.error))
        self.say(extension.name, f"Extension {extension.name}, {fault.event}: {fault.error}")

    def _on_blocked(self, extension: Extension, place: str, ended: bool) -> None:
        what = "was stopped after it blocked tau for 2 seconds" if ended else "blocked tau for a moment"
        self.say(extension.name, f"Extension {extension.name} {what}, at {place}. Its log has the stack.")
        extension.log.warning(f"The event loop was blocked at {place}.")
