"""The frame of every selector: title, content, message and key hints."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from tau.agent.ui import NoticeLevel
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.dialogs.dialog_widgets import FocusDelegate
from tau.modes.interactive.screen_protocols import Display
from tau.tui.component import Component
from tau.tui.input.key import InputEvent
from tau.tui.style import Theme
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import truncate
from tau.tui.text.width import visible_width
from tau.tui.text.wrap import wrap
from tau.tui.widgets.input_field import InputField

CONFIRM, CANCEL = "tui.select.confirm", "tui.select.cancel"
MIN_LIST_ROWS = 5
MAX_MESSAGE_ROWS = 3
ROWS_FOR_TWO = 16
"""From this terminal height on, key hints may take two rows."""

Fit: TypeAlias = Callable[[int, int], None]
"""Receives the rows and width available to the content before it is drawn."""


class Hint(NamedTuple):
    """An active key, by action, with a short description."""

    action: str
    text: str


Hints: TypeAlias = Sequence[Hint] | Callable[[], Sequence[Hint]]


class Panel(FocusDelegate):
    """Never taller than the terminal. `actions` handle keys before the content does.

    The note is at the right end of the title. A `tell` message stays until the next key.
    """

    def __init__(
        self,
        display: Display,
        title: str,
        inside: Component,
        *,
        hints: Hints = (),
        actions: Mapping[str, Callable[[], None]] | None = None,
        fit: Fit | None = None,
    ) -> None:
        self.inside = inside
        self.actions = dict(actions or {})
        self.on_key: Callable[[], object] | None = None
        """Called after each key."""
        self._display = display
        self._title = clean_line(title)
        self._note = ""
        self._hints = hints
        self._fit = fit
        self._message = ""
        self._level: NoticeLevel = "info"
        self._announced: tuple[object, ...] = ()
        self._parts: list[Sequence[str]] = []
        self._drawn_for: tuple[object, ...] = ()
        self._rows: list[str] = []

    def set_note(self, note: str) -> None:
        self._note = clean_line(note)

    def tell(self, text: str, level: NoticeLevel = "warning") -> None:
        """Show a message above the key hints until the next key press."""
        self._message = clean_line(text)
        self._level = level
        self._display.request_render()

    def handle_input(self, event: InputEvent) -> bool:
        self._message = ""
        done = self._act(event) or super().handle_input(event)
        if self.on_key is not None:
            self.on_key()
        return done

    def _act(self, event: InputEvent) -> bool:
        for action, do in self.actions.items():
            if self._display.keys.matches(event, action):
                do()
                return True
        return False

    def invalidate(self) -> None:
        self._drawn_for = ()
        super().invalidate()

    def render(self, width: int) -> list[str]:
        width = max(width, 1)
        height = self._display.terminal.rows
        hints = tuple(self._hints() if callable(self._hints) else self._hints)
        state = (width, height, hints, self._title, self._note, self._message, self._level)
        changed = state != self._drawn_for
        above, below = (self._parts[0], self._parts[2]) if not changed else self._around(width, height, hints)
        if self._display.theme.linear and self._announced != (self._title, self._note, hints):
            # A screen reader announces only the selection, so add the title first.
            self._announced = (self._title, self._note, hints)
            self._display.timer.call_soon(self._display.request_render)
            return [*above, *below]
        if self._fit is not None:
            self._fit(max(height - len(above) - len(below), 1), width)
        inside = self.inside.render(width)
        if changed or inside is not self._parts[1]:
            self._drawn_for = state
            self._parts = [above, inside, below]
            self._rows = [*above, *inside, *below]
        return self._rows

    def _around(self, width: int, height: int, hints: Sequence[Hint]) -> tuple[list[str], list[str]]:
        theme = self._display.theme
        below = []
        if self._message:
            most = MAX_MESSAGE_ROWS if height >= ROWS_FOR_TWO else 1
            rows = wrap(self._message, width)
            if len(rows) > most:
                rows[most - 1] = truncate(" ".join(rows[most - 1 :]), width, theme.symbols.ellipsis)
            below += [theme[self._level](row) for row in rows[:most]]
        keys = [(self._display.keys.label(hint.action), hint.text) for hint in hints]
        shown = [(key, text) for key, text in keys if key]
        if not below or height >= ROWS_FOR_TWO:  # on a short screen, the message goes here
            below += key_rows(theme, shown, width, 2 if height >= ROWS_FOR_TWO else 1)
        return [title_row(theme, self._title, self._note, width)], below


def title_row(theme: Theme, title: str, note: str, width: int) -> str:
    """A rule with the title, and as much of the note as fits at its end."""
    symbols = theme.symbols
    if theme.linear:
        return truncate(f"{title} ({note})" if note else title, width, symbols.ellipsis)
    rule = symbols.rule
    title = truncate(title, max(width - 4, 1), symbols.ellipsis)
    if width < 8:
        return theme["accent"](truncate(title, width, symbols.ellipsis))
    used = visible_width(title) + 4
    fitting = (part for part in (note, note.partition(", ")[0]) if used + visible_width(part) + 5 <= width)
    note = next(fitting, "")
    tail = f" {note} {rule}" if note else ""
    line = rule * (width - used - visible_width(tail)) if rule else ""
    border = theme["border"]
    end = f"{border(line)} {theme['muted'](note)} {border(rule)}" if tail else border(line)
    return f"{border(rule * 2)} {theme['accent'](title)} {end}"


def key_rows(theme: Theme, keys: Sequence[tuple[str, str]], width: int, most: int) -> list[str]:
    """Key hints; those that do not fit into the rows are dropped, last ones first."""
    if theme.linear:
        words = ", ".join(f"{key} {text}" for key, text in keys)
        return wrap(f"Keys: {words}.", width) if words else []
    rows: list[str] = []
    room = 0
    for key, text in keys:
        needed = visible_width(key) + visible_width(text) + 1
        piece = f"{theme['muted'](key)} {theme['dim'](text)}"
        if rows and needed + 3 <= room:
            rows[-1] += theme["dim"](f" {theme.symbols.separator} ") + piece
            room -= needed + 3
        elif len(rows) < most:
            rows.append(truncate(piece, width, theme.symbols.ellipsis))
            room = width - needed
        else:
            break
    return rows


def list_rows(display: Display, room: int) -> int:
    """How many rows a list gets in this space: at most half of the screen, or five."""
    return max(1, min(room, max(MIN_LIST_ROWS, display.terminal.rows // 2)))


async def ask_line(
    context: CommandContext,
    title: str,
    text: str = "",
    *,
    placeholder: str = "",
    validate: Callable[[str], str | None] | None = None,
    verb: str = "save",
) -> str | None:
    """Ask for one line of text in a panel; None if canceled."""

    def make(done: Callable[[str | None], None]) -> Component:
        field = InputField(
            context.display.theme,
            context.display.keys,
            text,
            placeholder=placeholder,
            validate=validate,
            on_submit=done,
            on_cancel=lambda: done(None),
        )
        return Panel(
            context.display, title, field, hints=(Hint("tui.input.submit", verb), Hint(CANCEL, "cancel"))
        )

    return await context.ask(make)
