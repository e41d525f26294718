"""Markdown as safe HTML: no raw markup, no remote images, plain links."""

import re
from collections.abc import Sequence
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from tau.coding.export import syntax_colors

MAX_CHARS = 200_000  # per text; longer ones are shown unrendered
_SAFE = re.compile(r"(?:https?|mailto):", re.IGNORECASE)


def code_block(code: str, language: str = "", *, label: str = "", numbered: bool = False) -> str:
    """Highlighted code. `language` is one of `syntax_colors.LANGUAGES`, or "diff"."""
    code = code.removesuffix("\n")
    if language == "diff":
        return f'<pre class="code diff"><code>{syntax_colors.highlight_diff(code)}</code></pre>'
    body = syntax_colors.highlight_code(code, language, numbered=numbered)
    name = f' data-name="{escape(label)}"' if label else ""
    return f'<pre class="code"{name}><code>{body}</code></pre>'


class _Renderer(RendererHTML):
    """Escapes all text; every tag is written here."""

    def fence(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        token = tokens[index]
        name = token.info.split()[0] if token.info.split() else ""
        language = "diff" if name in ("diff", "patch") else syntax_colors.language_of(name)
        return code_block(token.content, language, label=name[:40])

    def code_block(self, tokens: Sequence[Token], index: int, options: object, env: object) -> str:
        return code_block(tokens[index].content)

    def heading_open(self, tokens: Sequence[Token], index: int, options: object, env: object) -> str:
        return f"<h{_level(tokens[index])}>"

    def heading_close(self, tokens: Sequence[Token], index: int, options: object, env: object) -> str:
        return f"</h{_level(tokens[index])}>\n"

    def link_open(self, tokens: Sequence[Token], index: int, options: object, env: object) -> str:
        target = str(tokens[index].attrGet("href") or "")
        if not _SAFE.match(target):
            return f'<a title="{escape(target)}">'
        return f'<a href="{escape(target)}" rel="noopener noreferrer" target="_blank">'

    def image(self, tokens: Sequence[Token], index: int, options: object, env: object) -> str:
        """A remote image would trigger a request: show a link instead."""
        target = str(tokens[index].attrGet("src") or "")
        words = escape(tokens[index].content or target)
        if not _SAFE.match(target):
            return f'<span class="picture" title="{escape(target[:500])}">{words}</span>'
        link = f'href="{escape(target)}" rel="noopener noreferrer" target="_blank"'
        return f'<a class="picture" {link}>{words}</a>'

    def table_open(self, tokens: Sequence[Token], index: int, options: object, env: object) -> str:
        return '<div class="wide"><table>\n'

    def table_close(self, tokens: Sequence[Token], index: int, options: object, env: object) -> str:
        return "</table></div>\n"

    def th_open(self, tokens: Sequence[Token], index: int, options: object, env: object) -> str:
        return _cell("th", tokens[index])

    def td_open(self, tokens: Sequence[Token], index: int, options: object, env: object) -> str:
        return _cell("td", tokens[index])


def _level(token: Token) -> int:
    """Headings start below those of the page."""
    return min(6, int(token.tag[1:]) + 2)


def _cell(tag: str, token: Token) -> str:
    """Alignment is a class: the page forbids inline styles."""
    style = str(token.attrGet("style") or "")
    side = next((side for side in ("right", "center") if side in style), "")
    return f'<{tag} class="{side}">' if side else f"<{tag}>"


_markdown = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer)
_markdown.enable(["table", "strikethrough"])


def prose(text: str) -> str:
    if len(text) > MAX_CHARS:
        return f'<div class="typed">{syntax_colors.escape(text)}</div>'
    html: str = _markdown.render(text)
    return html
