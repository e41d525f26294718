"""The tabs of a session, by name: opened, reused, and closed when idle."""

import asyncio
import os
import re
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from tau.backends.browser import attach, chromium
from tau.backends.browser.apps import SpawnedApps
from tau.backends.browser.connections import HostAccess, PageConnections
from tau.backends.browser.tab import DEFAULT_VIEWPORT, BrowserTab, PageState, TabOrder
from tau.base.errors import ToolError
from tau.base.run import Runner
from tau.base.tasks import shielded, spawn

if TYPE_CHECKING:
    from tau.backends.sandbox.session import SessionSandbox

IDLE_S = 30 * 60.0
DOWNLOAD_S = 5.0


class OpenedTab(Struct, frozen=True):
    tab: BrowserTab
    state: PageState
    is_new: bool


class BrowserTabs:
    """One per session; its tasks belong to `group`. `sandbox` is the running one, if there is one."""

    def __init__(
        self,
        runner: Runner,
        group: asyncio.TaskGroup,
        sandbox: "Callable[[], SessionSandbox | None]",
        *,
        most: int,
        environ: Mapping[str, str] = os.environ,
        idle_s: float = IDLE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.screenshot_folder: str | None = None
        self.configured = ""  # the running browser that the user's settings name
        self._runner = runner
        self._group = group
        self._sandbox = sandbox
        self._most = most
        self._environ = environ
        self._idle_s = idle_s
        self._clock = clock
        self._tabs: dict[str, BrowserTab] = {}
        self._apps = SpawnedApps(runner, group)
        self._watch: asyncio.Task[None] | None = None
        self._opening = asyncio.Lock()

    def get(self, name: str) -> BrowserTab | None:
        return self._tabs.get(name)

    def __len__(self) -> int:
        return len(self._tabs)

    async def open(self, order: TabOrder, args: list[str], access: HostAccess, cwd: Path) -> OpenedTab:
        """Raises ToolError."""
        async with self._opening:
            return await self._open(order, args, access, cwd)

    async def _open(self, order: TabOrder, args: list[str], access: HostAccess, cwd: Path) -> OpenedTab:
        tab = self._tabs.get(order.name)
        if tab is not None and tab.is_alive():
            if tab.kind != order.kind:
                raise ToolError(
                    f'Tab "{order.name}" is bound to a different browser ({tab.kind}). Close it first.'
                )
            if tab.fits(order):
                self._approve(tab, order)
                return OpenedTab(tab, await tab.reuse(order), False)
            order = replace(order, url=order.url or tab.state.url)
        if tab is not None:
            await self.close(order.name)
        if len(self._tabs) >= self._most:
            raise ToolError(
                f"{len(self._tabs)} tabs are open, which is the limit (browser.maxTabs); close one first."
            )
        return await self._start(order, args, access, cwd)

    async def _start(self, order: TabOrder, args: list[str], access: HostAccess, cwd: Path) -> OpenedTab:
        launch = {"program": ""}
        if order.kind.kind in ("headless", "visible"):
            launch["program"] = chromium.require_chromium(self._environ)
        else:
            chromium.require_driver()
        await self._runner.prepare()
        sandbox = self._sandbox()
        owns_network = sandbox is not None and sandbox.owns_network
        inside = None if sandbox is None or not owns_network else _sockets_of(sandbox)
        tab = BrowserTab(order, PageConnections(access, inside, self._environ), self._group)
        self._approve(tab, order)
        self._tabs[order.name] = tab
        try:
            launch["cdp_url"] = await self._endpoint(tab, order, args, access, cwd)
            listener = await self._listen(sandbox if owns_network else None)
            details = {**launch, **self._details(order, listener.getsockname()[1])}
            state = await tab.start(order, details, listener, self._runner, cwd)
        except BaseException:
            await shielded(self.close(order.name))
            raise
        if self._watch is None or self._watch.done():
            self._watch = spawn(self._group, self._close_idle(), name="browser-tabs")
        return OpenedTab(tab, state, True)

    def _approve(self, tab: BrowserTab, order: TabOrder) -> None:
        """The call named this host, and was approved."""
        host = re.match(r"https?://(?:[^/?#]*@)?(\[[^\]]*\]|[^/?#:]+)", order.url, re.IGNORECASE)
        if host is not None:
            tab.connections.approved.add(host[1].strip("[]").lower())

    async def _listen(self, sandbox: "SessionSandbox | None") -> socket.socket:
        if sandbox is not None:
            return await sandbox.listen()
        here = self._sandbox()
        if here is not None and here.contained and here.policy is not None and here.policy.network != "on":
            raise ToolError(
                f"No tab can open in the sandbox engine {here.engine}, which cannot have a separate network;"
                " install bubblewrap, or set sandbox.network to on."
            )
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setblocking(False)
        return listener

    async def _endpoint(
        self, tab: BrowserTab, order: TabOrder, args: list[str], access: HostAccess, cwd: Path
    ) -> str:
        """Where the worker finds the browser that it does not start itself."""
        target = order.kind.target
        if order.kind.kind == "spawned":
            return await self._apps.start(target, args, cwd)
        if order.kind.kind != "connected":
            return ""
        sandbox = self._sandbox()
        between = sandbox if sandbox is not None and sandbox.owns_network else None
        url, tab.forward = await attach.reach_endpoint(
            target, access, between, self._group, configured=target == self.configured
        )
        return url

    def _details(self, order: TabOrder, port: int) -> dict[str, Any]:
        environ = self._environ
        return {
            "args": chromium.arguments(port),
            "headless": order.kind.kind == "headless",
            "root": os.geteuid() == 0,
            "default_viewport": {
                "width": DEFAULT_VIEWPORT.width,
                "height": DEFAULT_VIEWPORT.height,
                "scale": DEFAULT_VIEWPORT.scale,
            },
            "ignore_certificates": chromium.is_set(environ, chromium.CERTIFICATES_VARIABLE),
            "screenshot_folder": self.screenshot_folder,
            "download_s": DOWNLOAD_S,
        }

    async def close(self, name: str, *, kill: bool = False) -> bool:
        """False if there is no such tab."""
        tab = self._tabs.pop(name, None)
        if tab is None:
            return False
        await tab.close()
        is_last = not any(other.kind == tab.kind for other in self._tabs.values())
        if kill and is_last and tab.kind.kind == "spawned":
            await self._apps.end(tab.kind.target)
        return True

    async def close_all(self, *, kill: bool = False) -> list[str]:
        names = list(self._tabs)
        async with asyncio.TaskGroup() as closing:
            for name in names:
                spawn(closing, self.close(name, kill=kill))
        return names

    async def close_launched(self) -> None:
        """Close those in browsers that tau started, for a change between headless and visible."""
        for name in [tab.name for tab in self._tabs.values() if tab.kind.kind in ("headless", "visible")]:
            await self.close(name)

    async def end(self) -> None:
        """Close everything, with the session."""
        if self._watch is not None:
            self._watch.cancel()
        await shielded(self.close_all())
        await shielded(self._apps.end_all())

    async def _close_idle(self) -> None:
        while self._tabs:
            first = min(tab.used for tab in self._tabs.values())
            await asyncio.sleep(max(first + self._idle_s - self._clock(), 0.01))
            for tab in list(self._tabs.values()):
                if not tab.is_running and self._clock() - tab.used >= self._idle_s:
                    await self.close(tab.name)


def _sockets_of(sandbox: "SessionSandbox") -> Any:
    async def make(host: str) -> socket.socket:
        made = await sandbox.make_sockets(1, host=host)
        if not made:
            raise OSError("The sandbox gave no socket")
        return made[0]

    return make
