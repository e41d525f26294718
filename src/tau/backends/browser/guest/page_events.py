"""Records what happens in a page between and during runs: console, requests, dialogs, downloads."""

import asyncio
from collections import deque
from pathlib import Path
from typing import Any

from playwright.async_api import ConsoleMessage, Dialog, Download, Page, Request, Response
from playwright.async_api import Error as PlaywrightError

from tau.backends.browser.guest.limits import MAX_DOWNLOADS, MAX_ENTRIES, MAX_TEXT_CHARS


class PageEvents:
    """Kept until the tab closes; the oldest entries are dropped."""

    def __init__(self, dialogs: str | None) -> None:
        self.console: deque[dict[str, Any]] = deque(maxlen=MAX_ENTRIES)
        self.requests: deque[dict[str, Any]] = deque(maxlen=MAX_ENTRIES)
        self.downloads: deque[tuple[str, Download]] = deque(maxlen=MAX_DOWNLOADS)
        self.has_crashed = False
        self._dialogs = dialogs
        self._open: dict[Request, dict[str, Any]] = {}

    def watch(self, page: Page) -> None:
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self._add_message("error", str(error), ""))
        page.on("request", self._on_request)
        page.on("response", self._on_response)
        page.on("requestfailed", self._on_failure)
        page.on("download", self._on_download)
        page.on("crash", self._on_crash)
        if self._dialogs is not None:
            page.on("dialog", self._on_dialog)

    def _on_console(self, message: ConsoleMessage) -> None:
        where = message.location
        place = f"{where['url']}:{where['lineNumber'] + 1}" if where.get("url") else ""
        self._add_message(message.type, message.text, place)

    def _add_message(self, kind: str, text: str, where: str) -> None:
        self.console.append({"type": kind, "text": text[:MAX_TEXT_CHARS], "location": where})

    def _on_request(self, request: Request) -> None:
        entry: dict[str, Any] = {
            "method": request.method,
            "url": request.url[:MAX_TEXT_CHARS],
            "type": request.resource_type,
        }
        self.requests.append(entry)
        if len(self._open) >= MAX_ENTRIES:
            self._open.pop(next(iter(self._open)))
        self._open[request] = entry

    def _on_response(self, response: Response) -> None:
        entry = self._open.pop(response.request, None)
        if entry is not None:
            entry["status"] = response.status

    def _on_failure(self, request: Request) -> None:
        entry = self._open.pop(request, None)
        if entry is not None:
            entry["failure"] = request.failure or "failed"

    def _on_download(self, download: Download) -> None:
        self.downloads.append((download.suggested_filename, download))

    def _on_crash(self, page: Page) -> None:
        self.has_crashed = True

    async def _on_dialog(self, dialog: Dialog) -> None:
        self._add_message("dialog", f"{dialog.type}: {dialog.message}", "")
        try:
            await (dialog.accept() if self._dialogs == "accept" else dialog.dismiss())
        except PlaywrightError:
            return  # the page has gone on

    async def take_downloads(self, wait_s: float) -> list[tuple[str, Path | None, str]]:
        """Name, file and what went wrong of each download that is over; the others stay for the next run."""
        done: list[tuple[str, Path | None, str]] = []
        for _ in range(len(self.downloads)):
            name, download = self.downloads.popleft()
            try:
                async with asyncio.timeout(wait_s):
                    done.append((name, Path(await download.path()), ""))
            except TimeoutError:
                self.downloads.append((name, download))
            except PlaywrightError as error:
                done.append((name, None, str(error).splitlines()[0]))
        return done
