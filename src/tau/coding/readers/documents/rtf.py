"""Rich text (RTF) to Markdown: paragraphs, headings, emphasis, lists, links and tables from its tokens."""

import re

from msgspec import Struct
from msgspec.structs import replace

from tau.coding.readers.documents import markdown
from tau.coding.readers.documents.limits import Deadline, DocumentError
from tau.coding.readers.documents.markdown import MarkdownWriter, TextRun
from tau.coding.readers.documents.rtf_page import Page
from tau.coding.readers.documents.rtf_words import (
    CHARACTERS,
    CODE_PAGE_OF_CHARSET,
    CODECS,
    KNOWN_STARRED,
    SKIPPED,
    SYMBOL_CHARSET,
    SYMBOLS,
)

MAX_GROUPS = 5_000  # open at the same time
CHECK_EVERY = 2_000  # tokens
_TOKEN = re.compile(
    rb"\\([A-Za-z]{1,32})(-?\d{1,10})? ?"  # a control word, its number, the blank that ends it
    rb"|\\'([0-9A-Fa-f]{2})"  # a byte
    rb"|\\([^A-Za-z])"  # a control symbol
    rb"|([{}])"
    rb"|[\r\n\x00]+"
    rb"|([^\\{}\r\n\x00]+)",
    re.DOTALL,
)
_HEADING = re.compile(r"heading (\d)\b", re.IGNORECASE)
_MONOSPACED = re.compile(r"courier|consolas|\bmono|monaco|menlo|lucida console", re.IGNORECASE)
_HYPERLINK = re.compile(r'HYPERLINK\s+(?:\\l\s+)?"([^"]+)"|HYPERLINK\s+([^\s"\\]+)')

DESTINATIONS = {
    "fonttbl": "fonts",
    "stylesheet": "styles",
    "fldinst": "field",
    "listtext": "marker",
    "pntext": "marker",
    "pict": "picture",
    "footnote": "note",
    "annotation": "note",
    "shpinst": "shape",
    "shptxt": "text",
}
TOGGLES = {"b": "bold", "i": "italic", "strike": "strike", "striked": "strike", "v": "hidden"}


class State(Struct, frozen=True):
    """What holds inside of one group; a group inherits it and its end forgets it.

    `goes` says where text goes: to the document, to a table of fonts or styles, to a note, or nowhere.
    """

    goes: str = "text"
    bold: bool = False
    italic: bool = False
    strike: bool = False
    hidden: bool = False
    font: int = 0
    unicode_skip: int = 1
    starred: bool = False  # the group began with \*
    link: str = ""


class Font(Struct, frozen=True):
    code_page: int = 0
    monospaced: bool = False
    symbol: bool = False


def read(data: bytes, out: MarkdownWriter, deadline: Deadline) -> None:
    reader = _Reader(out)
    position = 0
    count = 0
    while position < len(data):
        match = _TOKEN.match(data, position)
        if match is None:
            position += 1  # a backslash at the very end
            continue
        position = match.end() + reader.token(match)
        count += 1
        if count % CHECK_EVERY == 0:
            deadline.check()
    reader.finish(deadline)


class _Reader:
    def __init__(self, out: MarkdownWriter) -> None:
        self._page = Page(out)
        self._state = State()
        self._stack: list[State] = []
        self._fonts: dict[int, Font] = {}
        self._headings: dict[int, int] = {}  # by style number
        self._code_page = 1252
        self._spans: list[TextRun] = []
        self._bytes = bytearray()  # of a code page, not decoded yet: a character may be two tokens
        self._to_skip = 0  # characters that stand for a \u
        self._high = 0  # the first half of a surrogate pair
        self._named = ""  # what a group that is no text has said so far
        self._style = 0
        self._default_font = 0
        self._level = 0  # of the paragraph's list
        self._outline = 0
        self._marker: str | None = None
        self._in_table = False
        self._notes: list[str] = []
        self._note_spans: list[TextRun] = []

    def token(self, match: re.Match[bytes]) -> int:
        """Take one token in; the number of raw bytes to pass over after it."""
        word, argument, byte, symbol, brace, text = match.groups()
        if byte is not None:
            self._add_bytes(bytes([int(byte, 16)]))
            return 0
        if text is not None:
            self._add_bytes(text)
            return 0
        self._flush_bytes()
        if brace == b"{":
            self._open()
        elif brace == b"}":
            self._close()
        elif symbol is not None:
            self._symbol(symbol)
        elif word is not None:
            value = int(argument) if argument is not None else None
            if word == b"bin":
                return max(value or 0, 0)
            self._word(word.decode("ascii"), value)
        return 0

    def finish(self, deadline: Deadline) -> None:
        self._flush_bytes()
        self._end_paragraph()
        self._page.end_table()
        for index, note in enumerate(self._notes, 1):
            deadline.check()
            self._page.add(f"[^{index}]: {note}")

    def _open(self) -> None:
        if len(self._stack) >= MAX_GROUPS:
            raise DocumentError("its groups are nested too deeply.")
        self._stack.append(self._state)
        self._state = replace(self._state, starred=False)
        self._to_skip = 0

    def _close(self) -> None:
        if not self._stack:
            return
        ended, self._state = self._state, self._stack.pop()
        self._to_skip = 0
        if ended.goes == self._state.goes:
            return
        named, self._named = markdown.one_line(self._named), ""
        if ended.goes == "field":
            match = _HYPERLINK.search(named)
            # The result of the field is a sibling: the link holds for the group around both.
            self._state = replace(self._state, link=(match[1] or match[2]) if match else "")
        elif ended.goes == "styles":
            self._style = self._outline = self._level = 0
        elif ended.goes == "marker":
            self._marker = named
        elif ended.goes == "picture":
            self._spans.append(TextRun(markdown.image("picture"), raw=True))
        elif ended.goes == "note":
            note = markdown.one_line(markdown.inline(self._note_spans))
            self._note_spans = []
            self._notes.append(note)
            self._spans.append(TextRun(f"[^{len(self._notes)}]", raw=True))

    def _symbol(self, symbol: bytes) -> None:
        text = symbol.decode("latin-1")
        if text == "*":
            self._state = replace(self._state, starred=True)
        elif text in "\r\n":
            self._word("par", None)
        elif text in SYMBOLS:
            self._add_text(SYMBOLS[text])

    def _word(self, word: str, value: int | None) -> None:
        state = self._state
        if word in SKIPPED or (state.starred and word not in KNOWN_STARRED):
            self._state = replace(state, goes="nowhere", starred=False)
            return
        if state.starred:
            self._state = state = replace(state, starred=False)
        if word in DESTINATIONS:
            self._begin(DESTINATIONS[word])
        elif state.goes == "nowhere":
            return
        elif word == "u" and value is not None:
            self._unicode(value)
        elif word in ("par", "sect", "page"):
            self._end_of_paragraph()
        elif word in CHARACTERS:
            self._add_text(CHARACTERS[word])
        elif word in TOGGLES:
            self._state = replace(state, **{TOGGLES[word]: value != 0})
        elif word == "plain":
            font = self._default_font
            self._state = replace(state, bold=False, italic=False, strike=False, hidden=False, font=font)
        elif word == "f":
            self._state = replace(state, font=value or 0)
        else:
            self._other(word, value or 0)

    def _other(self, word: str, value: int) -> None:
        """Words that change the document's or the paragraph's look, or shape a table."""
        if word == "ansicpg":
            self._code_page = value
        elif word == "deff":
            self._default_font = value
            self._state = replace(self._state, font=value)
        elif word in ("mac", "pc", "pca"):
            self._code_page = {"mac": 10000, "pc": 437, "pca": 850}[word]
        elif word == "uc":
            self._state = replace(self._state, unicode_skip=min(max(value, 0), 8))
        elif word == "fcharset" and self._state.goes == "fonts":
            font = Font(CODE_PAGE_OF_CHARSET.get(value, 0), symbol=value == SYMBOL_CHARSET)
            self._set_font(font)
        elif word == "pard":
            self._style = self._outline = self._level = 0
            self._in_table = False
        elif word == "s":
            self._style = value
        elif word == "ilvl":
            self._level = min(max(value, 0), 8)
        elif word == "outlinelevel":
            self._outline = value + 1 if 0 <= value < 9 else 0
        elif word == "intbl":
            self._in_table = True
        elif word in ("cell", "nestcell"):
            self._page.cell(self._spans)
            self._spans, self._marker = [], None
        elif word in ("row", "nestrow"):
            self._page.end_row()
        elif word == "deleted":
            self._state = replace(self._state, hidden=True)

    def _begin(self, goes: str) -> None:
        if self._state.goes == "nowhere":
            return
        self._named = ""
        self._state = replace(self._state, goes=goes, starred=False)

    def _set_font(self, font: Font) -> None:
        if len(self._fonts) < 10_000:
            self._fonts[self._state.font] = font

    def _unicode(self, value: int) -> None:
        """\\uN is a signed 16-bit unit; two of them can be one character."""
        self._to_skip = self._state.unicode_skip
        unit = value % 0x10000
        if 0xD800 <= unit < 0xDC00:
            self._high = unit
            return
        if 0xDC00 <= unit < 0xE000 and self._high:
            character = chr(0x10000 + ((self._high - 0xD800) << 10) + unit - 0xDC00)
        elif 0xF000 <= unit <= 0xF0FF:
            character = "•"  # of a symbol font
        else:
            character = chr(unit)
        self._high = 0
        self._take(character)

    def _add_bytes(self, data: bytes) -> None:
        if self._to_skip:
            cut = min(self._to_skip, len(data))
            self._to_skip -= cut
            data = data[cut:]
        if self._state.goes != "nowhere" and self._state.goes != "picture":
            self._bytes += data

    def _add_text(self, text: str) -> None:
        if self._to_skip:
            self._to_skip -= 1
        else:
            self._take(text)

    def _flush_bytes(self) -> None:
        if not self._bytes:
            return
        data, self._bytes = bytes(self._bytes), bytearray()
        font = self._fonts.get(self._state.font, Font())
        if font.symbol and self._state.goes == "text":
            self._take("•" if data.strip() else " ")
            return
        codec = CODECS.get(font.code_page or self._code_page, "cp1252")
        self._take(data.decode(codec, "replace"))

    def _take(self, text: str) -> None:
        state = self._state
        if state.goes == "text" or state.goes == "note":
            if not state.hidden:
                spans = self._spans if state.goes == "text" else self._note_spans
                markdown.pack(spans)
                code = self._fonts.get(state.font, Font()).monospaced
                clean = markdown.clean(text)
                spans.append(TextRun(clean, state.bold, state.italic, code, state.strike, state.link))
        elif state.goes == "fonts":
            if _MONOSPACED.search(text):
                font = self._fonts.get(state.font, Font())
                self._set_font(Font(font.code_page, True, font.symbol))
        elif state.goes == "styles":
            match = _HEADING.search(text)
            if match is not None and len(self._headings) < 10_000:
                self._headings[self._style] = int(match[1])
        elif state.goes != "nowhere" and len(self._named) < 10_000:
            self._named += text

    def _end_of_paragraph(self) -> None:
        if self._state.goes == "text":
            if self._in_table:
                self._spans.append(TextRun("\n"))
            else:
                self._end_paragraph()
        elif self._state.goes == "note":
            self._note_spans.append(TextRun(" "))

    def _end_paragraph(self) -> None:
        spans, self._spans = self._spans, []
        marker, self._marker = self._marker, None
        heading = self._outline or self._headings.get(self._style, 0)
        self._page.paragraph(spans, heading, marker, self._level)
