"""A pager for long text: scroll, follow, copy, load more."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tau.base.late import late
from tau.modes.interactive.dialogs.basic import CANCEL, PAGE_DOWN, PAGE_UP
from tau.modes.interactive.dialogs.parts import DialogFrame
from tau.modes.interactive.ports import Display, Tasks
from tau.tui.input.key import InputEvent, Key
from tau.tui.text.wrap import wrap
from tau.tui.widgets.scroll_view import ScrollView
from tau.tui.widgets.text import Text

clipboard = late("tau.modes.interactive.composer.clipboard")

START, END = "tui.editor.cursorLineStart", "tui.editor.cursorLineEnd"


class PagerAction(NamedTuple):
    """A letter, its description, and its function."""

    letter: str
    words: str
    do: Callable[[], None]


class Pager(DialogFrame):
    """`read` returns the text; `refresh` calls it again. The view starts at the end."""

    def __init__(
        self,
        display: Display,
        title: str,
        read: Callable[[], str],
        *,
        does: Sequence[PagerAction] = (),
        empty: str = "Nothing to show.",
        tasks: Tasks,
        on_close: Callable[[], None],
    ) -> None:
        super().__init__(display, title)
        self._read = read
        self._actions = (*does, PagerAction("c", "copies", self._copy))
        self._empty = empty
        self._tasks = tasks
        self._on_close = on_close
        self._text = ""
        self._shown = Text(display.theme)
        self._view = ScrollView(display.theme, display.keys, self._shown, 10, follow=True)
        self._message = ""
        self.refresh()

    @property
    def text(self) -> str:
        return self._text

    def refresh(self, message: str = "") -> None:
        """Reload the text, keeping the position or following the end."""
        self._message = message
        text = self._read()
        if text != self._text:
            if self._text and text.startswith(self._text):
                self._shown.append(text[len(self._text) :])
            else:
                self._shown.set_text(text)
            self._text = text

    def handle_input(self, event: InputEvent) -> bool:
        matches = self.keys.matches
        self._message = ""
        if matches(event, CANCEL):
            self._on_close()
        elif self._view.handle_input(event):
            pass
        elif matches(event, START):
            self._view.scroll_to(0)
        elif matches(event, END):
            self._view.scroll_to(1 << 30)
        elif isinstance(event, Key) and (does := self._find_action(event.text)) is not None:
            does.do()
        else:
            return False
        return True

    def invalidate(self) -> None:
        self._view.invalidate()

    def body(self, width: int) -> Sequence[str]:
        hints = self.hint_rows(self._hints(), width)
        notes = wrap(self.theme["info"](self._message), width) if self._message else []
        self._view.set_height(max(self.display.terminal.rows - len(hints) - len(notes) - 6, 3))
        shown = self._view.render(width) if self._text else wrap(self._empty, width)
        return [*shown, *notes, *hints]

    def _hints(self) -> list[str]:
        up, down = self.keys.label(PAGE_UP), self.keys.label(PAGE_DOWN)
        scrolls = f"{up} and {down} scroll" if up and down and self._text else ""
        does = self._actions if self._text else self._actions[:-1]  # there is nothing to copy
        return [scrolls, *(f"{one.letter} {one.words}" for one in does), self.key(CANCEL, "goes back")]

    def _find_action(self, letter: str) -> PagerAction | None:
        return next((one for one in self._actions if one.letter == letter), None)

    def _copy(self) -> None:
        self._tasks.start(self._copy_text())

    async def _copy_text(self) -> None:
        self._message = await clipboard.copy_text(self._text, self.display.terminal)
        self.display.request_render()
