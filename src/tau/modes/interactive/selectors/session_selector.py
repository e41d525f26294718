"""Chooses a session to resume: from this folder or all, by title or content."""

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from tau.base.errors import TauError
from tau.base.late import late
from tau.coding.session_index.preview import SessionPreview
from tau.modes.interactive.selectors import session_actions as files
from tau.modes.interactive.selectors.panel import CANCEL, CONFIRM, Hint, Panel, ask_line
from tau.modes.interactive.selectors.pick_list import pick
from tau.modes.interactive.selectors.session_actions import SORTS, SessionItem, Sort
from tau.modes.interactive.selectors.session_list_view import SessionBody, SessionChoices, SessionList
from tau.tui.timer import sleep
from tau.tui.widgets.select_list import SelectItem

if TYPE_CHECKING:
    from tau.modes.interactive.command_context import CommandContext
    from tau.tui.component import Component

switches = late("tau.modes.interactive.session_switch")
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
    found: SessionItem


async def choose_session(context: "CommandContext") -> None:
    """Ask for a session and resume it. Renaming and deleting return to the list."""
    picker = SessionSelector(context)
    working = context.start(picker.work())
    try:
        while (wish := await context.ask(picker.open)) is not None:
            if wish.kind == "resume":
                picker.resume(wish.found)
                return
            await (picker.rename(wish.found) if wish.kind == "rename" else picker.delete(wish.found))
    finally:
        working.cancel()


class SessionSelector:
    """The dialog's state. Slow work runs in `work`, on threads, one task at a time."""

    def __init__(self, context: "CommandContext") -> None:
        self._context = context
        self._place = files.place_of(context.current)
        path = None if context.session is None else context.session.log.path
        self._current = None if path is None else os.fsencode(path.absolute())
        self._everywhere = False
        self._sort: Sort = "time"
        self._found: dict[bytes, SessionItem] = {}
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

    def open(self, done: Callable[[SessionSelection | None], None]) -> "Component":
        """The panel, which returns a selection."""

        def wish(kind: Literal["resume", "rename", "delete"]) -> None:
            item = self._list.selected
            if item is not None:
                done(SessionSelection(kind, self._found[item.value]))

        self._list.on_cancel = lambda: done(None)
        self._list.on_select = lambda item: wish("resume")
        self._panel.actions |= {RENAME: lambda: wish("rename"), DELETE: lambda: wish("delete")}
        return self._panel

    async def work(self) -> None:
        """List, search and preview as the dialog needs, until canceled."""
        self._wake.set()
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self._catch_up()
            except TauError as error:
                self._panel.tell(str(error))

    async def _catch_up(self) -> None:
        if self._stale:
            await self._load()
        elif self._unsorted:
            self._unsorted = False
            await self._show(files.in_order(self._found.values(), self._sort))
        if self._list.filter_text != self._searched:
            await self._search()
        await self._look_at_view()

    async def _load(self) -> None:
        self._stale = self._unsorted = False
        everywhere, sort = self._everywhere, self._sort
        loop = asyncio.get_running_loop()

        def progress(done: int, total: int) -> None:
            if total >= MANY_FILES:
                text = f"Reading session files: {done:,} of {total:,}"
                loop.call_soon_threadsafe(self._panel.tell, text, "info")

        found, remarks = await asyncio.to_thread(
            files.list_sessions, self._place, everywhere=everywhere, sort=sort, progress=progress
        )
        await self._show(found)
        for remark in remarks:
            self._panel.tell(remark)

    async def _show(self, found: Sequence[SessionItem]) -> None:
        sessions = await asyncio.to_thread(SessionChoices, found, self._sort, by_folder=self._everywhere)
        self._found = {one.row.file: one for one in found}
        self._locks, self._searched = {}, ""
        where = "No sessions yet."
        if not self._everywhere:
            key = self._context.display.keys.label(PATH)
            where = f"No sessions in this folder yet; {key} shows all folders."
        self._list.show(sessions, where)
        scope = "all folders" if self._everywhere else "this folder"
        self._panel.set_title(note=f"{len(found):,} in {scope}, {_BY[self._sort]}")
        self._context.display.request_render()

    async def _search(self) -> None:
        """Search the content once typing pauses."""
        text = self._list.filter_text
        if text.strip():
            await sleep(self._context.display.timer, PAUSE_S)
            if text != self._list.filter_text:
                self._wake.set()
                return
        said = await asyncio.to_thread(files.search_sessions, self._place, text, everywhere=self._everywhere)
        if text == self._list.filter_text:
            self._searched = text
            self._list.note_said(said)
            self._context.display.request_render()

    async def _look_at_view(self) -> None:
        """Check which visible sessions are open elsewhere, and preview the highlighted one."""
        unknown = [item.value for item in self._list.in_view if item.value not in self._locks]
        if unknown:
            self._locks |= await asyncio.to_thread(files.open_elsewhere, unknown)
            self._list.note_open(file for file in unknown if self._locks.get(file) and file != self._current)
        item = self._list.selected
        file = None if item is None else item.value
        if file is not None and file not in self._previews:
            if len(self._previews) >= MAX_PREVIEWS:
                self._previews.clear()
            self._previews[file] = await asyncio.to_thread(files.preview, self._place, file)
        self._body.show(self._found.get(file or b""), self._previews.get(file or b""))
        self._context.display.request_render()

    def _hints(self) -> list[Hint]:
        return [
            Hint(CONFIRM, "resume"),
            Hint(CANCEL, "leave"),
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

    def resume(self, found: SessionItem) -> None:
        """Switch to this session."""
        if found.row.file == self._current:
            self._context.say("You are already in this session.")
            return
        notice = ""
        cwd = found.row.summary.cwd
        if cwd and cwd != self._place.cwd:
            notice = f"This session was in {found.folder}; it continues in {self._place.cwd}."
        self._context.actions.leave(
            switches.SessionSwitch("resume", session=str(found.row.path), notice=notice)
        )

    async def rename(self, found: SessionItem) -> None:
        """Ask for a new name; an empty one removes it."""
        session = self._context.session
        shown = found.row.summary.shown_name
        name = await ask_line(
            self._context, f"Rename {found.title}", shown, placeholder="no name", verb="rename"
        )
        if name is None:
            return
        try:
            if found.row.file == self._current and session is not None:
                session.names.rename(name)
                self._context.status_line.refresh()
            else:
                await asyncio.to_thread(files.rename, self._place, found.row.file, name)
        except TauError as error:
            self._panel.tell(str(error))
        self._reload()

    async def delete(self, found: SessionItem) -> None:
        """Confirm, then move the session to the trash."""
        if found.row.file == self._current:
            self._panel.tell("You are in this session; start another one first (/new).")
            return
        days = trashes.KEPT_DAYS
        items = [
            SelectItem(False, "Keep", "change nothing"),
            SelectItem(True, "Move to trash", f"restore it with tau sessions restore within {days} days"),
        ]
        title = f"Delete {found.title}?"
        if not await pick(self._context, title, items, verb="confirm", filterable=False):
            return
        try:
            id = await asyncio.to_thread(files.delete, self._place, found.row.file, found.title)
            self._panel.tell(f"Moved to the trash; restore it with tau sessions restore {id}.", "info")
        except TauError as error:
            self._panel.tell(str(error))
        self._reload()
