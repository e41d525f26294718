"""Styles a paragraph's text with its emphasis, code and links."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from tau.base.late import late
from tau.tui.style import Style, Theme
from tau.tui.text.clean import clean, clean_line, link
from tau.tui.widgets.markdown.limits import CACHED_TEXTS, PARAGRAPH_CHARS
from tau.tui.widgets.markdown.open_markup import close_markup

parser = late("tau.tui.widgets.markdown.parse")

_OPENING = {"strong_open": "strong", "em_open": "emphasis", "s_open": "strike"}
_CLOSING = frozenset(("strong_close", "em_close", "s_close"))
_END_OF_URL = ".,;:!?'\"*_~"


class MarkdownStyle(NamedTuple):
    """How Markdown is shown, apart from colors."""

    theme: Theme
    hyperlinks: bool = True
    """Whether the terminal supports links; if not, the URL follows the text."""
    show_urls: bool = False
    """URLs always follow the text, unless they are the text."""
    join_lines: bool = False
    """Join the lines of a paragraph; otherwise each begins a new row."""


@cache
def _bare_url() -> re.Pattern[str]:
    return re.compile(r"https?://[^\s<>\"`\x00-\x1f]+")


@cache
def _line_break() -> re.Pattern[str]:
    return re.compile(r"<br\s*/?>", re.IGNORECASE)


class Inline:
    """Styles texts, with a cache of recent ones."""

    def __init__(self, look: MarkdownStyle) -> None:
        self.look = look
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
            known = self._styled(close_markup(text) if is_open else text, tokens)
            if not is_open:
                if len(self._known) >= CACHED_TEXTS:
                    self._known.clear()
                self._known[key] = known
        return known

    def _styled(self, text: str, tokens: tuple[str, ...]) -> str:
        run = _Run(self.look, tokens)
        if len(text) > PARAGRAPH_CHARS:
            run.text(text)
            return run.result()
        try:
            parsed = parser.parse_inline(text, self.references)
        except Exception:  # a parser failure must not stop a frame
            run.text(text)
        else:
            run.take(parsed)
        return run.result()


class _Run:
    """Builds one styled text. Each piece opens and closes all its styles, so that pieces are independent."""

    def __init__(self, look: MarkdownStyle, tokens: tuple[str, ...]) -> None:
        self._look = look
        self._styles = [look.theme[token] for token in ("text", *tokens)]
        self._out: list[str] = []
        self._pending: list[str] = []
        self._href = ""
        self._link_start = -1

    def result(self) -> str:
        self._flush()
        return "".join(self._out)

    def take(self, tokens: Sequence[Any]) -> None:
        theme = self._look.theme
        for token in tokens:
            kind = token.type
            if kind == "text" or kind == "text_special":
                self.text(token.content)
            elif kind == "softbreak":
                self._pending.append(" " if self._look.join_lines else "\n")
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
            elif kind == "html_inline" and _line_break().fullmatch(token.content):
                self._pending.append("\n")
            else:
                self._pending.append(clean(token.content))

    def text(self, text: str) -> None:
        """Add plain text, turning URLs into links."""
        at = 0
        if "://" in text and self._link_start < 0:
            for match in _bare_url().finditer(text):
                url = _trimmed(match[0])
                if not url.endswith("//"):
                    self._pending.append(clean(text[at : match.start()]))
                    self._linked(url, url)
                    at = match.start() + len(url)
        self._pending.append(clean(text[at:] if at else text))

    def _linked(self, url: str, text: str) -> None:
        self._open_link(url)
        self._pending.append(clean_line(text))
        self._close_link()

    def _image(self, url: str, description: str) -> None:
        if self._link_start >= 0:
            self._pending.append(clean_line(description) or clean_line(url))
        else:
            self._linked(url, description or url or "image")

    def _open_link(self, url: str) -> None:
        self._push(self._look.theme["link"])
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
        whole = link(url, pieces) if self._look.hyperlinks else pieces
        self._out[start:] = [whole]
        shown = clean_line(url)
        is_hidden = self._look.show_urls or whole is pieces or whole == pieces
        if is_hidden and shown and shown.removeprefix("mailto:") != text:
            self._push(self._look.theme["muted"])
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


def _trimmed(url: str) -> str:
    """Strip sentence punctuation from the end of a URL."""
    while True:
        shorter = url.rstrip(_END_OF_URL)
        for opening, closing in ("()", "[]"):
            if shorter.endswith(closing) and shorter.count(closing) > shorter.count(opening):
                shorter = shorter[:-1]
        if shorter == url:
            return url
        url = shorter
