"""The pager: long text on the alternate screen, with search, expanding, copying and $PAGER."""

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tau.base.late import late
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.dialogs.basic import CANCEL, DOWN, PAGE_DOWN, PAGE_UP, UP
from tau.modes.interactive.dialogs.dialog_widgets import LINEAR_ROWS
from tau.modes.interactive.dialogs.paged_rows import PagedRows, PagerBlock, PagerPlace
from tau.modes.interactive.dialogs.pager_search import PagerSearch
from tau.modes.interactive.screen_protocols import Display, Tasks
from tau.modes.interactive.selectors.panel import ROWS_FOR_TWO, key_rows, title_row
from tau.tui.component import LiveComponent
from tau.tui.input.key import InputEvent, Key
from tau.tui.render.audit import visible_text
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import truncate
from tau.tui.widgets.input_field import InputField
from tau.tui.widgets.text import Text

clipboard = late("tau.modes.interactive.composer.clipboard")
external_pager = late("tau.modes.interactive.composer.external_pager")

OPEN = "app.tools.expand"
_LEAST_ROWS_WITH_HINTS = 6


class PagerAction(NamedTuple):
    """A letter, its description (empty while it would do nothing), and its function."""

    letter: str
    words: str
    do: Callable[[], None]


class TextPagerBlock:
    """One text, as in a log."""

    is_prompt = can_expand = False
    expanded = True

    def __init__(self, text: Text) -> None:
        self._text = text

    def expand(self, expanded: bool) -> None:
        """There is nothing to expand."""

    def rows(self, width: int) -> Sequence[str]:
        return self._text.render(width)


class Pager(LiveComponent):
    """Shows `blocks`, from the end, until `on_close`. `waiting` names a question below it."""

    def __init__(
        self,
        display: Display,
        title: str,
        blocks: Callable[[], Sequence[PagerBlock]],
        *,
        does: Sequence[PagerAction] = (),
        empty: str = "Nothing to show.",
        waiting: Callable[[], str] = lambda: "",
        tasks: Tasks,
        on_close: Callable[[], None],
    ) -> None:
        self._display = display
        self.title = clean_line(title)
        self._view = PagedRows(blocks)
        self.actions = does
        self._empty = empty
        self._waiting = waiting
        self._tasks = tasks
        self._on_close = on_close
        self._field: InputField | None = None
        self._search = PagerSearch(self._view, tasks, self.say)
        self._message = ""
        self._keys: dict[str, Callable[[], object]] = {
            UP: lambda: self._view.scroll_by(-1),
            DOWN: lambda: self._view.scroll_by(1),
            PAGE_UP: lambda: self._view.scroll_by(1 - self._view.height),
            PAGE_DOWN: lambda: self._view.scroll_by(self._view.height - 1),
            "app.pager.up": lambda: self._view.scroll_by(-1),
            "app.pager.down": lambda: self._view.scroll_by(1),
            "app.pager.pageUp": lambda: self._view.scroll_by(1 - self._view.height),
            "app.pager.pageDown": lambda: self._view.scroll_by(self._view.height - 1),
            "app.pager.top": lambda: self._view.go_to(PagerPlace()),
            "app.pager.bottom": self._view.go_to_end,
            "app.pager.previousPrompt": lambda: self._go_to_prompt(-1),
            "app.pager.nextPrompt": lambda: self._go_to_prompt(1),
            "app.pager.previousBlock": lambda: self._view.select(self._view.find_block(-1)),
            "app.pager.nextBlock": lambda: self._view.select(self._view.find_block(1)),
            "app.pager.search": self._open_search,
            "app.pager.nextMatch": lambda: self._search.next(1),
            "app.pager.previousMatch": lambda: self._search.next(-1),
            "app.pager.expand": self._expand_one,
            "app.pager.expandAll": self._expand_all,
            "app.pager.copy": lambda: self._tasks.start(self._copy()),
            "app.pager.open": lambda: self._tasks.start(self._open_external()),
            "app.pager.close": self._on_close,
            OPEN: self._on_close,
            CANCEL: self._on_close,
        }

    def say(self, message: str) -> None:
        """Show a message until the next key."""
        self._message = message
        self._display.request_render()

    def stop(self) -> None:
        """Stop searching."""
        self._search.stop()

    def last_text(self, rows: int) -> str:
        """The title and the last rows, as text."""
        self._view.resize(max(self._display.terminal.columns, 1), rows)
        shown = [visible_text(row) for _, row in self._view.window()] or [self._empty]
        return "\n".join([self.title, *shown])

    def handle_input(self, event: InputEvent) -> bool:
        if self._field is not None:
            return self._field.handle_input(event)
        if not isinstance(event, Key) or event.kind == "release":
            return True
        self._message = ""
        self._search.stop()
        for action in self.actions:
            if action.letter == event.text:
                action.do()
                return True
        for name, do in self._keys.items():
            if self._display.keys.matches(event, name):
                do()
                break
        return True

    def invalidate(self) -> None:
        for block in self._view.blocks:
            block.expand(block.expanded)

    def render(self, width: int) -> list[str]:
        rows = self._display.terminal.rows
        title, hints = [title_row(self._display.theme, self.title, "", width)], self._hints(width)
        if rows < _LEAST_ROWS_WITH_HINTS:
            title, hints = [], []
        room = max(rows - len(title) - len(hints) - 1, 1)
        self._view.resize(max(width - 1, 1), room)
        shown = self._view.window()
        chosen = self._view.chosen if len(self._view.blocks) > 1 else -1
        body = [self._row(row, is_chosen=block == chosen) for block, row in shown]
        body = body or [truncate(self._empty, width, "")]
        body += [""] * (room - len(body))
        return [*title, *body, self._status(width), *hints]

    def _row(self, row: str, *, is_chosen: bool) -> str:
        theme = self._display.theme
        row = self._search.highlight(row, theme["matched"])
        return f"{theme['accent'](theme.symbols.quote) if is_chosen and row else ' '}{row}"

    def _status(self, width: int) -> str:
        theme = self._display.theme
        if self._field is not None:
            return next(iter(self._field.render(width)), "")
        waiting = self._waiting()
        if waiting:
            key = self._display.keys.label("app.pager.close")
            return theme["warning"](
                truncate(f"{waiting} Press {key} to answer.", width, theme.symbols.ellipsis)
            )
        text = self._message or self._position()
        return theme["info" if self._message else "muted"](truncate(text, width, theme.symbols.ellipsis))

    def _position(self) -> str:
        count = len(self._view.blocks)
        if not count:
            return ""
        if count > 1:
            place = f"Block {self._view.chosen + 1} of {count}"
        else:
            total, first = len(self._view.rows_of(0)), self._view.top.row
            place = f"Rows {first + 1}-{min(first + self._view.height, total)} of {total}"
        return f"{place} (end)" if self._view.follows else place

    def _hints(self, width: int) -> list[str]:
        label = self._display.keys.label
        back, forward = label("app.pager.previousPrompt"), label("app.pager.nextPrompt")
        keys = [(label("app.pager.close"), "close"), (label("app.pager.search"), "search")]
        keys += [(one.letter.upper(), one.words) for one in self.actions if one.words]
        more = [("copy", "copy"), ("open", "$PAGER")]
        if len(self._view.blocks) > 1:
            keys += [(f"{back} {forward}", "prompts")] if back and forward else []
            more = [("nextBlock", "next block"), ("expand", "expand"), ("expandAll", "all"), *more]
        keys += [(label(f"app.pager.{name}"), does) for name, does in more]
        most = 2 if self._display.terminal.rows >= ROWS_FOR_TWO else 1
        return key_rows(self._display.theme, [(key, does) for key, does in keys if key], width, most)

    def _go_to_prompt(self, step: int) -> None:
        found = self._view.find_prompt(step)
        if found is None:
            self.say("No earlier prompt." if step < 0 else "No later prompt.")
        else:
            self._view.go_to(PagerPlace(found, 1 if found else 0))

    def _expand_one(self) -> None:
        blocks = self._view.blocks
        if blocks and (block := blocks[chosen := self._view.chosen]).can_expand:
            block.expand(not block.expanded)
            self._view.select(chosen)
        else:
            self.say("Nothing to expand here.")

    def _expand_all(self) -> None:
        blocks = [block for block in self._view.blocks if block.can_expand]
        expanded = not all(block.expanded for block in blocks)
        for block in blocks:
            block.expand(expanded)
        self.say("All expanded." if expanded else "All collapsed.")

    def _open_search(self) -> None:
        field = InputField(
            self._display.theme,
            self._display.keys,
            prompt="/",
            on_submit=self._submit_search,
            on_cancel=self._close_search,
        )
        field.focused = True
        self._field = field

    def _close_search(self) -> None:
        self._field = None

    def _submit_search(self, text: str) -> None:
        self._field = None
        self._search.start(text)

    async def _copy(self) -> None:
        if not self._view.blocks:
            self.say("There is nothing to copy.")
            return
        text = _plain(self._view.rows_of(self._view.chosen))
        self.say(await clipboard.copy_text(text, self._display.terminal))

    async def _open_external(self) -> None:
        parts: list[str] = []
        for block in range(len(self._view.blocks)):
            parts.append(_plain(self._view.rows_of(block)))
            await asyncio.sleep(0)
        self.say(await external_pager.page("\n\n".join(part for part in parts if part), self._display))


def _plain(rows: Sequence[str]) -> str:
    return "\n".join(visible_text(row) for row in rows).strip("\n")


class TextPager(Pager):
    """Shows one text that `read` returns; `refresh` reads it again."""

    def __init__(
        self,
        context: CommandContext,
        title: str,
        read: Callable[[], str],
        *,
        does: Sequence[PagerAction] = (),
        empty: str,
        on_close: Callable[[], None],
    ) -> None:
        self._read = read
        self._shown = Text(context.display.theme)
        self._text = ""
        blocks = [TextPagerBlock(self._shown)]
        super().__init__(
            context.display,
            title,
            lambda: blocks if self._text else [],
            does=does,
            empty=empty,
            waiting=lambda: waiting_question(context),
            tasks=context.tasks,
            on_close=on_close,
        )
        self.refresh()

    def refresh(self, message: str | None = None) -> None:
        """Read the text again, keeping the position or following the end; None keeps the message."""
        text = self._read()
        if text != self._text:
            if self._text and text.startswith(self._text):
                self._shown.append(text[len(self._text) :])
            else:
                self._shown.set_text(text)
            self._text = text
        self.say(self._message if message is None else message)


def waiting_question(context: CommandContext) -> str:
    """What the pager says while a dialog below it waits."""
    return "A question is waiting." if context.dialogs.open else ""


async def show_pager(context: CommandContext, make: Callable[[Callable[[], None]], Pager]) -> None:
    """Show what `make(close)` returns on the alternate screen until it closes.

    A screen reader gets the end of the text as lines: it cannot follow a screen that is redrawn.
    """
    screen = context.display.screen
    closed = asyncio.get_running_loop().create_future()
    pager = make(lambda: None if closed.done() else closed.set_result(None))
    if context.display.theme.linear:
        context.say(pager.last_text(LINEAR_ROWS))
        pager.stop()
        return
    screen.show_alternate(pager)
    try:
        await closed
    finally:
        pager.stop()
        screen.show_alternate(None)
