"""Makes untrusted text safe to show: no control characters, no sequences except allowed colors.

Characters that hide in text or reverse it become visible.
"""

import re
from collections.abc import Iterator
from functools import cache

from tau.base.text import reveal_invisible
from tau.tui.text.sgr import LINK_END, Slot, close_slots, is_sgr, open_slots, parse_sgr
from tau.tui.text.width import grapheme_width, graphemes, is_simple, split_styles, visible_width

_MAX_COLUMN = 512
"""The rightmost column a cursor movement may reach."""

Open = dict[Slot, str]
"""The styles that a line leaves open."""
# What may follow a control character as part of its sequence. A string (OSC, DCS, APC, PM, SOS) ends at any
# control character: an unfinished one takes linear time, and its text stays visible.
_SEQUENCE = (
    r"(?:(?:(?<=\x1b)[P\]X^_]|(?<=[\x90\x98\x9d-\x9f]))[^\x00-\x1f\x7f-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|(?:(?<=\x1b)\[|(?<=\x9b))[0-?]*[ -/]*[@-~]"
    r"|(?<=\x1b)[ -/]*[0-~])?"
)
# Invisible characters that reverse text or hide in it.
_INVISIBLE = r"\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"
_SAFE_SLOTS = frozenset(("fg", "bg", "bold", "dim", "italic", "underline", "strike", "inverse"))
_SCHEMES = ("http://", "https://", "mailto:", "file://")
_MAX_URL_CHARS = 2048


class TabStops:
    """Tab stops: every `width` columns, on the whole screen. Set before the first frame."""

    width = 4


TAB_WIDTH = TabStops()


class LineCells:
    """One terminal line: its cells and the cursor. The second cell of a wide character is empty."""

    __slots__ = ("cells", "column")

    def __init__(self) -> None:
        self.cells: list[tuple[str, Open]] = []
        self.column = 0

    def put(self, grapheme: str, style: Open) -> None:
        width = grapheme_width(grapheme)
        if width == 0:
            return
        start, end = self.column, self.column + width
        self._fill(end)
        self._break(start)
        self._break(end)
        self.cells[start:end] = [(grapheme, style), ("", style)][:width]
        self.column = end

    def control(self, piece: str) -> None:
        if piece == "\r":
            self.column = 0
        elif piece == "\x08":
            self.column = max(self.column - 1, 0)
        elif piece == "\t":
            self.column += TAB_WIDTH.width - self.column % TAB_WIDTH.width
        elif piece in "\v\f\u2028\u2029":
            self.put(" ", {})
        elif piece[:2] == "\x1b[" and piece[-1] in "CDGK":
            digits = piece[2:-1]
            if not digits.isdecimal() or len(digits) > 4:
                digits = "" if not digits else str(_MAX_COLUMN)
            self._move(piece[-1], int(digits) if digits else 0)

    def _move(self, kind: str, number: int) -> None:
        if kind == "G":
            self.column = min(max(number, 1), _MAX_COLUMN) - 1
        elif kind == "C":
            self.column = max(min(self.column + max(number, 1), _MAX_COLUMN), self.column)
        elif kind == "D":
            self.column = max(self.column - max(number, 1), 0)
        elif number == 0:
            self._break(self.column)
            del self.cells[self.column :]
        elif number == 1:
            self._break(self.column + 1)
            self.cells[: self.column + 1] = [(" ", {})] * min(self.column + 1, len(self.cells))
        elif number == 2:
            self.cells.clear()

    def _fill(self, length: int) -> None:
        if len(self.cells) < length:
            self.cells += [(" ", {})] * (length - len(self.cells))

    def _break(self, column: int) -> None:
        """Blank the other half of a wide character that is overwritten."""
        if 0 < column < len(self.cells) and not self.cells[column][0]:
            self.cells[column - 1] = self.cells[column] = (" ", {})


@cache
def _unsafe() -> re.Pattern[str]:
    """Everything to remove, except the few controls with a meaning in plain text."""
    return re.compile(rf"[\x00-\x07\x0e-\x1f\x7f-\x9f{_INVISIBLE}]{_SEQUENCE}")


@cache
def _controls() -> re.Pattern[str]:
    """Every control character, with its sequence."""
    return re.compile(rf"[\x00-\x1f\x7f-\x9f{_INVISIBLE}\u2028\u2029]{_SEQUENCE}")


@cache
def _going_back() -> re.Pattern[str]:
    """Controls that move the cursor back within a line."""
    return re.compile(r"[\r\x08]|\x1b\[[0-9]*[CDGK]")


@cache
def _surrogates() -> re.Pattern[str]:
    return re.compile("[\ud800-\udfff]")


def _is_clean(text: str) -> bool:
    return is_simple(text) or ("\n" in text and is_simple(text.replace("\n", "")))


def clean(text: str) -> str:
    """Remove control characters and escape sequences, expand tabs and reveal what hides; only newlines stay.

    A carriage return ends a line, a backspace removes the character before it.
    """
    if _is_clean(text):
        return text
    text = _unsafe().sub("", _revealed(text)).replace("\v", "\n").replace("\f", "\n")
    if "\x08" in text:
        text = _apply_backspaces(text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\t" in text:
        text = _without_tabs(text)
    if text.isascii():
        return text
    text = _surrogates().sub("\ufffd", text)
    return "\n".join(map(_without_loose_marks, text.split("\n")))


def _revealed(text: str) -> str:
    """Text in which characters that hide or reverse are visible; line separators are blanks."""
    if text.isascii():
        return text
    return reveal_invisible(text.replace("\u2028", " ").replace("\u2029", " "))


def clean_line(text: str) -> str:
    """Clean text into one line; every run of whitespace becomes one space."""
    if text.isascii() and text.isprintable() and "  " not in text:
        return text.strip(" ")
    return _without_loose_marks(" ".join(clean(text).split()))


def clean_row(text: str) -> str:
    """Text from outside as one line; its blanks stay."""
    return clean(text).replace("\n", " ")


def link(url: str, text: str) -> str:
    """Return the text as a hyperlink if the URL is safe to open, else the text alone."""
    if not text or len(url) > _MAX_URL_CHARS or not url.lower().startswith(_SCHEMES):
        return text
    if not url.isascii() or " " in url:
        url = "".join(c if c.isascii() and c != " " else _quote(c) for c in url)
    # Control characters, which must not be here, are not printable.
    if len(url) > _MAX_URL_CHARS or not url.isprintable():
        return text
    return f"\x1b]8;;{url}\x1b\\{text}{LINK_END}"


def _quote(character: str) -> str:
    if _controls().match(character):
        return character
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "replace"))


def _apply_backspaces(text: str) -> str:
    out: list[str] = []
    for character in text:
        if character != "\x08":
            out.append(character)
        elif out and out[-1] not in "\r\n":
            out.pop()
    return "".join(out)


def _without_tabs(text: str) -> str:
    if text.isascii():
        return text.expandtabs(TAB_WIDTH.width)
    return "\n".join(_expand_line_tabs(line) if "\t" in line else line for line in text.split("\n"))


def _expand_line_tabs(line: str) -> str:
    out: list[str] = []
    column = 0
    *pieces, rest = line.split("\t")
    for piece in pieces:
        column += visible_width(piece)
        blanks = TAB_WIDTH.width - column % TAB_WIDTH.width
        out.append(piece + " " * blanks)
        column += blanks
    return "".join(out) + rest


def _without_loose_marks(line: str) -> str:
    """Drop leading combining marks, which would join whatever is drawn before the line."""
    start = 0
    while start < len(line) and line[start] > "\u02ff" and grapheme_width(line[start]) == 0:
        start += 1
    return line[start:]


def clean_styled(text: str) -> str:
    """Keep colors and attributes and remove all else; each line opens and closes its own styles.

    Text overwritten after a carriage return, a backspace or an erased line is gone, as on a terminal.
    """
    return clean_styled_from(text, {})[0]


def clean_styled_from(text: str, style: Open) -> tuple[str, Open]:
    """Clean text that starts with these open styles; also returns the styles left open at its end."""
    if not style and _is_clean(text):
        return text, style
    lines: list[str] = []
    text = text if text.isascii() else _surrogates().sub("\ufffd", _revealed(text))
    for line in text.replace("\r\n", "\n").split("\n"):
        if not style and line.isascii() and line.isprintable():
            lines.append(line)
            continue
        shown, style = (_overwritten if _going_back().search(line) else _in_order)(line, style)
        lines.append(shown if shown.isascii() else _with_whole_graphemes(shown))
    return "\n".join(lines), style


def _with_whole_graphemes(line: str) -> str:
    """Move sequences out of graphemes."""
    plain, marks = split_styles(line)
    out: list[str] = []
    last = 0
    for at, sequence in marks:
        out += (plain[last:at], sequence)
        last = at
    return "".join(out) + plain[last:]


def _pieces(line: str) -> Iterator[tuple[str, bool]]:
    """Yield text and control sequences; the flag is True for sequences."""
    last = 0
    for match in _controls().finditer(line):
        start, end = match.span()
        if start > last:
            yield line[last:start], False
        yield line[start:end], True
        last = end
    if last < len(line):
        yield line[last:], False


def _styled_by(sequence: str, style: Open) -> Open:
    new = dict(style)
    for slot, value in parse_sgr(sequence):
        if not slot:
            new.clear()
        elif not value:
            new.pop(slot, None)
        elif slot in _SAFE_SLOTS:
            new[slot] = "4" if slot == "underline" else value
    return new


class _Writer:
    """A line built piece by piece, each with its style."""

    __slots__ = ("_has_text", "_out", "_style")

    def __init__(self) -> None:
        self._has_text = False
        self._out: list[str] = []
        self._style: Open = {}

    @property
    def column(self) -> int:
        return visible_width("".join(self._out))

    def put(self, text: str, style: Open) -> None:
        if not self._has_text:
            text = _without_loose_marks(text)
        if not text:
            return
        self._has_text = True
        if style != self._style:
            self._out += (close_slots(self._style), open_slots(style))
            self._style = style
        self._out.append(text)

    def line(self) -> str:
        return "".join(self._out) + close_slots(self._style)


def _in_order(line: str, style: Open) -> tuple[str, Open]:
    writer = _Writer()
    for piece, is_control in _pieces(line):
        if not is_control:
            writer.put(piece, style)
        elif is_sgr(piece):
            style = _styled_by(piece, style)
        elif piece == "\t":
            writer.put(" " * (TAB_WIDTH.width - writer.column % TAB_WIDTH.width), style)
        elif piece in "\v\f\u2028\u2029":
            writer.put(" ", style)
    return writer.line(), style


def _overwritten(line: str, style: Open) -> tuple[str, Open]:
    """Render a line in which the cursor moves back."""
    cells = LineCells()
    for piece, is_control in _pieces(line):
        if not is_control:
            for grapheme in graphemes(piece):
                cells.put(grapheme, style)
        elif is_sgr(piece):
            style = _styled_by(piece, style)
        else:
            cells.control(piece)
    writer = _Writer()
    for text, its_style in cells.cells:
        if text:
            writer.put(text, its_style)
    return writer.line(), style
