"""What handlers, commands and tools get as `ctx`: the session, its state and what they may do to it."""

import inspect
import threading
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import cached_property, partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tau.agent.events import CompactionResult
from tau.agent.output import ToolOutput
from tau.ai.model import Model
from tau.ai.wire import AppMessage
from tau.base.errors import TauError
from tau.coding.extensions import SessionChange
from tau.coding.ports import CodingContext
from tau.coding.session.entries import CustomEntry, KnownEntry
from tau.ext.extensions.calls import current_run

if TYPE_CHECKING:
    from tau.coding.session.compaction.compactor import ContextUsage
    from tau.coding.session.session import Session
    from tau.ext.extensions.extension import Extension
    from tau.ext.extensions.host import ExtensionHost
    from tau.ext.extensions.ui import ExtensionUi

F = TypeVar("F", bound=Callable[..., Any])


class StaleContext(TauError):
    """The session of this context is over, or its extension was reloaded."""


class HostClient:
    """What an extension holds of its host."""

    def __init__(self, host: "ExtensionHost", extension: "Extension") -> None:
        self._host = host
        self._extension = extension

    @property
    def _session(self) -> "Session":
        return self._host.require_session()


def as_tau(method: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Call it as tau's own code: what it prints is not the extension's."""
    token = current_run.set(None)
    try:
        return method(*args, **named)
    finally:
        current_run.reset(token)


def on_loop(method: F) -> F:
    """Check that the context is current, and run the method on the loop, whatever thread calls it.

    With isolation, the loop is that of tau's own process.
    """
    is_coroutine = inspect.iscoroutinefunction(method)

    @wraps(method)
    def call(self: HostClient, *args: Any, **named: Any) -> Any:
        host = self._host
        host.check(self._extension)
        if host.remote is not None:
            return host.remote(self, method.__name__, args, named, is_coroutine)
        if threading.get_ident() == host.thread:
            return method(self, *args, **named) if is_coroutine else as_tau(method, self, *args, **named)
        if is_coroutine:
            raise TauError(f"{method.__name__} has to be awaited: define the function with `async def`.")
        return host.call_from_thread(partial(as_tau, method, self, *args, **named))

    call.runs_on_loop = True  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


class SessionReader(HostClient):
    """The conversation, to read."""

    @property
    @on_loop
    def id(self) -> str:
        return self._session.log.header.id

    @property
    @on_loop
    def path(self) -> Path | None:
        """The session's file; None if it is not saved."""
        return self._session.log.path

    @property
    @on_loop
    def name(self) -> str | None:
        return self._session.log.name

    @property
    @on_loop
    def leaf(self) -> str | None:
        """The entry that the conversation continues from."""
        return self._session.log.leaf

    @on_loop
    def messages(self) -> list[AppMessage]:
        """What the model sees, without the system prompt."""
        return self._session.log.messages()

    @on_loop
    def entries(self) -> list[KnownEntry]:
        """The entries of the current branch, in order."""
        log = self._session.log
        return [entry for node in log.branch() if (entry := log.decode(node)) is not None]

    @on_loop
    def data(self, kind: str) -> list[Any]:
        """What `tau.append_entry(kind, data)` stored on the current branch, in order."""
        return [
            entry.data
            for entry in self.entries()
            if isinstance(entry, CustomEntry) and entry.custom_type == kind
        ]


class ExtensionContext(HostClient):
    """Of an event. It is current until its session ends; later use raises StaleContext."""

    @property
    @on_loop
    def cwd(self) -> Path:
        return self._session.cwd

    @property
    @on_loop
    def mode(self) -> str:
        """interactive, print, json, console, rpc, acp or serve."""
        return self._host.mode

    @property
    @on_loop
    def has_ui(self) -> bool:
        """Whether somebody can answer dialogs."""
        return self._host.dialog_ui is not None

    @cached_property
    def ui(self) -> "ExtensionUi":
        return self._host.make_ui(self._extension)

    @cached_property
    def session(self) -> SessionReader:
        return SessionReader(self._host, self._extension)

    @property
    @on_loop
    def model(self) -> Model:
        return self._session.model

    @property
    @on_loop
    def is_idle(self) -> bool:
        return not self._session.activities.running

    @on_loop
    def usage(self) -> "ContextUsage":
        """How much of the context window is used."""
        return self._session.compaction.usage()

    @on_loop
    def abort(self) -> None:
        """Stop what the agent is doing, as Escape does."""
        self._session.abort()

    @on_loop
    async def compact(self, focus: str = "") -> CompactionResult:
        """Summarize older messages. Raises TauError."""
        return await self._session.compact(focus)

    @on_loop
    def shutdown(self) -> None:
        """Quit tau."""
        self._host.require_face().shutdown()


class ExtensionCommandContext(ExtensionContext):
    """Of a command, which may wait for the agent and change the session.

    `stoppable` is closed when it does: the end of its session is not the end of the command.
    """

    def __init__(self, host: "ExtensionHost", extension: "Extension", stoppable: AsyncExitStack) -> None:
        super().__init__(host, extension)
        self._stoppable = stoppable

    @on_loop
    async def wait_for_idle(self) -> None:
        await self._host.idle()

    @on_loop
    async def new_session(self, draft: str = "") -> bool:
        """Open an empty session, with `draft` in the editor; False if an extension refused. This one ends."""
        return await self._change(SessionChange(kind="new", draft=draft))

    @on_loop
    async def resume(self, path: str | Path) -> bool:
        return await self._change(SessionChange(kind="resume", target=str(path)))

    @on_loop
    async def fork(self, entry: str = "") -> bool:
        """Continue in a copy of this session, up to `entry` if given; False if an extension refused."""
        return await self._change(SessionChange(kind="fork", target=entry))

    branch = fork

    @on_loop
    async def navigate_tree(self, entry: str, *, summarize: bool = False) -> bool:
        """Continue from another entry of this session; False if an extension refused."""
        return not (await self._session.goto(entry, summarize=summarize)).cancelled

    @on_loop
    async def reload(self) -> list[str]:
        """Load all extensions again, as `/reload` does. This context ends."""
        return await self._host.reload()

    async def _change(self, change: SessionChange) -> bool:
        await self._stoppable.aclose()
        return await self._host.require_face().change_session(change)


class ToolRunContext(ExtensionContext):
    """Of a tool call. `ports` are its file system, runner and so on, bound to what was approved."""

    def __init__(self, host: "ExtensionHost", extension: "Extension", ports: CodingContext) -> None:
        super().__init__(host, extension)
        self.ports = ports

    @property
    def call_id(self) -> str:
        return self.ports.call_id

    @on_loop
    def update(self, text: str) -> None:
        """Show progress."""
        self.ports.update(ToolOutput.text(text))

    @on_loop
    async def call(self, tool: str, **arguments: Any) -> ToolOutput:
        """Run another tool, with the same checks as a call of the model."""
        return await self.ports.call(tool, arguments)
