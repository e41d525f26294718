"""The state of a terminal, and the dispatch from parsed sequences to actions."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from tests.support.terminal.emulator.answers import Answers
from tests.support.terminal.emulator.images import Images
from tests.support.terminal.emulator.look import PLAIN, Look, blank, changed
from tests.support.terminal.emulator.page import Page
from tests.support.terminal.emulator.parser import Parser
from tests.support.terminal.emulator.printer import Printer
from tests.support.terminal.emulator.resize import TakesBack, erase_prompt, resize

LOG_SIZE = 1000
"""How many notifications, clipboard texts and answers are kept."""
_TAB = 8
_MARKERS = frozenset("<=>?")
_LINE_DRAWING = str.maketrans("`abcdefghijklmnopqrstuvwxyz{|}~", "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")


class Habits(NamedTuple):
    """Where terminals differ."""

    reflow: bool = True
    """On a width change, wrapped lines are rewrapped (xterm.js, kitty, VTE) or cropped (xterm)."""
    takes_back: TakesBack = "at the bottom"
    """When it gets taller, rows return from the history: always (VTE, alacritty, xterm), if the cursor is in
    the last row (xterm.js), or never (kitty); otherwise empty rows are added below. A tmux pane: always."""
    multiplexer: bool = False
    """A tmux pane: cleared rows go into its history, and ED 22 is ignored."""
    erases_history: bool = True
    """ED 3 clears the history. GNU screen ignores it; tmux obeys, at the cost of the user's scrollback."""
    erases_full_row: bool = False
    """EL after writing the last column erases that column (xterm, VTE) or nothing (kitty, tmux)."""
    scroll_up_saves: bool = True
    """SU feeds the history (xterm, kitty, tmux), or does not (xterm.js)."""
    any_region_saves: bool = False
    """Rows that leave a region starting below the top feed the history too (tmux)."""
    erases_marked_rows: bool = False
    """A resize of the normal screen erases the prompt, from its mark (OSC 133;A) on (kitty, ghostty)."""


class Notification(NamedTuple):
    """A desktop notification: the protocol (9, 99 or 777) and the message."""

    protocol: int
    title: str
    body: str


class Keyboard:
    """Which key encodings are enabled."""

    def __init__(self) -> None:
        self.stacks: dict[bool, list[int]] = {False: [], True: []}
        """The pushed Kitty flags, on the normal screen and (True) on the alternate one."""
        self.current: dict[bool, int] = {False: 0, True: 0}
        self.modify_other_keys = 0


class Actions(NamedTuple):
    """The action of each sequence. `sequences` are keyed by marker, intermediates and final character."""

    controls: Mapping[str, Callable[["Machine"], None]]
    escapes: Mapping[str, Callable[["Machine"], None]]
    sequences: Mapping[str, Callable[["Machine", list[int]], None]]
    strings: Mapping[str, Callable[["Machine", str], None]]


class Machine:
    """A terminal without a window. Its parser calls `text`, `control`, ..."""

    def __init__(
        self,
        columns: int,
        height: int,
        *,
        actions: Actions,
        habits: Habits,
        answers: Answers | None = None,
        history_limit: int = 100_000,
    ) -> None:
        self.actions = actions
        self.habits = habits
        self.answers = answers
        self.history_limit = history_limit
        self.parser = Parser(self)
        self.replies: deque[str] = deque(maxlen=LOG_SIZE)
        self.on_reply: Callable[[str], None] | None = None
        self.notifications: deque[Notification] = deque(maxlen=LOG_SIZE)
        self.clipboard: deque[str] = deque(maxlen=LOG_SIZE)
        self.bells = 0
        self.params = ""
        """The raw parameters of the current sequence."""
        self.frozen: tuple[list[str], tuple[int, int]] | None = None
        """What is visible while synchronized output holds the screen back: its rows and its cursor."""
        self.reset(columns, height)

    def reset(self, columns: int, height: int) -> None:
        """As after power-on; also RIS."""
        self.main = Page(columns, height, self.history_limit)
        self.main.any_region_saves = self.habits.any_region_saves
        self.alternate = Page(columns, height, 0)
        self.page = self.main
        self.printer = Printer()
        self.pen = PLAIN
        self.origin = False
        self.newline = False
        self.charsets = ("B", "B")
        self.shift = 0
        self.tabs = set(range(0, columns, _TAB))
        self.modes: dict[int, bool] = {7: True, 25: True}
        self.title = ""
        self.titles: list[str] = []
        self.keyboard = Keyboard()
        self.images = Images()
        self.frozen = None
        self.cursor_style = 0
        self.rectangle = False

    @property
    def columns(self) -> int:
        return self.page.columns

    @property
    def height(self) -> int:
        return self.page.height

    @property
    def blank(self) -> Look:
        """The current style of erased cells."""
        return blank(self.pen)

    def text(self, text: str) -> None:
        if self.charsets[self.shift] == "0":
            text = text.translate(_LINE_DRAWING)
        self.printer.write(self.page, text, self.pen)

    def control(self, char: str) -> None:
        self.printer.joinable = False
        action = self.actions.controls.get(char)
        if action is not None:
            action(self)

    def escape(self, intermediates: str, final: str) -> None:
        self.printer.joinable = False
        action = self.actions.escapes.get(intermediates + final)
        if action is not None:
            action(self)
        elif intermediates in ("(", ")"):
            first, second = self.charsets
            self.charsets = (final, second) if intermediates == "(" else (first, final)

    def csi(self, params: str, intermediates: str, final: str) -> None:
        self.printer.joinable = False
        if final == "m" and not intermediates and params[:1] not in _MARKERS:
            self.pen = changed(self.pen, params)
            return
        marker = params[:1] if params[:1] in _MARKERS else ""
        self.params = params[len(marker) :]
        action = self.actions.sequences.get(marker + intermediates + final)
        if action is not None:
            numbers = _numbers(self.params)
            if numbers is not None:
                action(self, numbers)

    def string(self, kind: str, data: str) -> None:
        self.printer.joinable = False
        action = self.actions.strings.get(kind)
        if action is not None:
            action(self, data)

    def reply(self, text: str) -> None:
        """Answer a query, if this terminal answers at all."""
        if self.answers is not None:
            self.replies.append(text)
            if self.on_reply is not None:
                self.on_reply(text)

    def resize(self, columns: int, height: int) -> None:
        reflow, takes_back, multiplexer = (
            self.habits.reflow,
            self.habits.takes_back,
            self.habits.multiplexer,
        )
        self.tabs |= set(range(-(-self.columns // _TAB) * _TAB, columns, _TAB))
        if self.habits.erases_marked_rows and self.page is self.main:
            erase_prompt(self.main)
        resize(self.main, columns, height, reflow=reflow, takes_back=takes_back, multiplexer=multiplexer)
        resize(self.alternate, columns, height, reflow=False, takes_back=takes_back, multiplexer=False)
        self.frozen = None


def _numbers(params: str) -> list[int] | None:
    """Empty ones are 0; None if there is anything but numbers. Sub-parameters are ignored here."""
    if not params:
        return [0]
    if params.isdigit():
        return [min(int(params[:12]), 0x7FFFFFFF)]
    found = []
    for item in params.split(";"):
        number = item.partition(":")[0]
        if number and not number.isdigit():
            return None
        found.append(min(int(number[:12]), 0x7FFFFFFF) if number else 0)
    return found
