"""The expected cells of a row; knows the few wide characters that the gate writes."""

import re
from functools import lru_cache
from typing import NamedTuple

from tests.tui.stress.content import FILLERS

_SEQUENCE = re.compile(
    r"\x1b\[([0-9;]*)m|\x1b\][^\x1b\x07]*(?:\x1b\\|\x07)|\x1b_[^\x1b]*\x1b\\|\x1b7.*?\x1b8", re.DOTALL
)
_WIDE = {"👩\u200d💻", "🇩🇪", *"漢字한カナ🙂"}
# Multi-character sequences in one place: joined ones, and the placeholders of pictures.
_CLUSTER = re.compile("👩\u200d💻|🇩🇪|e\u0301|\U0010eeee..|.", re.DOTALL)
assert all("".join(_CLUSTER.findall(text)) == text for text, _ in FILLERS)


class Shown(NamedTuple):
    """A cell: its text ("" in the second half of a wide one) and its background."""

    text: str
    background: str


@lru_cache(maxsize=100_000)
def plain(row: str) -> str:
    """The text of a row without styles, links and marks, and without trailing blanks."""
    return (_SEQUENCE.sub("", row) if "\x1b" in row else row).rstrip(" ")


@lru_cache(maxsize=100_000)
def clipped(row: str, width: int) -> str:
    """What is left of a row's text when only this many cells exist."""
    text = plain(row)
    if len(text) <= width // 2 or (text.isascii() and len(text) <= width):
        return text
    kept, used = [], 0
    for cluster in _CLUSTER.findall(text):
        used += 2 if cluster in _WIDE else 1
        if used > width:
            break
        kept.append(cluster)
    return "".join(kept).rstrip(" ")


def cells(row: str, width: int) -> list[Shown]:
    """Exactly `width` cells; past the end of the row they are blank and without a background."""
    found: list[Shown] = []
    background, at = "", 0
    for match in [*_SEQUENCE.finditer(row), None]:
        stop = match.start() if match else len(row)
        for cluster in _CLUSTER.findall(row[at:stop]):
            found.append(Shown(cluster, background))
            if cluster in _WIDE:
                found.append(Shown("", background))
        if match:
            background = _background(match.group(1), background)
            at = match.end()
    del found[width:]
    return found + [Shown(" ", "")] * (width - len(found))


def _background(parameters: str | None, before: str) -> str:
    """The background after an SGR sequence: "", a number of 256, or `#rrggbb`."""
    if parameters is None:
        return before
    numbers = parameters.split(";")
    while numbers:
        first = numbers.pop(0)
        if first in ("", "0", "49"):
            before = ""
        elif first in ("38", "48", "58"):
            kind = numbers.pop(0)
            values = [int(numbers.pop(0)) for _ in range(1 if kind == "5" else 3)]
            color = str(values[0]) if kind == "5" else "#" + bytes(values).hex()
            before = color if first == "48" else before
        elif len(first) == 2 and first[0] == "4" and first[1] in "01234567":
            before = first[1]
    return before
