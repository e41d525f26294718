"""The browser of a session, which loads and starts with its first tab."""

import asyncio
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from tau.agent.ui import Ui
from tau.base.late import late
from tau.base.run import Runner
from tau.config.settings import Settings
from tau.config.web_access import WebAccess

if TYPE_CHECKING:
    from tau.backends.browser.connections import HostAccess
    from tau.backends.browser.tabs import BrowserTabs
    from tau.coding.sandbox import LateSandbox
    from tau.coding.shell.grants import SandboxGrants

addresses = late("tau.backends.web.addresses")
connections = late("tau.backends.browser.connections")
grants = late("tau.coding.shell.grants")
tab_pool = late("tau.backends.browser.tabs")


class LateBrowser:
    """Use as `async with`; leaving it closes all tabs. `is_visible` is what /browser chose."""

    def __init__(
        self,
        runner: Runner,
        settings: Settings,
        sandbox: "LateSandbox | None",
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.is_visible = not settings.browser.headless
        self._runner = runner
        self._settings = settings
        self._sandbox = sandbox
        self._environ = environ
        self._group = asyncio.TaskGroup()
        self._tabs: BrowserTabs | None = None
        self._grants: SandboxGrants | None = None

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            if self._tabs is not None:
                await self._tabs.end()
        finally:
            await self._group.__aexit__(None, None, None)

    @property
    def tabs(self) -> "BrowserTabs":
        if self._tabs is None:
            sandbox = self._sandbox
            self._tabs = tab_pool.BrowserTabs(
                self._runner,
                self._group,
                lambda: None if sandbox is None or not sandbox.contained else sandbox.session,
                most=self._settings.browser.max_tabs,
                environ=self._environ,
            )
            self._tabs.configured = (self._settings.browser.cdp_url or "").strip().rstrip("/")
            self._tabs.screenshot_folder = self._settings.browser.screenshot_dir
        return self._tabs

    @property
    def has_tabs(self) -> bool:
        return self._tabs is not None and len(self._tabs) > 0

    def url_of(self, name: str) -> str:
        """Where a tab is; empty if there is none."""
        tab = None if self._tabs is None else self._tabs.get(name)
        return "" if tab is None else tab.state.url

    async def show(self, visible: bool) -> None:
        """Open new tabs visibly or not; those of the other kind are closed."""
        if visible != self.is_visible and self._tabs is not None:
            await self._tabs.close_launched()
        self.is_visible = visible

    def access(self, web: WebAccess, ui: Ui | None) -> "HostAccess":
        """Who decides where pages connect."""
        return connections.HostAccess(
            allowed=addresses.AllowedHosts(self._settings.fetch.allow_private),
            judge=web.judge,
            may_connect=web.may_connect,
            ask=self._asking(ui),
        )

    def _asking(self, ui: Ui | None) -> Any:
        if self._sandbox is not None:
            asked = self._sandbox.commands.grants
        else:
            asked = self._grants = self._grants or grants.SandboxGrants(ui)

        async def ask(host: str, port: int, private: bool) -> bool:
            name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            what = ", an address of this machine or its network" if private else ""
            title = f"A page in the browser wants to connect to {name}{what}."
            return await asked.ask_session(("page", host, str(port)), title, f"Allow {name} for this session")

        return ask
