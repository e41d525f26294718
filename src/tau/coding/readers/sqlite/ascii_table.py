"""Format rows and columns as a plain-text table of limited width."""

from collections.abc import Sequence

from tau.base.late import late
from tau.base.text import plain

unicodedata = late("unicodedata")

MAX_WIDTH = 120
MAX_COLUMN = 40
_LEAST = 6  # narrower than this, a truncated cell is useless
_FRAME = 3  # ` | ` between two columns
_NAMED = 20
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def most_columns(width: int = MAX_WIDTH) -> int:
    """Return the maximum number of columns that fit; callers may omit the cells of others."""
    return (width - 1) // (1 + _FRAME)


def ascii_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int = MAX_WIDTH,
    column_width: int = MAX_COLUMN,
) -> str:
    """Format the table. Long cells are truncated; columns that do not fit are named in a last line."""
    count = min(len(columns), most_columns(width))
    table = [[one_line(cell) for cell in row[:count]] for row in (columns, *rows)]
    natural = [min(max(max(cell_width(row[at]) for row in table), 1), column_width) for at in range(count)]
    widths = _fitted(natural, width, complete=count == len(columns))
    lines = [_line(row, widths) for row in table]
    lines.insert(1, "|" + "|".join("-" * (each + 2) for each in widths) + "|")
    left_out = columns[len(widths) :]
    if left_out:
        names = ", ".join(one_line(name)[:column_width] for name in left_out[:_NAMED])
        more = ", …" if len(left_out) > _NAMED else ""
        lines.append(f"[{len(left_out)} more columns do not fit: {names}{more}]")
    return "\n".join(lines)


def one_line(text: str) -> str:
    """Put untrusted text on one line, with visible line endings."""
    for mark, escape in _ESCAPES.items():
        text = text.replace(mark, escape)
    return plain(text)


def cell_width(text: str) -> int:
    """Estimate the terminal columns: wide letters count twice, combining ones not at all."""
    return len(text) if text.isascii() else sum(_letter_width(letter) for letter in text)


def _letter_width(letter: str) -> int:
    if letter.isascii():
        return 1
    if unicodedata.combining(letter) or unicodedata.category(letter) == "Cf":
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _fitted(natural: list[int], width: int, *, complete: bool) -> list[int]:
    """Return the widths of the columns that fit: shrink the widest first, then drop the last."""
    if complete and sum(natural) + _FRAME * len(natural) + 1 <= width:
        return natural
    # As many as fit when each is cut to the least useful width.
    shown, used = 0, 1
    while shown < len(natural) and used + min(natural[shown], _LEAST) + _FRAME <= width:
        used += min(natural[shown], _LEAST) + _FRAME
        shown += 1
    widths = natural[: max(shown, 1)]
    room = max(width - 1 - _FRAME * len(widths), 1)
    while sum(widths) > room:
        widest = max(widths)
        second = max((each for each in widths if each < widest), default=0)
        cut = min(widest - second, -(-(sum(widths) - room) // widths.count(widest)))
        widths = [each - cut if each == widest else each for each in widths]
    return widths


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(_padded(cells[at], width) for at, width in enumerate(widths)) + " |"


def _padded(text: str, width: int) -> str:
    if cell_width(text) > width:
        taken, used = "", 0
        for letter in text:
            used += _letter_width(letter)
            if used > width - 1:
                break
            taken += letter
        text = f"{taken}…"
    return text + " " * (width - cell_width(text))
