"""Wrapped text; appending does not lay it out again from the beginning."""

from tau.tui.component import Component
from tau.tui.rows import RowLog, Rows
from tau.tui.style import Theme
from tau.tui.text.clean import Open, clean, clean_styled_from
from tau.tui.text.sgr import strip_escapes
from tau.tui.text.wrap import word_spans, wrap

LONG_LINE_CHARS = 2000
"""A last line of this length is not laid out again as a whole when it grows."""


class Text(Component):
    """Text wrapped by word in one style."""

    def __init__(self, theme: Theme, text: str = "", style_token: str = "", *, styled: bool = False) -> None:
        self._theme = theme
        self._token = style_token
        self._styled = styled
        """Whether to keep the text's own colors."""
        self._lines: list[str] = []
        """Complete, cleaned lines, which never change."""
        self._open: Open = {}
        self._rest = ""
        """The raw last line, since following text may continue a sequence or character in it."""
        self._forget()
        self.append(text)

    def _forget(self) -> None:
        self._width = -1
        self._rows: Rows | None = None
        self._log = RowLog()
        self._logged = 0
        """How many lines are in the log."""
        self._settled = ""
        """The beginning of the next line, if it is long and its rows are in the log too."""

    def set_text(self, text: str) -> None:
        self._lines = []
        self._open = {}
        self._rest = ""
        self._forget()
        self.append(text)

    def append(self, text: str) -> None:
        if not text:
            return
        if self._settled and not text.replace("\n", "").isprintable():
            # A control character may move back into text treated as final.
            self._forget()
        self._rows = None
        text = self._rest + text
        end = text.rfind("\n") + 1
        if end:
            lines, self._open = self._clean_texts(text[:end])
            self._lines += lines[:-1]
        self._rest = text[end:]

    def _clean_texts(self, text: str) -> tuple[list[str], Open]:
        if not self._styled:
            return clean(text).split("\n"), {}
        shown, still_open = clean_styled_from(text, self._open)
        if self._theme.depth == "none":
            shown = strip_escapes(shown)
        return shown.split("\n"), still_open

    def render(self, width: int) -> Rows:
        if width != self._width:
            self._forget()
            self._width = width
        if self._rows is None:
            self._rows = self._laid_out(max(width, 1))
        return self._rows

    def invalidate(self) -> None:
        self._forget()

    def _laid_out(self, width: int) -> Rows:
        if not self._lines and not self._rest:
            return Rows()
        new = self._lines[self._logged :]
        if new:
            new[0] = new[0][len(self._settled) :]
            self._settled = ""
            self._logged = len(self._lines)
            self._log.extend(self._color(wrap("\n".join(new), width)))
        self._settle(width)
        last = "\n".join(self._clean_texts(self._rest[len(self._settled) :])[0])
        return Rows((self._log.snapshot(), self._color(wrap(last, width))))

    def _settle(self, width: int) -> None:
        """Move all rows but the last of a long, plain last line to the log: they are final."""
        rest = self._rest[len(self._settled) :]
        if len(rest) < LONG_LINE_CHARS or self._open or not (rest.isascii() and rest.isprintable()):
            return
        *spans, (start, _) = word_spans(rest, width)
        if spans and rest[start : start + 1].strip(" "):
            self._log.extend(self._color([rest[first:last] for first, last in spans]))
            self._settled += rest[:start]

    def _color(self, rows: list[str]) -> list[str]:
        style = self._theme[self._token]
        return [style(row) for row in rows] if style.open else rows
