"""What must hold for any screen: nothing overflows, overlaps, or is illegible."""

import re
from collections.abc import Iterator

from tau.modes.interactive.themes.appearance import load_theme, tokens_of
from tau.tui.style import UNICODE
from tests.modes.interactive.screens.screen_rig import Screen, flat
from tests.modes.interactive.test_themes import contrast
from tests.support.terminal.virtual import Cell, VirtualTerminal

BOXES = re.compile("[\u2500-\u259f]")
LINES = {tokens_of(load_theme("paper"))["border"].fg}
GROUND, INK = "#ffffff", "#000000"
LEAST_CONTRAST, LEAST_OF_LINES = 3.0, 1.5
_COLOR = re.compile(r"\x1b\[([0-9;:]*)m")
_OUR_SIGNS = {sign for signs in UNICODE for sign in "".join(signs)}


def cells(terminal: VirtualTerminal) -> Iterator[Cell]:
    for row in range(terminal.rows):
        for column in range(terminal.columns):
            yield terminal.cell(row, column)


def check_place(terminal: VirtualTerminal) -> None:
    """All rows fit, and the cursor is on the screen."""
    assert not any(terminal.wrapped()), "a row is wider than the screen"
    row, column = terminal.cursor
    assert 0 <= row < terminal.rows and 0 <= column <= terminal.columns


def check_shown(text: str, wanted: tuple[str, ...]) -> None:
    there = flat(text)
    missing = [words for words in wanted if flat(words) not in there]
    assert not missing, f"missing {missing}:\n{text}"


def cursor_place(terminal: VirtualTerminal) -> tuple[int, int] | None:
    """Where a cursor is to be seen: the terminal's, or the drawn one while an answer streams."""
    if terminal.cursor_visible:
        return terminal.cursor
    places = [(row, column) for row in range(terminal.rows) for column in range(terminal.columns)]
    drawn = [place for place in places if "inverse" in terminal.cell(*place).attrs]
    return drawn[0] if len(drawn) == 1 else None


def check_cursor(screen: Screen, terminal: VirtualTerminal) -> None:
    """It is behind the typed text, or hidden where nothing is typed."""
    place = cursor_place(terminal)
    if screen.typed is None:
        assert place is None
        return
    assert place is not None
    row, column = place
    before = _unsigned("".join(terminal.cell(row, place).char for place in range(column)))
    typed = _unsigned(screen.typed)
    assert before.endswith(typed) or (before and typed.endswith(before)), (before, typed)
    if not screen.opens:
        below = terminal.screen()[row + 1 :]
        assert any(text.startswith(("───", "---")) for text in below), "it is not in the editor"


def _unsigned(text: str) -> str:
    """Without symbols, which differ between looks."""
    return re.sub("[❯>•*]", "", flat(text))


def check_boxes(terminal: VirtualTerminal) -> None:
    """Corners have counterparts, and crossing lines continue above and below."""
    rows = [
        [terminal.cell(row, column).char for column in range(terminal.columns)]
        for row in range(terminal.rows)
    ]
    for at, row in enumerate(rows):
        for column, char in enumerate(row):
            if char == "╭":
                right = row.index("╮", column)
                end = next(place for place in range(at + 1, len(rows)) if rows[place][column] != "│")
                assert rows[end][column] == "╰" and rows[end][right] == "╯", (at, column)
            if char == "┼":
                assert rows[at - 1][column] == "│" and rows[at + 1][column] == "│", (at, column)


def check_contrast(terminal: VirtualTerminal) -> None:
    """Everything is legible on a white background."""
    weak: dict[tuple[str, str], str] = {}
    for cell in cells(terminal):
        front, back = cell.fg or INK, cell.bg or GROUND
        if "inverse" in cell.attrs:
            front, back = back, front
        if cell.char.strip() and front.startswith("#") and back.startswith("#"):
            least = LEAST_OF_LINES if cell.fg in LINES else LEAST_CONTRAST
            if contrast(front, back) < least:
                weak[(front, back)] = weak.get((front, back), "") + cell.char
    assert not weak, weak


def check_no_color(terminal: VirtualTerminal) -> None:
    """No written sequence sets a color, and no cell has one."""
    for text in terminal.writes:
        for found in _COLOR.finditer(text):
            numbers = [int(number) for number in re.split("[;:]", found[1]) if number]
            assert not any(30 <= number <= 49 or 90 <= number <= 107 for number in numbers), found[0]
    assert not any(cell.fg or cell.bg for cell in cells(terminal))


def check_ascii(text: str, screen: Screen) -> None:
    """Only text from users, models and files has other characters."""
    own = (set(repr(screen)) - _OUR_SIGNS) | set(screen.own)
    strange = {
        row for row in text.splitlines() if any(not letter.isascii() and letter not in own for letter in row)
    }
    assert not strange, "\n".join(strange)
