"""Chooses a session to resume: from this folder or all, by title or content."""

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from tau.base.errors import TauError
from tau.base.late import late
from tau.coding.session_index.search import SessionPreview
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.current_session import SessionSwitch
from tau.modes.interactive.selectors import session_actions as files
from tau.modes.interactive.selectors.panel import CANCEL, CONFIRM, Hint, Panel, ask_line
from tau.modes.interactive.selectors.pick_list import pick
from tau.modes.interactive.selectors.session_actions import SORTS, SessionItem, Sort
from tau.modes.interactive.selectors.session_list_view import SessionBody, SessionChoices, SessionList
from tau.tui.component import Component
from tau.tui.timer import sleep
from tau.tui.widgets.select_list import SelectItem

trashes = late("tau.coding.session.storage.trash")

PATH, SORT = "app.session.togglePath", "app.session.toggleSort"
RENAME, DELETE = "app.session.rename", "app.session.delete"
PAUSE_S = 0.12
"""Search the content after this pause in typing."""
MANY_FILES = 500
MAX_PREVIEWS = 200
_BY = {"time": "by time", "name": "by name", "size": "by size"}


class SessionSelection(NamedTuple):
    kind: Literal["resume", "rename", "delete"]
    item: SessionItem


async def choose_session(context: CommandContext) -> None:
    """Ask for a session and resume it. Renaming and deleting return to the list."""
    picker = SessionSelector(context)
    working = context.start(picker.work())
    try:
        while (selection := await context.ask(picker.open)) is not None:
            if selection.kind == "resume":
                picker.resume(selection.item)
                return
            await (
                picker.rename(selection.item) if selection.kind == "rename" else picker.delete(selection.item)
            )
    finally:
        working.cancel()


class SessionSelector:
    """The dialog's state. Slow work runs in `work`, on threads, one task at a time."""

    def __init__(self, context: CommandContext) -> None:
        self._context = context
        self._location = files.location_of(context.current)
        path = None if context.session is None else context.session.log.path
        self._current = None if path is None else os.fsencode(path.absolute())
        self._everywhere = False
        self._sort: Sort = "time"
        self._items: dict[bytes, SessionItem] = {}
        self._previews: dict[bytes, SessionPreview] = {}
        self._locks: dict[bytes, bool] = {}
        self._searched = ""
        self._stale = True
        self._unsorted = False
        self._wake = asyncio.Event()
        self._list = SessionList(context.display, self._current)
        self._body = SessionBody(context.display, self._list)
        self._panel = Panel(context.display, "Sessions", self._body, hints=self._hints, fit=self._body.fit)
        self._panel.on_key = self._wake.set
        self._panel.actions |= {PATH: self._toggle_path, SORT: self._toggle_sort}

    def open(self, done: Callable[[SessionSelection | None], None]) -> Component:
        """The panel, which returns a selection."""

        def select(kind: Literal["resume", "rename", "delete"]) -> None:
            item = self._list.selected
            if item is not None:
                done(SessionSelection(kind, self._items[item.value]))

        self._list.on_cancel = lambda: done(None)
        self._list.on_select = lambda item: select("resume")
        self._panel.actions |= {RENAME: lambda: select("rename"), DELETE: lambda: select("delete")}
        return self._panel

    async def work(self) -> None:
        """List, search and preview as the dialog needs, until canceled."""
        self._wake.set()
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self._update()
            except TauError as error:
                self._panel.tell(str(error))

    async def _update(self) -> None:
        if self._stale:
            await self._load()
        elif self._unsorted:
            self._unsorted = False
            await self._show(files.sort_sessions(self._items.values(), self._sort))
        if self._list.filter_text != self._searched:
            await self._search()
        await self._update_view()

    async def _load(self) -> None:
        self._stale = self._unsorted = False
        everywhere, sort = self._everywhere, self._sort
        loop = asyncio.get_running_loop()

        def progress(done: int, total: int) -> None:
            if total >= MANY_FILES:
                text = f"Reading session files: {done:,} of {total:,}"
                loop.call_soon_threadsafe(self._panel.tell, text, "info")

        items, remarks = await asyncio.to_thread(
            files.list_sessions, self._location, everywhere=everywhere, sort=sort, progress=progress
        )
        await self._show(items)
        for remark in remarks:
            self._panel.tell(remark)

    async def _show(self, items: Sequence[SessionItem]) -> None:
        sessions = await asyncio.to_thread(SessionChoices, items, self._sort, by_folder=self._everywhere)
        self._items = {one.row.file: one for one in items}
        self._locks, self._searched = {}, ""
        where = "No sessions yet."
        if not self._everywhere:
            key = self._context.display.keys.label(PATH)
            where = f"No sessions in this folder yet; {key} shows all folders."
        self._list.show(sessions, where)
        scope = "all folders" if self._everywhere else "this folder"
        self._panel.set_note(f"{len(items):,} in {scope}, {_BY[self._sort]}")
        self._context.display.request_render()

    async def _search(self) -> None:
        """Search the content once typing pauses."""
        text = self._list.filter_text
        if text.strip():
            await sleep(self._context.display.timer, PAUSE_S)
            if text != self._list.filter_text:
                self._wake.set()
                return
        matches = await asyncio.to_thread(
            files.search_sessions, self._location, text, everywhere=self._everywhere
        )
        if text == self._list.filter_text:
            self._searched = text
            self._list.show_matches(matches)
            self._context.display.request_render()

    async def _update_view(self) -> None:
        """Check which visible sessions are open elsewhere, and preview the highlighted one."""
        unknown = [item.value for item in self._list.in_view if item.value not in self._locks]
        if unknown:
            self._locks |= await asyncio.to_thread(files.open_elsewhere, unknown)
            self._list.mark_open(file for file in unknown if self._locks.get(file) and file != self._current)
        item = self._list.selected
        file = None if item is None else item.value
        if file is not None and file not in self._previews:
            if len(self._previews) >= MAX_PREVIEWS:
                self._previews.clear()
            self._previews[file] = await asyncio.to_thread(files.preview, self._location, file)
        self._body.show(self._items.get(file or b""), self._previews.get(file or b""))
        self._context.display.request_render()

    def _hints(self) -> list[Hint]:
        return [
            Hint(CONFIRM, "resume"),
            Hint(CANCEL, "close"),
            Hint(PATH, "this folder" if self._everywhere else "all folders"),
            Hint(SORT, "sort"),
            Hint(RENAME, "rename"),
            Hint(DELETE, "delete"),
        ]

    def _toggle_path(self) -> None:
        self._everywhere = not self._everywhere
        self._reload()

    def _toggle_sort(self) -> None:
        self._sort = SORTS[(SORTS.index(self._sort) + 1) % len(SORTS)]
        self._unsorted = True
        self._wake.set()

    def _reload(self) -> None:
        self._stale = True
        self._wake.set()

    def resume(self, item: SessionItem) -> None:
        """Switch to this session."""
        if item.row.file == self._current:
            self._context.say("You are already in this session.")
            return
        notice = ""
        cwd = item.row.summary.cwd
        if cwd and cwd != self._location.cwd:
            notice = f"This session was in {item.folder}; it continues in {self._location.cwd}."
        self._context.actions.leave(SessionSwitch("resume", session=str(item.row.path), notice=notice))

    async def rename(self, item: SessionItem) -> None:
        """Ask for a new name; an empty one removes it."""
        session = self._context.session
        shown = item.row.summary.shown_name
        name = await ask_line(
            self._context, f'Rename "{item.title}"', shown, placeholder="no name", verb="rename"
        )
        if name is None:
            return
        try:
            if item.row.file == self._current and session is not None:
                session.names.rename(name)
                self._context.status_line.refresh()
            else:
                await asyncio.to_thread(files.rename, self._location, item.row.file, name)
        except TauError as error:
            self._panel.tell(str(error))
        self._reload()

    async def delete(self, item: SessionItem) -> None:
        """Confirm, then move the session to the trash."""
        if item.row.file == self._current:
            self._panel.tell("You are in this session; start another one first (/new).")
            return
        days = trashes.KEPT_DAYS
        choices = [
            SelectItem(False, "Keep", "change nothing"),
            SelectItem(True, "Move to trash", f"restore it with tau sessions restore within {days} days"),
        ]
        title = f'Delete "{item.title}"?'
        if not await pick(self._context, title, choices, verb="confirm", filterable=False):
            return
        try:
            id = await asyncio.to_thread(files.delete, self._location, item.row.file, item.title)
            self._panel.tell(f"Moved to the trash; restore it with tau sessions restore {id}.", "info")
        except TauError as error:
            self._panel.tell(str(error))
        self._reload()
