"""One tab: its worker process, its proxy, and what its code made."""

import asyncio
import os
import re
import secrets
import socket
import time
from base64 import b64decode
from binascii import Error as Base64Error
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from tau.backends.browser.connections import OWN_SERVICES, PageConnections
from tau.backends.browser.guest.limits import MAX_FILE_BYTES
from tau.backends.kernels import cells
from tau.backends.kernels.cells import CellEnd, KernelError, NoHost
from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.run import QUIET, Runner
from tau.base.tasks import shielded, spawn

kernels = late("tau.backends.kernels.kernel")
proxy = late("tau.backends.sandbox.network.proxy")
decision_log = late("tau.backends.sandbox.network.decision_log")
interpreters = late("tau.backends.kernels.interpreters")
shutil = late("shutil")
sys = late("sys")

GRACE_S = 0.75
CLOSE_S = 3.0
REMOVALS = 20
MAX_EVENTS = 2_000
DialogPolicy: TypeAlias = Literal["accept", "dismiss"]
_SETUP = "from tau.backends.browser.guest import session as _tau_session\n_tau_kernel = tool._kernel\n"


class PageSize(Struct, frozen=True):
    width: int
    height: int
    scale: float | None = None


DEFAULT_VIEWPORT = PageSize(1365, 768, 1.25)


class BrowserKind(Struct, frozen=True):
    """Which browser a tab is in: `target` is the program of an app, or the address of a running browser."""

    kind: Literal["headless", "visible", "spawned", "connected"]
    target: str = ""

    def __str__(self) -> str:
        match self.kind:
            case "spawned":
                return f"program {self.target}"
            case "connected":
                return f"browser at {self.target}"
        return f"{self.kind} browser"


class TabOrder(Struct, frozen=True, kw_only=True):
    """What an `open` call asks for."""

    name: str
    kind: BrowserKind
    url: str = ""
    viewport: PageSize | None = None
    wait_until: str | None = None
    dialogs: DialogPolicy | None = None
    target: str | None = None
    persist: bool = False
    timeout_s: float = 30.0


class PageState(Struct, frozen=True):
    url: str = ""
    title: str = ""
    viewport: dict[str, float] = {}
    notes: list[str] = []


class Screenshot(Struct, frozen=True, kw_only=True):
    """`dest` is empty if the code did not save it."""

    dest: str
    data: bytes
    width: int = 0
    height: int = 0
    silent: bool = False


class SavedFile(Struct, frozen=True):
    """A download or PDF of the page."""

    name: str
    data: bytes


RunEvent: TypeAlias = cells.CellEvent | Screenshot | SavedFile


class RunResult(Struct, frozen=True):
    """`blocked` says where the page could not connect, and why."""

    events: list[RunEvent]
    end: CellEnd
    blocked: list[str]


class _Messages(Struct):
    """Sorts what a worker sends during one call."""

    token: str
    events: list[RunEvent] = field(default_factory=list)
    state: PageState | None = None
    url: str = ""
    _pieces: bytearray = field(default_factory=bytearray)

    def take(self, event: cells.CellEvent) -> None:
        value = event.value if isinstance(event, cells.JsonOutput) else None
        if isinstance(value, dict) and value.get("tau") == self.token:
            with suppress(KeyError, TypeError, ValueError, Base64Error):  # code can forge a message
                self._read(value)
        elif len(self.events) < MAX_EVENTS:
            self.events.append(event)

    def _read(self, value: dict[str, Any]) -> None:
        match value["op"]:
            case "ready":
                self.state = PageState(
                    str(value["url"]), str(value["title"]), dict(value["viewport"]), list(value["notes"])
                )
            case "at":
                self.url = str(value["url"])
            case "screenshot":
                self.events.append(
                    Screenshot(
                        dest=str(value["dest"]),
                        data=b64decode(value["data"]),
                        width=int(value.get("width", 0)),
                        height=int(value.get("height", 0)),
                        silent=bool(value["silent"]),
                    )
                )
            case "file":
                if len(self._pieces) <= MAX_FILE_BYTES:
                    self._pieces += b64decode(value["data"])
                if value["last"]:
                    self.events.append(SavedFile(str(value["name"]), bytes(self._pieces)))
                    self._pieces.clear()


class BrowserTab:
    """Runs one call at a time. Close it after use; `is_alive` until its worker is gone."""

    def __init__(self, order: TabOrder, connections: PageConnections, group: asyncio.TaskGroup) -> None:
        self.name = order.name
        self.kind = order.kind
        self.dialogs = order.dialogs
        self.persist = order.persist
        self.connections = connections
        self.state = PageState()
        self.used = time.monotonic()
        self.is_running = False
        self.forward: asyncio.Task[None] | None = None  # to a browser that tau did not start
        self._group = group
        self._kernel: kernels.Kernel | None = None
        self._token = secrets.token_hex(8)
        self._decisions = decision_log.DecisionLog()
        self._serving: asyncio.Task[None] | None = None
        self._listener: socket.socket | None = None
        self._folder: Path | None = None
        self._runner: Runner | None = None

    def is_alive(self) -> bool:
        return self._kernel is not None and bool(self._kernel.alive)

    def fits(self, order: TabOrder) -> bool:
        """Whether the call can use it as it is: dialogs and the pixel ratio are set when a page is made."""
        scale = None if order.viewport is None else order.viewport.scale
        is_scaled = self.kind.kind in ("spawned", "connected") or scale in (
            None,
            self.state.viewport.get("scale"),
        )
        return is_scaled and self.dialogs == order.dialogs and self.persist == order.persist

    async def start(
        self, order: TabOrder, launch: dict[str, object], listener: socket.socket, runner: Runner, cwd: Path
    ) -> PageState:
        """Start the worker and its browser. Raises ToolError."""
        self._listener = listener
        serving = proxy.serve_pages(listener, self.connections, self._decisions)
        self._serving = spawn(self._group, serving, name=f"browser-{self.name}")
        self._runner = runner
        # A short name: Chromium's sockets are below.
        self._folder = runner.temporary_folder() / f"tab-{os.urandom(4).hex()}"
        runner.remove_at_exit(self._folder)  # first: we may be killed at any moment
        self._folder.mkdir(mode=0o700)
        argv = [sys.executable, "-P", str(interpreters.FOLDER / "guest" / "main.py")]
        env = {**QUIET, "TMPDIR": str(self._folder)}
        kernel = kernels.Kernel(kernels.KernelLaunch(language="python", argv=argv, env=env))
        try:
            await kernel.start(runner, cwd, self._group)
        except KernelError as error:
            raise ToolError(f"The tab's process did not start: {error}") from error
        self._kernel = kernel
        details = {**_details(order), **launch, "token": self._token, "cwd": str(cwd)}
        return await self._open(
            f"{_SETUP}_tau_tab = await _tau_session.start(_tau_kernel, {details!r})", order
        )

    async def reuse(self, order: TabOrder) -> PageState:
        """Navigate and resize. Raises ToolError."""
        details = {**_details(order), "cdp_url": ""}
        return await self._open(f"await _tau_session.guarded(_tau_kernel, _tau_tab.go({details!r}))", order)

    async def _open(self, code: str, order: TabOrder) -> PageState:
        messages, end, blocked = await self._call(code, order.timeout_s)
        if messages.state is None or end.status != "ok":
            raise ToolError("\n".join([_problem(messages, end, order), *blocked]))
        state = messages.state
        if any(_names(order.url, note) for note in blocked):  # the page is the proxy's answer
            raise ToolError(blocked[0])
        self.state = PageState(state.url, state.title, state.viewport, [*state.notes, *blocked])
        return self.state

    async def run(self, code: str, timeout_s: float) -> RunResult:
        """Run code on the page. Raises ToolError if the tab is busy."""
        call = f"await _tau_tab.run({code!r}, {round(timeout_s * 1000)})"
        messages, end, blocked = await self._call(call, timeout_s)
        if messages.url:
            self.state = PageState(messages.url, "", self.state.viewport)
        return RunResult(messages.events, end, blocked)

    async def _call(self, code: str, timeout_s: float) -> tuple[_Messages, CellEnd, list[str]]:
        if self.is_running:
            raise ToolError(f'Tab "{self.name}" is busy.')
        self.is_running = True
        mark = self._decisions.count
        messages = _Messages(self._token)
        try:
            assert self._kernel is not None
            if self._kernel.stopping is not None:
                await asyncio.wait({self._kernel.stopping})
            end = await self._kernel.run(code, timeout_s, messages.take, NoHost())
        finally:
            self.is_running = False
            self.used = time.monotonic()
        return messages, end, self._blocked(mark)

    def _blocked(self, mark: int) -> list[str]:
        found = {
            f"The page could not connect to {one.host}:{one.port}: {one.reason}."
            for one in self._decisions.since(mark)
            if one.verdict == "blocked" and one.host and one.host not in OWN_SERVICES
        }
        more = [f"{len(found) - 5} more connections were blocked."] if len(found) > 5 else []
        return [*sorted(found)[:5], *more]

    async def close(self) -> None:
        """End the worker, its browser and its proxy, and remove what they left."""
        await shielded(self._close())

    async def _close(self) -> None:
        kernel = self._kernel
        if kernel is not None and kernel.alive and not self.is_running:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_S):
                    await kernel.run("await _tau_tab.close()", CLOSE_S, lambda event: None, NoHost())
        if kernel is not None:
            await kernel.kill()
        for task in (self._serving, self.forward):
            if task is not None:
                task.cancel()
                await asyncio.wait((task,))
        if self._listener is not None:
            self._listener.close()
        folder, self._folder = self._folder, None
        if folder is not None and self._runner is not None:
            for _ in range(REMOVALS):  # a browser that is ending still writes
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
                if not folder.exists():
                    self._runner.forget_folder(folder)
                    break
                await asyncio.sleep(CLOSE_S / REMOVALS)


def _names(url: str, note: str) -> bool:
    """Whether a note about a blocked connection is about this address."""
    place = re.match(r"(https?)://(?:[^/?#]*@)?([^/?#]+)", url, re.IGNORECASE)
    if place is None:
        return False
    port = "443" if place[1].lower() == "https" else "80"
    authority = place[2] if re.search(r":\d+$", place[2]) else f"{place[2]}:{port}"
    return f" {authority.lower()}: " in note.replace("[", "").replace("]", "")


def _details(order: TabOrder) -> dict[str, Any]:
    viewport = order.viewport
    return {
        "name": order.name,
        "url": order.url,
        "viewport": None
        if viewport is None
        else {name: getattr(viewport, name) for name in viewport.__struct_fields__},
        "wait_until": order.wait_until,
        "dialogs": order.dialogs,
        "target": order.target,
        "persist": order.persist,
        "timeout_ms": round(order.timeout_s * 1000),
    }


def _problem(messages: _Messages, end: CellEnd, order: TabOrder) -> str:
    if end.timed_out:
        return f'Tab "{order.name}" was not ready after {order.timeout_s:g} s.'
    text = b"".join(event.data for event in messages.events if isinstance(event, cells.TextOutput))
    said = text.decode("utf-8", "replace").strip()
    return said or f'The process of tab "{order.name}" ended: {end.reason or end.status}.'
