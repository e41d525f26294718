"""The text of a page without a parser, and what the conversion worker returns."""

import html
import re

from msgspec import Struct

INVISIBLE = "[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"


class HtmlResult(Struct, frozen=True, rename="camel", kw_only=True):
    """`alternates` are links to Markdown and feeds, `documents` to files; `hidden` counts hidden texts."""

    text: str
    title: str = ""
    alternates: list[tuple[str, str]] = []
    documents: list[str] = []
    hidden: int = 0
    notes: list[str] = []
    needs_script: bool = False


def plain_text(source: str) -> str:
    """The text without tags, in linear time."""
    visible: list[str] = []
    inside = ""
    for piece in re.split(r"(?i)(</?(?:script|style)\b[^<>]*>)", source):
        mark = re.match(r"(?i)<(/?)(script|style)\b", piece)
        if mark:
            inside = "" if mark[1] else mark[2]
        elif not inside:
            visible.append(piece)
    text = html.unescape(re.sub(r"<[^<>]{0,5000}>", "\n", " ".join(visible)))
    return re.sub(r"[ \t]*\n\s*", "\n", re.sub(INVISIBLE, "", text)).strip()
