"""Styles a paragraph's text with its emphasis, code and links."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from tau.base.late import late
from tau.tui.style import Style, Theme
from tau.tui.text.clean import clean, clean_line, link
from tau.tui.widgets.markdown.limits import CACHED_TEXTS, PARAGRAPH_CHARS

if TYPE_CHECKING:
    from markdown_it.token import Token

parser = late("tau.tui.widgets.markdown.parse")

_WORD = re.compile(r"\w").match
_LINE_BREAK = r"(?i)<br\s*/?>"
_BARE_URL = r"https?://[^\s<>\"`\x00-\x1f]+"
_OPENING = {"strong_open": "strong", "em_open": "emphasis", "s_open": "strike"}
_CLOSING = frozenset(("strong_close", "em_close", "s_close"))
_END_OF_URL = ".,;:!?'\"*_~"


@cache
def _special() -> re.Pattern[str]:
    return re.compile(r"\\|`+|\*+|_+|~+|!?\[|\]|<")


@cache
def _autolink() -> re.Pattern[str]:
    return re.compile(r"<[A-Za-z][A-Za-z0-9+.\-]{1,31}:[^\s<>]*\Z")


def close_markup(text: str) -> str:
    """Complete the end of a streaming text as it will most likely look when the rest arrives.

    Open emphasis and code are closed, half-received markers are dropped, and a link with an incomplete URL
    becomes a link without one. So nothing jumps when the missing characters arrive.
    """
    if _special().search(text) is None:
        return text
    return _MarkupCloser(text).close_markup()


class _MarkupCloser:
    """Scans one text from the left and tracks open markup."""

    def __init__(self, text: str) -> None:
        self._text = text.rstrip()
        self._open: list[tuple[str, int, int]] = []
        """Emphasis markers: the character, the count, the offset."""
        self._brackets: list[int] = []

    def close_markup(self) -> str:
        text = self._text
        at = 0
        while match := _special().search(text, at):
            at = match.end()
            sign = match[0]
            first = sign[0]
            if first == "\\":
                at += 1
            elif first == "`":
                end = _closing_ticks(text, sign, at)
                if end < 0:
                    return self._with_open_code(match.start(), sign)
                at = end
            elif first in "*_~":
                if self._emphasis(match.start(), sign):
                    return self._close_emphasis(text[: match.start()])
            elif first == "<":
                if _autolink().match(text, match.start()):
                    return self._close_emphasis(text[: match.start()] + text[at:])
            elif first == "]":
                if self._brackets:
                    bracket = self._brackets.pop()
                    if text.startswith("(", at):
                        at = _closing_parenthesis(text, at)
                        if at < 0:
                            return self._close_emphasis(f"{text[:bracket]}{text[bracket : match.end()]}(<>)")
            else:
                self._brackets.append(match.start())
        return self._close_emphasis(text)

    def _with_open_code(self, at: int, ticks: str) -> str:
        code = self._text[at + len(ticks) :].rstrip("`").rstrip()
        if not code:
            return self._close_emphasis(self._text[:at])
        return self._close_emphasis(f"{self._text[:at]}{ticks}{code}{ticks}")

    def _emphasis(self, start: int, sign: str) -> bool:
        """Handle a run of markers; True if it is at the end and still ambiguous, so it is dropped."""
        text, end = self._text, start + len(sign)
        before = text[start - 1] if start else " "
        at_end = end == len(text)
        if sign == "~" and not at_end:
            return False
        opened = [entry for entry in self._open if entry[0] == sign[0]]
        if at_end:
            count = sum(entry[1] for entry in opened)
            if opened and not before.isspace() and count == len(sign):
                self._close(sign[0], len(sign))
                return False
            return bool(opened) or before.isspace()
        after = text[end]
        in_word = _WORD(before) is not None and _WORD(after) is not None
        if opened and not before.isspace() and not (in_word and sign[0] == "_"):
            self._close(sign[0], len(sign))
        elif not after.isspace() and _WORD(before) is None:
            self._open.append((sign[0], min(len(sign), 3), start))
        return False

    def _close(self, sign: str, count: int) -> None:
        for at in range(len(self._open) - 1, -1, -1):
            opener, number, start = self._open[at]
            if opener == sign and count > 0:
                taken = min(number, count)
                count -= taken
                if taken == number:
                    del self._open[at:]
                else:
                    self._open[at] = (opener, number - taken, start)

    def _close_emphasis(self, text: str) -> str:
        text = text.rstrip()
        for sign, count, start in reversed(self._open):
            if start + count >= len(text):
                text = text[:start].rstrip()
            else:
                text += sign * count
        return text


def _closing_ticks(text: str, ticks: str, at: int) -> int:
    """Return the end of the matching run of backticks; -1 if missing."""
    while (start := text.find(ticks, at)) >= 0:
        end = start + len(ticks)
        while text.startswith("`", end):
            end += 1
        if end - start == len(ticks):
            return end
        at = end
    return -1


def _closing_parenthesis(text: str, at: int) -> int:
    depth = 0
    for position in range(at, len(text)):
        if text[position] == "(":
            depth += 1
        elif text[position] == ")":
            depth -= 1
            if not depth:
                return position + 1
    return -1


class MarkdownStyle(NamedTuple):
    """How Markdown is shown, apart from colors."""

    theme: Theme
    hyperlinks: bool = True
    """Whether the terminal supports links; if not, the URL follows the text."""
    show_urls: bool = False
    """URLs always follow the text, unless they are the text."""
    join_lines: bool = False
    """Join the lines of a paragraph; otherwise each begins a new row."""


class Inline:
    """Styles texts, with a cache of recent ones."""

    def __init__(self, options: MarkdownStyle) -> None:
        self.options = options
        self.references: dict[str, Mapping[str, str]] = {}
        self._known: dict[tuple[str, tuple[str, ...]], str] = {}

    def forget(self) -> None:
        """Clear the cache after new link definitions or a theme change."""
        self._known.clear()

    def styled(self, text: str, tokens: tuple[str, ...] = (), *, is_open: bool = False) -> str:
        """Style the text with some tokens. An open text is still streaming."""
        key = (text, tokens)
        known = self._known.get(key)
        if known is None or is_open:
            known = self._style(close_markup(text) if is_open else text, tokens)
            if not is_open:
                if len(self._known) >= CACHED_TEXTS:
                    self._known.clear()
                self._known[key] = known
        return known

    def _style(self, text: str, tokens: tuple[str, ...]) -> str:
        run = _Run(self.options, tokens)
        if len(text) > PARAGRAPH_CHARS:
            run.text(text)
            return run.result()
        try:
            parsed = parser.parse_inline(text, self.references)
        except Exception:  # a parser failure must not stop a frame
            run.text(text)
        else:
            run.add_tokens(parsed)
        return run.result()


class _Run:
    """Builds one styled text. Each piece opens and closes all its styles, so that pieces are independent."""

    def __init__(self, options: MarkdownStyle, tokens: tuple[str, ...]) -> None:
        self._options = options
        self._styles = [options.theme[token] for token in ("text", *tokens)]
        self._out: list[str] = []
        self._pending: list[str] = []
        self._href = ""
        self._link_start = -1

    def result(self) -> str:
        self._flush()
        return "".join(self._out)

    def add_tokens(self, tokens: "Sequence[Token]") -> None:
        theme = self._options.theme
        for token in tokens:
            kind = token.type
            if kind == "text" or kind == "text_special":
                self.text(token.content)
            elif kind == "softbreak":
                self._pending.append(" " if self._options.join_lines else "\n")
            elif kind == "hardbreak":
                self._pending.append("\n")
            elif kind in _OPENING:
                self._push(theme[_OPENING[kind]])
            elif kind in _CLOSING:
                self._pop()
            elif kind == "code_inline":
                self._push(theme["code"])
                self._pending.append(clean(token.content))
                self._pop()
            elif kind == "link_open":
                self._open_link(str(token.attrs.get("href", "")))
            elif kind == "link_close":
                self._close_link()
            elif kind == "image":
                self._image(str(token.attrs.get("src", "")), token.content)
            elif kind == "html_inline" and re.fullmatch(_LINE_BREAK, token.content):
                self._pending.append("\n")
            else:
                self._pending.append(clean(token.content))

    def text(self, text: str) -> None:
        """Add plain text, turning URLs into links."""
        at = 0
        if "://" in text and self._link_start < 0:
            for match in re.finditer(_BARE_URL, text):
                url = _trim(match[0])
                if not url.endswith("//"):
                    self._pending.append(clean(text[at : match.start()]))
                    self._add_link(url, url)
                    at = match.start() + len(url)
        self._pending.append(clean(text[at:] if at else text))

    def _add_link(self, url: str, text: str) -> None:
        self._open_link(url)
        self._pending.append(clean_line(text))
        self._close_link()

    def _image(self, url: str, description: str) -> None:
        if self._link_start >= 0:
            self._pending.append(clean_line(description) or clean_line(url))
        else:
            self._add_link(url, description or url or "image")

    def _open_link(self, url: str) -> None:
        self._push(self._options.theme["link"])
        self._href = url
        self._link_start = len(self._out)

    def _close_link(self) -> None:
        text = "".join(self._pending)
        self._pop()
        start, url = self._link_start, self._href
        self._link_start = -1
        if start < 0:
            return
        pieces = "".join(self._out[start:])
        whole = link(url, pieces) if self._options.hyperlinks else pieces
        self._out[start:] = [whole]
        shown = clean_line(url)
        is_hidden = self._options.show_urls or whole is pieces or whole == pieces
        if is_hidden and shown and shown.removeprefix("mailto:") != text:
            self._push(self._options.theme["muted"])
            self._pending.append(f" ({shown})")
            self._pop()

    def _push(self, style: Style) -> None:
        self._flush()
        self._styles.append(style)

    def _pop(self) -> None:
        self._flush()
        if len(self._styles) > 1:
            self._styles.pop()

    def _flush(self) -> None:
        text = "".join(self._pending)
        self._pending.clear()
        if text:
            opening = "".join([style.open for style in self._styles])
            if opening:
                text = f"{opening}{text}{''.join([style.close for style in reversed(self._styles)])}"
            self._out.append(text)


def _trim(url: str) -> str:
    """Strip sentence punctuation from the end of a URL."""
    while True:
        shorter = url.rstrip(_END_OF_URL)
        for opening, closing in ("()", "[]"):
            if shorter.endswith(closing) and shorter.count(closing) > shorter.count(opening):
                shorter = shorter[:-1]
        if shorter == url:
            return url
        url = shorter
