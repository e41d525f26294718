"""`tab`: what the code of a run calls. Names are snake_case; camelCase is accepted."""

import asyncio
import functools
import json
import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from playwright.async_api import ElementHandle, Page, Response

from tau.backends.browser.guest.errors import TabError
from tau.backends.browser.guest.observation import ElementIndex
from tau.backends.browser.guest.page_events import PageEvents
from tau.backends.browser.guest.selectors import find

DRAG_STEPS = 12
URL_POLL_S = 0.2
_WAITS = {"networkidle0": "networkidle", "networkidle2": "networkidle"}
_GUARDED = re.compile(r"\s*(file|chrome|chrome-untrusted|devtools|view-source):", re.IGNORECASE)
Call = TypeVar("Call", bound=Callable[..., Any])


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: f"_{found[1].lower()}", name)


def wait_state(name: str | None) -> Any:
    """Playwright's name for a condition to wait for."""
    return _WAITS.get(name or "load", name or "load")


def options_last(call: Call) -> Call:
    """Accept options in camelCase, and as one trailing dictionary."""

    @functools.wraps(call)
    async def accept(self: object, *args: Any, **options: object) -> object:
        if (len(args) > 1 and isinstance(args[-1], dict)) or (args and call.__name__ in _ONLY_OPTIONS):
            *rest, last = args
            args, options = tuple(rest), {**last, **options}
        return await call(self, *args, **{snake(name): value for name, value in options.items()})

    return cast(Call, accept)


_ONLY_OPTIONS = ("observe", "screenshot", "pdf")


class FileFacts(dict[str, Any]):
    """Where a picture or file is; the run has said so already."""


class ResultFiles(Protocol):
    """Takes what a run makes, and tells tau about it."""

    def picture(self, data: bytes, save: str | None, *, silent: bool) -> dict[str, Any]: ...
    def file(self, name: str, data: bytes, save: str | None) -> dict[str, object]: ...
    async def extract(self, page: Page, format: str) -> str | None: ...


class PageActions:
    """What a user does on a page."""

    def __init__(self, page: Page, cwd: Path) -> None:
        self.page = page
        self.cwd = cwd

    async def click(self, selector: str) -> None:
        found = find(self.page, selector)
        if re.match(r"(p-)?text/", selector):
            found = found.filter(visible=True)
        await found.first.click()

    async def type(self, selector: str, text: str) -> None:
        await find(self.page, selector).first.press_sequentially(text)

    async def fill(self, selector: str, value: str) -> None:
        await find(self.page, selector).first.fill(value)

    @options_last
    async def press(self, key: str, *, selector: str | None = None) -> None:
        if selector is not None:
            await find(self.page, selector).first.focus()
        await self.page.keyboard.press(key)

    async def scroll(self, delta_x: float, delta_y: float) -> None:
        await self.page.mouse.wheel(delta_x, delta_y)
        await self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => done()))")

    async def drag(self, start: Any, end: object) -> None:
        """Each is a selector or a point, as in {"x": 10, "y": 20}."""
        source, target = await self._point(start), await self._point(end)
        mouse = self.page.mouse
        await mouse.move(*source)
        await mouse.down()
        await mouse.move(*target, steps=DRAG_STEPS)
        await mouse.up()

    async def _point(self, where: object) -> tuple[float, float]:
        if isinstance(where, dict) and {"x", "y"} <= where.keys():
            return where["x"], where["y"]
        if not isinstance(where, str):
            raise TabError('drag takes a selector or a point, as in {"x": 10, "y": 20}.')
        element = find(self.page, where).first
        await element.scroll_into_view_if_needed()
        box = await element.bounding_box()
        if box is None:
            raise TabError(f'Nothing visible matches "{where}", so it cannot be dragged.')
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    @options_last
    async def wait_for(self, selector: str, *, timeout: float | None = None) -> ElementHandle | None:
        found = find(self.page, selector).first
        await found.wait_for(timeout=timeout)
        return await found.element_handle()

    async def evaluate(self, function: str, *args: object) -> object:
        """Run a JavaScript function or expression in the page."""
        if not args:
            return await self.page.evaluate(function)
        return await self.page.evaluate(f"given => ({function})(...given)", list(args))

    async def scroll_into_view(self, selector: str) -> None:
        await find(self.page, selector).first.scroll_into_view_if_needed()

    async def select(self, selector: str, *values: str) -> list[str]:
        element = find(self.page, selector).first
        if await element.evaluate("element => element.tagName") != "SELECT":
            raise TabError(f'"{selector}" is not a <select>; use click or fill.')
        return await element.select_option(list(values))

    async def upload_file(self, selector: str, *paths: str) -> None:
        files = [self.cwd / path for path in paths]
        missing = [str(path) for path in files if not path.is_file()]
        if missing or not files:
            raise TabError(f"No such file: {', '.join(missing)}" if missing else "upload_file needs a file.")
        element = find(self.page, selector).first
        if not await element.evaluate("element => element.matches('input[type=file]')"):
            raise TabError(f'"{selector}" is not a file input.')
        await element.set_input_files(files)

    @options_last
    async def wait_for_url(self, pattern: object, *, timeout: float | None = None) -> str:
        """Wait until the address contains the text, or matches a pattern with * or a regular expression."""
        limit = asyncio.timeout(None if timeout is None else timeout / 1000)
        try:
            async with limit:
                while not _matches(pattern, self.page.url):  # noqa: ASYNC110 - a page tells nobody
                    await asyncio.sleep(URL_POLL_S)
        except TimeoutError:
            raise TabError(f"The address is still {self.page.url} after {timeout:g} ms.") from None
        return self.page.url

    @options_last
    async def wait_for_response(self, pattern: object, *, timeout: float | None = None) -> Response:
        found: Response = await self.page.wait_for_event(
            "response", lambda response: _matches(pattern, response.url), timeout=timeout
        )
        return found


class TabApi(PageActions):
    """One page, with helpers. `page` is Playwright's own object."""

    signal = None  # a run that is stopped is cancelled

    def __init__(self, name: str, page: Page, events: PageEvents, cwd: Path, keep: ResultFiles) -> None:
        super().__init__(page, cwd)
        self.name = name
        self._events = events
        self._keep = keep
        self._elements = ElementIndex(page)

    def __getattr__(self, name: str) -> object:
        plain = snake(name)
        if plain == name or plain.startswith("_"):
            raise AttributeError(f"tab has no {name}")
        return getattr(self, plain)

    def url(self) -> str:
        return self.page.url

    async def title(self) -> str:
        return await self.page.title()

    @options_last
    async def goto(self, url: str, *, wait_until: str | None = None, timeout: float | None = None) -> None:
        if _GUARDED.match(url):
            raise TabError(f'Open {url[:200]} with the action "open", so that it can be approved.')
        await self._elements.clear()
        await self.page.goto(url, wait_until=wait_state(wait_until), timeout=timeout)

    @options_last
    async def observe(self, *, include_all: bool = False, viewport_only: bool = False) -> dict[str, object]:
        return await self._elements.observe(include_all=include_all, viewport_only=viewport_only)

    async def id(self, number: int) -> ElementHandle:
        return await self._elements.element(number)

    @options_last
    async def screenshot(
        self,
        *,
        selector: str | None = None,
        full_page: bool = False,
        save: str | None = None,
        silent: bool = False,
    ) -> dict[str, Any]:
        if selector is None:
            data = await self.page.screenshot(full_page=full_page)
        else:
            found = find(self.page, selector)
            if not await found.count():
                raise TabError(f'Nothing matches "{selector}", so there is no screenshot.')
            data = await found.first.screenshot()
        return self._keep.picture(data, save, silent=silent)

    @options_last
    async def pdf(self, *, save: str | None = None, **options: Any) -> dict[str, Any]:
        """Print the page, which needs a headless browser."""
        return self._keep.file("page.pdf", await self.page.pdf(**options), save)

    @options_last
    async def extract(self, format: str = "markdown") -> str | None:
        """The content of the page as Markdown or text; None if there is none."""
        return await self._keep.extract(self.page, format)

    async def console(self) -> list[dict[str, Any]]:
        """What the page wrote to its console, errors that nobody caught included."""
        return list(self._events.console)

    async def requests(self) -> list[dict[str, Any]]:
        """What the page asked for, and how that went."""
        return list(self._events.requests)


def _matches(pattern: Any, url: str) -> bool:
    if isinstance(pattern, re.Pattern):
        return pattern.search(url) is not None
    if callable(pattern):
        return bool(pattern(url))
    text = str(pattern)
    return fnmatchcase(url, text.replace("**", "*")) if "*" in text else text in url


def as_text(value: Any) -> str:
    """How a value is shown: text as it is, the rest as JSON if possible."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return str(value)
