"""Building blocks of dialogs: a frame, a scrolling window, numbered choices."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tau.modes.interactive.screen_protocols import Display
from tau.tui.component import Component, LiveComponent
from tau.tui.input.key import InputEvent, Key
from tau.tui.style import Theme
from tau.tui.text.clean import clean, clean_line
from tau.tui.text.cut import truncate
from tau.tui.text.width import visible_width
from tau.tui.text.wrap import wrap
from tau.tui.widgets.list_parts import spoken_rows

LINEAR_ROWS = 200
MIN_WINDOW_ROWS = 3
MAX_TITLE_CHARS = 4_000
MAX_TITLE_ROWS = 4
NARROW = 60


class DialogChoice(NamedTuple):
    """One answer. `note` follows its label; `key` is a letter that selects it from anywhere."""

    value: Any
    label: str
    description: str = ""
    note: str = ""
    key: str = ""


class FocusDelegate(LiveComponent):
    """A component whose keys go to the one inside it."""

    inside: Component

    @property
    def focused(self) -> bool:
        return self.inside.focused

    @focused.setter
    def focused(self, focused: bool) -> None:
        self.inside.focused = focused

    def handle_input(self, event: InputEvent) -> bool:
        return self.inside.handle_input(event)

    def invalidate(self) -> None:
        self.inside.invalidate()


class Window(Component):
    """A component limited in height. `keys` scroll it; with `ends`, its last rows stay visible."""

    def __init__(
        self,
        theme: Theme,
        child: Component,
        height: Callable[[], int],
        keys: Sequence[str] = (),
        *,
        ends: bool = True,
    ) -> None:
        self.child = child
        self._ends = ends
        self._theme = theme
        self._height = height
        self._keys = keys
        self._offset = 0
        self._room = 1
        self._last = 0
        self._drawn: tuple[Sequence[str], int, int, int] | None = None
        self._rows: Sequence[str] = ()
        self.was_read = False
        """Whether all rows up to the last one have been on the screen."""

    def scroll(self, pages: int) -> bool:
        """Scroll down or up by pages; False if there is nothing to scroll."""
        if not self._last:
            return False
        self._offset = min(max(self._offset + pages * max(self._room - 1, 1), 0), self._last)
        return True

    def invalidate(self) -> None:
        self._drawn = None
        self.child.invalidate()

    def render(self, width: int) -> Sequence[str]:
        inside = self.child.render(width)
        height = LINEAR_ROWS if self._theme.linear else max(self._height(), MIN_WINDOW_ROWS)
        drawn = self._drawn
        if drawn is None or drawn[0] is not inside or drawn[1:] != (width, height, self._offset):
            self._rows = self._window(inside, width, height)
            self._drawn = (inside, width, height, self._offset)
        return self._rows

    def _window(self, inside: Sequence[str], width: int, height: int) -> Sequence[str]:
        if len(inside) <= height:
            self._last = 0
            self.was_read = True
            return inside
        tail = max(1, min(height // 3, 4)) if self._ends else 0
        self._room = height - tail - 1
        self._last = len(inside) - tail - self._room
        start = self._offset = min(self._offset, self._last)
        end = start + self._room
        hidden = len(inside) - tail - end
        self.was_read = self.was_read or not hidden
        gap = self._theme["dim"](self._mark(start + 1, end, len(inside), hidden if tail else 0, width))
        return [*inside[start:end], gap, *inside[len(inside) - tail :]]

    def _mark(self, first: int, last: int, total: int, hidden: int, width: int) -> str:
        """What is visible and how to see the rest, in the longest wording that fits."""
        place = f"rows {first}-{last} of {total}"
        full = f"{place}, {hidden} not shown" if hidden else place
        short = f"{hidden} rows not shown" if hidden else place
        scroll, names = f"; {' and '.join(self._keys)} scroll", f"; {', '.join(self._keys)}"
        if not self._keys:
            scroll = names = ""
        sign = "" if self._theme.linear else f"{self._theme.symbols.ellipsis} "
        for words in (full + scroll, short + scroll, short + names, short):
            if visible_width(sign + words) <= width:
                return sign + words
        return truncate(sign + words, width, self._theme.symbols.ellipsis)


class ChoiceRows:
    """A list of choices, each with a number, or a letter if they have letters. Labels are shown in full."""

    def __init__(
        self,
        theme: Theme,
        choices: Sequence[DialogChoice],
        *,
        at: int = 0,
        multi: bool = False,
        digits: bool = True,
    ) -> None:
        self._theme = theme
        self.choices = list(choices)
        self.at = max(0, min(at, len(self.choices) - 1))
        self.multi = multi
        self.checked: set[int] = set()
        self.lettered = any(choice.key for choice in choices)
        self._digits = digits and not self.lettered
        self._has_moved = False

    @property
    def chosen(self) -> DialogChoice:
        return self.choices[self.at]

    def place_of(self, event: InputEvent) -> int | None:
        """The index a typed digit or letter selects."""
        if not isinstance(event, Key) or event.kind == "release" or not event.text:
            return None
        if self.lettered:
            letter = event.name.lower()
            return next((at for at, choice in enumerate(self.choices) if choice.key == letter), None)
        digit = event.text
        if not self._digits:
            return None
        if len(digit) != 1 or not digit.isascii() or not digit.isdigit() or digit == "0":
            return None
        place = int(digit) - 1
        return place if place < len(self.choices) else None

    def move(self, step: int) -> None:
        self.at = (self.at + step) % len(self.choices)
        self._has_moved = True

    def toggle(self, place: int | None = None) -> None:
        self.checked ^= {self.at if place is None else place}

    def rows(self, width: int, max_rows: int) -> list[str]:
        """As many choices as fit around the highlighted one; descriptions if there is room."""
        places = range(len(self.choices))
        blocks = [self._block(place, width) for place in places]
        if sum(map(len, blocks)) > max_rows:
            blocks = [self._block(place, width, about=place == self.at) for place in places]
        if sum(map(len, blocks)) > max_rows:
            blocks = [self._block(place, width, about=False) for place in places]
        first, last = self._fit(blocks, max_rows)
        shown = [row for block in blocks[first : last + 1] for row in block]
        missing = len(blocks) - (last - first + 1)
        if missing:
            more = truncate(f"  {missing} more", width, self._theme.symbols.ellipsis)
            shown.append(self._theme["dim"](more))
        return shown

    def _fit(self, blocks: Sequence[Sequence[str]], max_rows: int) -> tuple[int, int]:
        """The range of choices that fits around the highlighted one."""
        first = last = self.at
        total = len(blocks[self.at])
        while True:
            if last + 1 < len(blocks) and total + len(blocks[last + 1]) <= max_rows:
                last += 1
                total += len(blocks[last])
            elif first > 0 and total + len(blocks[first - 1]) <= max_rows:
                first -= 1
                total += len(blocks[first])
            else:
                return first, last

    def _block(self, place: int, width: int, *, about: bool = True) -> list[str]:
        theme, choice = self._theme, self.choices[place]
        selected = place == self.at
        label = clean_line(choice.label)
        note = f" ({clean_line(choice.note)})" if choice.note else ""
        if theme.linear:
            return self._in_words(place, label + note, selected, width)
        pointer = theme.symbols.pointer if selected else " " * visible_width(theme.symbols.pointer)
        number = f"[{choice.key}] " if choice.key else f"{place + 1}. " if self._digits and place < 9 else ""
        box = ""
        if self.multi:
            box = (theme.symbols.checkbox_on if place in self.checked else theme.symbols.checkbox_off) + " "
        indent = visible_width(pointer) + 1
        hang = indent + len(number) + visible_width(box)
        if width - hang < 8:
            number, hang = "", indent + visible_width(box)
        room = max(width - hang, 1)
        style = theme["selected"] if selected else theme["text"]
        first, *more = wrap(style(label) + theme["muted"](note), room)
        rows = [f"{theme['accent'](pointer)} {theme['muted'](number)}{box}{first}"]
        rows += [" " * min(hang, width - 1) + row for row in more]
        if choice.description and about:
            words = wrap(theme["muted"](clean_line(choice.description)), room)
            rows += [" " * min(hang, width - 1) + row for row in words[:3]]
        return [truncate(row, width, "") for row in rows]

    def _in_words(self, place: int, label: str, selected: bool, width: int) -> list[str]:
        key = self.choices[place].key or (str(place + 1) if self._digits and place < 9 else "")
        words = f"{key}. {label}" if key else label
        if selected:
            # Once a choice moves, the screen announces only the selection; before that, everything.
            words = f"Selected: {words}" if self._has_moved else f"Marked: {words}"
            words += f" ({place + 1} of {len(self.choices)})"
        if self.multi:
            words += " (checked)" if place in self.checked else " (not checked)"
        about = clean_line(self.choices[place].description)
        return spoken_rows(f"{words}: {about}" if about else words, width)


class DialogFrame(LiveComponent):
    """A frame around `body`: a rule with the title above, a rule below."""

    framed = True

    def __init__(self, display: Display, title: str) -> None:
        self.display = display
        self.theme = display.theme
        self.keys = display.keys
        self.title = clean_line(title)
        self._rows: list[str] = []

    def body(self, width: int) -> Sequence[str]:
        """The rows inside the frame."""
        raise NotImplementedError

    def render(self, width: int) -> Sequence[str]:
        width = max(width, 1)
        theme = self.theme
        inside = self.body(width)
        if not self.framed:
            rows = list(inside)
        elif theme.linear:
            rows = [*wrap(self.title, width), *inside] if self.title else list(inside)
        else:
            rows = [*self._top(width), *inside, theme["borderActive"](theme.symbols.rule * width)]
        if rows != self._rows:
            self._rows = rows
        return self._rows

    def _top(self, width: int) -> list[str]:
        """A rule with the title in it, or below the title if it is longer than the rule."""
        theme, title = self.theme, self.title
        rule, border = theme.symbols.rule, theme["borderActive"]
        rest = width - visible_width(title) - 4
        if not title or rest < 2:
            rows = wrap(title, width)[:MAX_TITLE_ROWS] if title else []
            return [border(rule * width), *(theme["accent"](row) for row in rows)]
        return [f"{border(rule * 2)} {theme['accent'](title)} {border(rule * rest)}"]

    def hint_rows(self, words: Sequence[str], width: int) -> list[str]:
        """Key hints, in few rows."""
        text = ", ".join(word for word in words if word)
        if not text or width < 16:
            return []
        if self.theme.linear:
            return wrap(f"Keys: {text}", width)
        most = 2 if width >= NARROW else 3
        return [self.theme["dim"](row) for row in wrap(text, width)[:most]]

    def key(self, action: str, does: str) -> str:
        """`Esc cancels`; empty if the action has no key."""
        label = self.keys.label(action)
        return f"{label} {does}" if label else ""

    def room(self, taken: int) -> int:
        """How many rows of the screen are left, beside the hints above the dialog."""
        hints = len(self.display.layout.hints.render(self.display.terminal.columns))
        return max(self.display.terminal.rows - taken - 4 - hints, MIN_WINDOW_ROWS)


def long_text(text: str) -> str:
    """Text from outside, shortened in the middle."""
    half = 2 * MAX_TITLE_CHARS
    left_out = len(text) - 2 * half
    if left_out > 0:
        return f"{clean(text[:half])}\n[{left_out:,} characters not shown]\n{clean(text[-half:])}".strip("\n")
    return clean(text).strip("\n")
