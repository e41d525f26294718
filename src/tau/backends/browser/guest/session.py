"""The worker's side of a tab: starts or attaches to a browser, and runs code on its page."""

import ast
import asyncio
import base64
import fcntl
import os
import re
import traceback
from pathlib import Path
from time import strftime
from typing import TYPE_CHECKING, Any

from playwright.async_api import Browser, BrowserContext, Page, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError

from tau.backends.browser.guest.errors import TabError
from tau.backends.browser.guest.limits import MAX_FILE_BYTES, MAX_TEXT_CHARS
from tau.backends.browser.guest.page_events import PageEvents
from tau.backends.browser.guest.tab_api import FileFacts, TabApi, as_text, wait_state
from tau.base.late import late

if TYPE_CHECKING:
    from tau.backends.kernels.guest.cell_loop import GuestKernel

html = late("tau.backends.web.html")
image_header = late("tau.base.image_header")

CODE = "<code>"
CHUNK_BYTES = 3 * 1024 * 1024
MIN_CALL_MS, MARGIN_MS = 500, 500
LAUNCH_S = 60.0
_SKIPPED = re.compile(
    "request handler|devtools|background page|background host|service worker", re.IGNORECASE
)
_NO_SANDBOX = ("sandbox", "zygote", "namespace")  # words in Chromium's complaint


class TabSession:
    """One tab. `order` is what tau asked for; `token` marks what is for tau rather than for the model."""

    def __init__(self, kernel: "GuestKernel", order: dict[str, Any]) -> None:
        self._kernel = kernel
        self._order = order
        self._notes: list[str] = []
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._context: BrowserContext | None = None
        self._page: Page | None = None
        self._tab: TabApi | None = None
        self._events = PageEvents(order["dialogs"])
        self._lock: Any = None

    async def open(self) -> None:
        self._playwright = await async_playwright().start()
        if self._order["cdp_url"]:
            self._page = await self._attach(self._order["cdp_url"])
        else:
            self._page = await self._launch()
        await self._use(self._page)
        await self.go(self._order)

    async def go(self, order: dict[str, Any]) -> None:
        """Apply the rest of an `open` call."""
        page = self._page
        assert page is not None
        for is_last in (False, True):
            if page.is_closed() or self._events.has_crashed:
                assert self._context is not None
                self._events = PageEvents(self._order["dialogs"])
                self._page = page = await self._context.new_page()
                await self._use(page)
            try:
                await self._navigate(page, order)
                break
            except PlaywrightError:
                if is_last or not self._events.has_crashed:  # the page from before can crash this late
                    raise
        size = page.viewport_size or await page.evaluate("({width: innerWidth, height: innerHeight})")
        self._tell(
            "ready",
            url=page.url,
            title=await page.title(),
            viewport={**size, "scale": await page.evaluate("devicePixelRatio")},
            notes=self._notes,
        )
        self._notes = []

    async def _navigate(self, page: Page, order: dict[str, Any]) -> None:
        page.set_default_timeout(max(order["timeout_ms"] - MARGIN_MS, MIN_CALL_MS))
        if order["viewport"] is not None and (self._order["cdp_url"] or order is not self._order):
            await self._resize(page, order["viewport"])
        if order["url"]:
            await page.goto(order["url"], wait_until=wait_state(order["wait_until"]))

    async def run(self, code: str, timeout_ms: int) -> None:
        """Run the body of an async function on the page."""
        page = self._page
        assert page is not None and self._tab is not None
        page.set_default_timeout(max(timeout_ms - MARGIN_MS, MIN_CALL_MS))
        names: dict[str, Any] = {
            "page": page,
            "browser": self._browser or self._context,
            "tab": self._tab,
            "display": self._display,
            "wait": _wait,
        }
        try:
            exec(_compile(code), names)
            value = await names["_run"]()
            if value is not None and not isinstance(value, FileFacts):
                self._kernel.write(as_text(value) + "\n")
        except (Exception, SystemExit) as error:
            self._kernel.write(_describe(error) + "\n")
            raise SystemExit(1) from None
        finally:
            await self._deliver(page)

    async def close(self) -> None:
        for part in (self._context if self._browser is None else self._browser, None):
            if part is not None and not self._order["cdp_url"]:
                await part.close()
        if self._playwright is not None:
            await self._playwright.stop()

    async def _use(self, page: Page) -> None:
        self._events.watch(page)
        self._tab = TabApi(self._order["name"], page, self._events, Path(self._order["cwd"]), self)
        if not self._order["cdp_url"]:  # the agent may have changed a page since a moment ago
            session = await page.context.new_cdp_session(page)
            await session.send("Network.enable")
            await session.send("Network.setCacheDisabled", {"cacheDisabled": True})

    async def _launch(self) -> Page:
        order, viewport = self._order, self._order["viewport"] or self._order["default_viewport"]
        options: dict[str, Any] = {
            "executable_path": order["program"],
            "headless": order["headless"],
            "args": [*order["args"], f"--window-size={viewport['width']},{viewport['height']}"],
            "handle_sigint": False,  # an interrupt is for the code of a run
            "timeout": LAUNCH_S * 1000,
        }
        look = {
            "viewport": {"width": viewport["width"], "height": viewport["height"]},
            "device_scale_factor": viewport.get("scale") or 1,
            "accept_downloads": True,
            "ignore_https_errors": order["ignore_certificates"],
        }
        if order["root"]:
            self._notes.append("Chromium's own sandbox is off: it does not start as root.")
            return await self._start({**options, "chromium_sandbox": False}, look)
        try:
            return await self._start({**options, "chromium_sandbox": True}, look)
        except PlaywrightError as error:
            if not any(word in str(error).lower() for word in _NO_SANDBOX):
                raise
        self._notes.append("Chromium's own sandbox is off: it cannot start here.")
        return await self._start({**options, "chromium_sandbox": False}, look)

    async def _start(self, options: dict[str, Any], look: dict[str, Any]) -> Page:
        assert self._playwright is not None
        chromium = self._playwright.chromium
        if not self._order["persist"]:
            self._browser = await chromium.launch(**options)
            self._context = await self._browser.new_context(**look)
            return await self._context.new_page()
        folder = self._profile(self._order["name"])
        self._context = await chromium.launch_persistent_context(folder, **options, **look)
        self._browser = self._context.browser
        pages = self._context.pages
        return pages[0] if pages else await self._context.new_page()

    def _profile(self, name: str) -> Path:
        """The tab's own profile folder, which only one browser can use."""
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = cache / "tau-browser" / re.sub(r"[^\w.-]", "_", name)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self._lock is None:
            self._lock = (folder / ".tau-lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise TabError(f'Another tau uses the kept profile "{name}"; choose another name.') from None
        return folder

    async def _attach(self, url: str) -> Page:
        assert self._playwright is not None
        try:
            self._browser = await self._playwright.chromium.connect_over_cdp(url, timeout=LAUNCH_S * 1000)
        except PlaywrightError as error:
            raise TabError(f"Connected to {url}, but attaching failed: {_first_line(error)}") from None
        pages = [page for context in self._browser.contexts for page in context.pages]
        titles = [await _title(page) for page in pages]
        page = pick_page(pages, titles, self._order["target"])
        self._context = page.context
        return page

    async def _resize(self, page: Page, viewport: dict[str, Any]) -> None:
        await page.set_viewport_size({"width": viewport["width"], "height": viewport["height"]})
        if viewport.get("scale"):
            session = await page.context.new_cdp_session(page)
            await session.send(
                "Emulation.setDeviceMetricsOverride",
                {
                    "width": viewport["width"],
                    "height": viewport["height"],
                    "deviceScaleFactor": viewport["scale"],
                    "mobile": False,
                },
            )

    def _display(self, *values: object) -> None:
        for value in values:
            is_shown = isinstance(value, bytes) or (isinstance(value, dict) and value.get("type") == "image")
            if is_shown:
                self._kernel.load("display").display(self._kernel, value)
            else:
                self._kernel.write(as_text(value) + "\n")

    def picture(self, data: bytes, save: str | None, *, silent: bool) -> dict[str, object]:
        info = image_header.read_header(data)
        size = {} if info is None else {"width": info.width, "height": info.height}
        folder = self._order["screenshot_folder"]
        if save is None and folder:
            save = str(Path(folder) / f"screenshot-{strftime('%Y%m%d-%H%M%S')}-{os.urandom(2).hex()}.png")
        dest = _save(self._tab_cwd, save, data) if save else ""
        facts = FileFacts(dest=dest, mimeType="image/png", bytes=len(data), **size)
        self._tell("screenshot", **facts, silent=silent, data=base64.b64encode(data).decode("ascii"))
        return facts

    def file(self, name: str, data: bytes, save: str | None) -> dict[str, object]:
        if save:
            return FileFacts(dest=_save(self._tab_cwd, save, data), bytes=len(data))
        self._send(name, data)
        return FileFacts(name=name, bytes=len(data))

    async def extract(self, page: Page, format: str) -> str | None:
        if format not in ("markdown", "text"):
            raise TabError('extract takes "markdown" or "text".')
        text = ""
        if format == "markdown":
            source = await page.content()
            try:
                text = (await asyncio.to_thread(html.convert_html, source, page.url, "")).text
            except ImportError:
                self._kernel.write("[Markdown needs the extra: pip install 'tau-agent[web]'; this is text]\n")
        return (text or await page.inner_text("body")).strip() or None

    @property
    def _tab_cwd(self) -> Path:
        return Path(self._order["cwd"])

    async def _deliver(self, page: Page) -> None:
        for name, path, problem in await self._events.take_downloads(self._order["download_s"]):
            if path is None:
                self._kernel.write(f"[The download {name} failed: {problem}]\n")
            elif path.stat().st_size > MAX_FILE_BYTES:
                self._kernel.write(f"[The download {name} is larger than 50 MiB and was dropped]\n")
            else:
                self._send(name, path.read_bytes())
        if not page.is_closed():
            self._tell("at", url=page.url)

    def _send(self, name: str, data: bytes) -> None:
        """Pass a file to tau in pieces: it must not open paths that pages or code can change."""
        for start in range(0, len(data) or 1, CHUNK_BYTES):
            piece = base64.b64encode(data[start : start + CHUNK_BYTES]).decode("ascii")
            self._tell("file", name=name, data=piece, last=start + CHUNK_BYTES >= len(data))

    def _tell(self, op: str, **facts: object) -> None:
        self._kernel.show("json", value={"tau": self._order["token"], "op": op, **facts})


def pick_page(pages: list[Page], titles: list[str], target: str | None) -> Page:
    """The page to attach to. Raises TabError."""
    if not pages:
        raise TabError("No page targets available on the attached browser")
    named = list(zip(pages, titles, strict=True))
    if target is not None:
        for page, title in named:
            if target.lower() in page.url.lower() or target.lower() in title.lower():
                return page
        known = "\n".join(f"- {title or '(no title)'} {page.url}" for page, title in named)
        raise TabError(f'No page target matched "{target}". Available pages:\n{known}')
    for page, title in named:
        if not _SKIPPED.search(f"{title} {page.url}"):
            return page
    return pages[0]


async def start(kernel: "GuestKernel", order: dict[str, object]) -> TabSession | None:
    """Open the tab, or say why not and fail the cell."""
    session = TabSession(kernel, order)
    await guarded(kernel, session.open())
    return session


async def guarded(kernel: "GuestKernel", work: Any) -> None:
    try:
        await work
    except Exception as error:
        kernel.write(_describe(error) + "\n")
        raise SystemExit(1) from None


async def _wait(ms: float) -> None:
    await asyncio.sleep(ms / 1000)


async def _title(page: Page) -> str:
    try:
        async with asyncio.timeout(2):
            return await page.title()
    except (PlaywrightError, TimeoutError):
        return ""


def _save(cwd: Path, save: str, data: bytes) -> str:
    path = cwd / Path(save).expanduser()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise TabError(f"Cannot save {path}: {error.strerror}.") from None
    return str(path)


def _compile(code: str) -> Any:
    """The code as `async def _run()`, which returns the value of a last expression."""
    body = ast.parse(code, CODE).body
    if body and isinstance(body[-1], ast.Expr):
        body[-1] = ast.copy_location(ast.Return(body[-1].value), body[-1])
    function: Any = ast.parse("async def _run(): pass").body[0]
    function.body = body or function.body
    return compile(ast.fix_missing_locations(ast.Module([function], [])), CODE, "exec")


def _describe(error: BaseException) -> str:
    """One line with its place in the code, then what else the error says."""
    if isinstance(error, TabError):
        text = str(error)
    elif isinstance(error, PlaywrightError):
        text = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip()[:MAX_TEXT_CHARS]
    elif isinstance(error, SyntaxError):
        return f"SyntaxError in line {error.lineno}: {error.msg}"
    else:
        text = f"{type(error).__name__}: {error}".rstrip(": ")
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == CODE]
    return f"Line {lines[-1]}: {text}" if lines else text


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
