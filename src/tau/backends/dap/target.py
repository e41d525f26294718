"""One connection to a debug adapter and the program behind it: its handshake, its threads, its stop."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Protocol

from msgspec import json

from tau.backends.dap.config import AdapterSpec
from tau.backends.dap.connection import REQUEST_S, DapConnection, DapError
from tau.backends.dap.protocol import DebugThread, rows_of
from tau.base.framing import FramedProcess
from tau.base.tasks import spawn

StartKind = Literal["launch", "attach"]
CLIENT: dict[str, Any] = json.decode(Path(__file__).with_name("client.json").read_bytes())
"""What tau tells every adapter that it can do."""
DISCONNECT_S = 2.0


class TargetOwner(Protocol):
    """The session, which hears of everything that its targets do."""

    def on_event(self, target: "DebugTarget", event: str, body: dict[str, Any]) -> None: ...
    async def on_request(self, command: str, arguments: dict[str, Any]) -> dict[str, Any]: ...
    def on_end(self, target: "DebugTarget") -> None: ...


class DebugTarget:
    def __init__(
        self, spec: AdapterSpec, link: FramedProcess, group: asyncio.TaskGroup, owner: TargetOwner
    ) -> None:
        self.spec = spec
        self.connection = DapConnection(
            link,
            group,
            lambda event, body: self._on_event(owner, event, body),
            owner.on_request,
            lambda: self._on_end(owner),
        )
        self._reading = spawn(group, self.connection.read(), name=f"dap {spec.name}")
        self._initialized: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._configuring = asyncio.Lock()
        self._configure: Callable[[], Awaitable[None]] | None = None
        self.capabilities: dict[str, Any] = {}
        self.is_configured = False
        self.has_program = False  # or is only the parent of others
        self.is_over = False
        self.kind: StartKind = "launch"
        self.stop: dict[str, Any] | None = None
        self.thread_ids: list[int] = []

    def supports(self, capability: str) -> bool:
        return self.capabilities.get(capability) is True

    @property
    def is_live(self) -> bool:
        return self.connection.is_alive and not self.is_over

    async def start(
        self,
        kind: StartKind,
        arguments: dict[str, Any],
        configure: Callable[["DebugTarget"], Awaitable[None]],
        timeout_s: float,
    ) -> None:
        """The handshake; `configure` sets breakpoints. Raises DapError.

        Adapters differ in when they announce that they are initialized, and whether they answer `launch`
        before or after `configurationDone`. One that announces nothing is configured by the next request.
        """
        self.kind = kind
        name = self.spec.adapter_id or self.spec.name
        self.capabilities = await self.connection.request(
            "initialize", {**CLIENT, "adapterID": name}, timeout_s
        )
        self._configure = lambda: configure(self)
        starting = await self.connection.begin(kind, arguments)
        try:
            async with asyncio.timeout(timeout_s):
                waited: set[asyncio.Future[Any]] = {self._initialized, starting.response}
                while not self._initialized.done():
                    await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
                    if starting.response.done():
                        starting.response.result()  # raises what the adapter refused
                        waited.discard(starting.response)
                        if not self.connection.is_alive:
                            raise DapError(self.connection.why_gone)
        except TimeoutError:
            if not starting.response.done():
                self.connection.forget(starting)
                raise DapError(f"DAP request {kind} timed out after {timeout_s * 1000:.0f}ms") from None
            return  # configured later
        await self.configure()
        await self.connection.finish(starting, timeout_s)

    async def configure(self) -> None:
        """Set what was set before, and let the program begin; once. Raises DapError."""
        async with self._configuring:
            if self.is_configured or self._configure is None:
                return
            await self._configure()
            self.is_configured = True
            if self.supports("supportsConfigurationDoneRequest"):
                await self.connection.request("configurationDone", {}, REQUEST_S)

    async def request(self, command: str, arguments: Any, timeout_s: float) -> dict[str, Any]:
        """Raises DapError."""
        await self.configure()
        return await self.connection.request(command, arguments, timeout_s)

    async def threads(self, timeout_s: float) -> list[DebugThread]:
        """Raises DapError."""
        rows = rows_of(await self.request("threads", None, timeout_s), "threads", DebugThread)
        self.thread_ids = [row.id for row in rows]
        return rows

    async def end(self, *, kill: bool) -> None:
        """Have it end its program, or let go of it; then end the adapter's connection."""
        if self.connection.is_alive:
            with suppress(DapError, TimeoutError):
                async with asyncio.timeout(DISCONNECT_S):
                    if kill and self.is_live and self.supports("supportsTerminateRequest"):
                        await self.connection.request("terminate", {}, DISCONNECT_S / 2)
            with suppress(DapError, TimeoutError):
                async with asyncio.timeout(DISCONNECT_S):
                    how = {"terminateDebuggee": kill} if self.supports("supportTerminateDebuggee") else {}
                    await self.connection.request("disconnect", how, DISCONNECT_S)
        await self.connection.close()

    def _on_event(self, owner: TargetOwner, event: str, body: dict[str, Any]) -> None:
        match event:
            case "initialized":
                if not self._initialized.done():
                    self._initialized.set_result(None)
            case "capabilities":
                more = body.get("capabilities")
                self.capabilities |= more if isinstance(more, dict) else {}
            case "stopped":
                self.stop, self.has_program = body, True
            case "continued":
                self.stop = None
            case "thread":
                self._on_thread(body)
            case "process":
                self.has_program = True
            case "terminated":
                self.is_over, self.stop = True, None
        owner.on_event(self, event, body)

    def _on_thread(self, body: dict[str, Any]) -> None:
        id = body.get("threadId")
        self.has_program = True
        if not isinstance(id, int):
            return
        if body.get("reason") == "exited":
            self.thread_ids = [each for each in self.thread_ids if each != id]
        elif id not in self.thread_ids and len(self.thread_ids) < 10_000:
            self.thread_ids.append(id)

    def _on_end(self, owner: TargetOwner) -> None:
        self.is_over, self.stop = True, None
        owner.on_end(self)
