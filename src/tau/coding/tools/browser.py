"""browser: opens tabs in Chromium, runs Python code on their pages, and closes them."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from tau.agent.arguments import UNLISTED
from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.base.errors import ToolError
from tau.base.files import typed_path
from tau.base.late import late
from tau.base.text import clean_line, shortened
from tau.coding.output import OutputMeta
from tau.coding.ports import CodingContext
from tau.config.settings import Settings
from tau.config.web_access import WebAccess

if TYPE_CHECKING:
    from tau.backends.browser.tab import BrowserKind, TabOrder
    from tau.coding.late_browser import LateBrowser

chromium = late("tau.backends.browser.chromium")
outputs = late("tau.coding.tools.browser_output")
tab_parts = late("tau.backends.browser.tab")
parse = late("urllib.parse")
unseen_characters = late("tau.coding.shell.unseen_characters")

DEFAULT_TIMEOUT_S, MIN_TIMEOUT_S, MAX_TIMEOUT_S = 30, 1, 300
MAIN = "main"
RUN = "browser: "
_SCHEMES = ("http", "https", "about", "data", "file", "chrome")
_NO_CODE = "Missing required parameter 'code' for action 'run'."


class ViewportParams(Struct, frozen=True):
    width: Annotated[int, Meta(ge=1, le=10_000)]
    height: Annotated[int, Meta(ge=1, le=10_000)]
    scale: Annotated[float, Meta(ge=0.1, le=10)] | None = None


class AppParams(Struct, frozen=True):
    path: Annotated[str | None, Meta(title="Program to start, such as an Electron app")] = None
    cdp_url: Annotated[str | None, Meta(title="Running browser to attach to")] = None
    args: Annotated[list[str], Meta(title="Arguments of the program")] = []
    target: Annotated[str | None, Meta(title="Part of the title or URL of the page to attach to")] = None


class BrowserParams(Struct, frozen=True):
    action: Literal["open", "run", "close"]
    name: Annotated[str, Meta(title="Tab")] = MAIN
    url: Annotated[str | None, Meta(title="open: page to go to")] = None
    code: Annotated[str | None, Meta(title="run: body of an async Python function")] = None
    viewport: Annotated[ViewportParams | None, Meta(title="open: size; scale is the pixel ratio")] = None
    wait_until: Annotated[
        Literal["load", "domcontentloaded", "networkidle0", "networkidle2"] | None,
        Meta(title="open: when the page is ready"),
    ] = None
    dialogs: Annotated[Literal["accept", "dismiss"] | None, Meta(title="open: answer to dialogs")] = None
    app: Annotated[AppParams | None, Meta(title="open: another program than the browser")] = None
    persist: Annotated[bool, Meta(title="open: keep cookies and logins under the tab's name")] = False
    all: Annotated[bool, Meta(title="close: all tabs")] = False
    kill: Annotated[bool, Meta(title="close: end the program of `app.path` too")] = False
    timeout: Annotated[
        float, Meta(title="Seconds, 1 to 300", extra_json_schema={**UNLISTED, "default": DEFAULT_TIMEOUT_S})
    ] = DEFAULT_TIMEOUT_S


class ScreenshotDetails(Struct, frozen=True, rename="camel"):
    dest: str
    mime_type: str
    bytes: int
    width: int
    height: int


class BrowserDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """`browser` describes where the tab is; `result` is the text that the model gets."""

    action: str
    name: str
    browser: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    viewport: dict[str, float] | UnsetType = UNSET
    screenshots: list[ScreenshotDetails] | UnsetType = UNSET
    result: str = ""
    is_error: bool = False
    meta: OutputMeta | UnsetType = UNSET


class BrowserTool(Tool[BrowserParams]):
    """Its tabs live as long as `browser`."""

    name, label = "browser", "Browser"

    def __init__(self, settings: Settings, browser: "LateBrowser | None", web: WebAccess | None) -> None:
        self._settings = settings
        self._browser = browser
        self._web = web or WebAccess(os.environ)

    def effects(self, params: BrowserParams, cwd: Path) -> Effects:
        if params.action == "close":
            return Effects()
        if params.action == "run":
            unseen_characters.refuse_controls("`code`", params.code or "")
            at = "" if self._browser is None else self._browser.url_of(params.name)
            return Effects(runs=(f"{RUN}{params.code or ''}",), network=_hosts(at), details=_limit(params))
        kind = self._kind(params, cwd)
        url = _page_url(params.url)
        runs = (f"app: {' '.join([kind.target, *self._app(params).args])}",) if kind.kind == "spawned" else ()
        return Effects(
            runs=runs,
            network=tuple(
                dict.fromkeys((*_hosts(url), *(_hosts(kind.target) if kind.kind == "connected" else ())))
            ),
            reads=(_file_of(url),) if url.lower().startswith("file:") else (),
            undeclared=url.lower().startswith("chrome:"),
        )

    async def run(self, params: BrowserParams, ctx: CodingContext) -> ToolOutput:
        browser = self._browser
        if params.action == "run" and not (params.code or "").strip():
            raise ToolError(_NO_CODE)
        if browser is None:
            chromium.require_chromium()
            raise ToolError("The browser is turned off (browser.enabled is false), or there is no session.")
        match params.action:
            case "open":
                return await self._open(params, browser, ctx)
            case "run":
                return await self._run(params, browser, ctx)
            case "close":
                return await self._close(params, browser)

    async def _open(self, params: BrowserParams, browser: "LateBrowser", ctx: CodingContext) -> ToolOutput:
        order = self._order(params, ctx.cwd)
        access = browser.access(self._web, ctx.ui)
        if order.kind.kind == "spawned":
            ctx.approved.run(f"app: {' '.join([order.kind.target, *self._app(params).args])}")
        for host in _hosts(order.url):
            ctx.approved.connect(host)
        opened = await browser.tabs.open(order, self._app(params).args, access, ctx.cwd)
        state = opened.state
        lines = [f'{"Opened" if opened.is_new else "Reused"} tab "{order.name}" in a {order.kind}']
        lines += [f"URL: {shortened(clean_line(state.url), 2_000)}"]
        lines += [f"Title: {shortened(clean_line(state.title), 300)}"] if state.title else []
        text = "\n".join([*lines, *(f"[{note}]" for note in state.notes)])
        details = BrowserDetails(
            action="open",
            name=order.name,
            browser=str(order.kind),
            url=state.url,
            viewport=state.viewport,
            result=text,
        )
        return ToolOutput.text(text, details)

    async def _run(self, params: BrowserParams, browser: "LateBrowser", ctx: CodingContext) -> ToolOutput:
        tab = browser.tabs.get(params.name) if browser.has_tabs else None
        if tab is None or not tab.is_alive():
            raise ToolError(f'Tab "{params.name}" is not alive. Reopen it.')
        ctx.approved.run(f"{RUN}{params.code}")
        was_known = bool(_hosts(tab.state.url))
        seconds = _seconds(params)
        result = await tab.run(params.code or "", seconds)
        if not tab.is_alive():
            await browser.tabs.close(params.name)
        output = await outputs.collect(result, params.name, seconds, ctx, self._settings)
        details = BrowserDetails(
            action="run",
            name=params.name,
            browser=str(tab.kind),
            url=tab.state.url,
            screenshots=output.screenshots or UNSET,
            result=output.text,
            is_error=output.is_error,
            meta=output.meta,
        )
        return ToolOutput(
            output.content(fenced=not was_known, hosts=_hosts(tab.state.url)), details, output.is_error
        )

    async def _close(self, params: BrowserParams, browser: "LateBrowser") -> ToolOutput:
        if params.all:
            names = await browser.tabs.close_all(kill=params.kill) if browser.has_tabs else []
            text = f"Closed {', '.join(names)}" if names else "No tabs are open."
        elif browser.has_tabs and await browser.tabs.close(params.name, kill=params.kill):
            text = f'Closed tab "{params.name}"'
        else:
            text = f'No tab named "{params.name}"'
        return ToolOutput.text(text, BrowserDetails(action="close", name=params.name, result=text))

    def _order(self, params: BrowserParams, cwd: Path) -> "TabOrder":
        view = params.viewport
        return tab_parts.TabOrder(
            name=params.name,
            kind=self._kind(params, cwd),
            url=_page_url(params.url),
            viewport=None if view is None else tab_parts.PageSize(view.width, view.height, view.scale),
            wait_until=params.wait_until,
            dialogs=params.dialogs,
            target=self._app(params).target,
            persist=params.persist,
            timeout_s=_seconds(params),
        )

    def _app(self, params: BrowserParams) -> AppParams:
        return params.app or AppParams()

    def _kind(self, params: BrowserParams, cwd: Path) -> "BrowserKind":
        app = self._app(params)
        address = app.cdp_url or (None if app.path else self._settings.browser.cdp_url)
        if address:
            return tab_parts.BrowserKind("connected", address.strip().rstrip("/"))
        if app.path:
            return tab_parts.BrowserKind("spawned", os.path.normpath(cwd / typed_path(app.path)))
        visible = self._browser.is_visible if self._browser else not self._settings.browser.headless
        return tab_parts.BrowserKind("visible" if visible else "headless")


def _seconds(params: BrowserParams) -> float:
    return min(max(params.timeout, MIN_TIMEOUT_S), MAX_TIMEOUT_S)


def _limit(params: BrowserParams) -> tuple[tuple[str, str], ...]:
    seconds = _seconds(params)
    return () if seconds == DEFAULT_TIMEOUT_S else (("timeout", f"{seconds:g} s"),)


def _page_url(url: str | None) -> str:
    """Raises ToolError for an address that a browser cannot open, or should not."""
    text = (url or "").strip()
    if not text:
        return ""
    scheme = re.match(r"([a-zA-Z][a-zA-Z0-9+.-]*):(?!\d)", text)
    if scheme is None:
        local = re.match(r"(localhost|127\.|\[::1\])", text)
        text = f"{'http' if local else 'https'}://{text}"
    elif scheme[1].lower() not in _SCHEMES:
        raise ToolError(f"{shortened(clean_line(text), 200)} cannot be opened; use http, https or file.")
    if re.search(r"[\x00-\x1f\x7f]", text):
        raise ToolError("The address contains control characters; encode them.")
    return text


def _hosts(url: str) -> tuple[str, ...]:
    """The host of a web address."""
    if not url.lower().startswith(("http:", "https:", "ws:", "wss:")):
        return ()
    try:
        host = parse.urlsplit(url).hostname
    except ValueError:
        raise ToolError(f"{shortened(clean_line(url), 200)} is not a valid address.") from None
    if not host or " " in host:
        raise ToolError(f"{shortened(clean_line(url), 200)} has no valid host.")
    return (str(host),)


def _file_of(url: str) -> Path:
    path = parse.unquote(parse.urlsplit(url).path)
    return Path(path or "/")
