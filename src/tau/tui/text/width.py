"""Measures text in cells: one model, by grapheme cluster, for everything that measures or cuts."""

import re
from collections.abc import Iterator
from functools import cache

from tau.base.late import late
from tau.tui.text.sgr import StyleMark, escape_pattern, split_escapes

wcwidth = late("wcwidth")

# One-cell characters that never join with each other. Text of these needs no tables, so the first frame, with
# its boxes and symbols, loads none.
NARROW = (
    " -~\xa0-\xac\xae-\u02ff\u0370-\u0377\u037a-\u037f\u0384-\u0482\u048a-\u052f\u1e00-\u1fff"
    "\u2010-\u2027\u2030-\u205e\u2070-\u208e\u20a0-\u20c0\u2100-\u2319\u2320-\u2328\u2400-\u2426"
    "\u2500-\u25fc\u25ff-\u2613\u2710-\u2727\u2768-\u2775\u2794-\u2794\u27e6-\u27ef\u2800-\u28ff"
)
# The same for two-cell characters.
WIDE = "\u3001-\u3029\u3041-\u3096\u309b-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60"
# Characters that change the width of their neighbors. Without them, widths simply add up.
_JOINING = (
    "\u0900-\u0dff\u0f00-\u109f\u1700-\u1cff\u200d\u302e\u302f\ua800-\uabff\ufe0e\ufe0f"
    "\U00010a00-\U00012fff\U00016000-\U0001bfff\U0001d100-\U0001d2ff\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff"
)
_CACHED_WIDTHS = 4096
_LONGEST_CACHED = 512


@cache
def _narrow() -> re.Pattern[str]:
    return re.compile(f"[{NARROW}]*+")


@cache
def _simple() -> re.Pattern[str]:
    return re.compile(f"[{NARROW}{WIDE}]*+")


@cache
def _wide() -> re.Pattern[str]:
    return re.compile(f"[{WIDE}]+")


@cache
def _joining() -> re.Pattern[str]:
    return re.compile(f"[{_JOINING}]")


_widths: dict[str, int] = {}


def visible_width(text: str) -> int:
    """Return the width of a line in cells; escape sequences and control characters count as 0."""
    if text.isascii() and text.isprintable():
        return len(text)
    width = _widths.get(text)
    if width is None:
        width = _measure(escape_pattern().sub("", text) if "\x1b" in text else text)
        if len(text) <= _LONGEST_CACHED:
            if len(_widths) >= _CACHED_WIDTHS:
                _widths.clear()
            _widths[text] = width
    return width


def _measure(text: str) -> int:
    if text.isascii():
        return len(text) if text.isprintable() else sum(map(str.isprintable, text))
    if _simple().fullmatch(text):
        return simple_width(text)
    if not _joining().search(text):
        width = wcwidth.wcswidth(text)
        if width >= 0:
            return width
    return sum(map(grapheme_width, graphemes(text)))


def is_narrow(text: str) -> bool:
    """Whether every character is a one-cell grapheme, so that columns equal indices."""
    return text.isprintable() if text.isascii() else _narrow().fullmatch(text) is not None


def is_simple(text: str) -> bool:
    """Whether every character is a grapheme of one or two cells."""
    return text.isprintable() if text.isascii() else _simple().fullmatch(text) is not None


def simple_width(text: str) -> int:
    """Return the width of a simple text, without caching."""
    return len(text) if text.isascii() else len(text) + sum(map(len, _wide().findall(text)))


def graphemes(text: str) -> Iterator[str]:
    """Yield the extended grapheme clusters of a text without escape sequences.

    A cluster of more than two cells, which no terminal draws, is split into parts of at most two cells.
    """
    if (text.isascii() and "\r\n" not in text) or _simple().fullmatch(text):
        return iter(text)
    clusters = list(wcwidth.iter_graphemes(text))
    if len(clusters) == len(text) or all(
        wcwidth.wcswidth(cluster) <= 2 for cluster in clusters if len(cluster) > 1
    ):
        return iter(clusters)
    return (part for cluster in clusters for part in _parts(cluster))


def _parts(cluster: str) -> Iterator[str]:
    part = ""
    for character in cluster:
        if part and wcwidth.wcswidth(part + character) > 2:
            yield part
            part = ""
        part += character
    yield part


def split_styles(text: str) -> tuple[str, list[StyleMark]]:
    """Split text into plain text and its escape sequences with offsets, none inside a grapheme.

    A sequence inside a grapheme moves after it: some terminals would not join the parts.
    """
    plain, marks = split_escapes(text)
    if marks and not plain.isascii() and not is_simple(plain.replace("\n", "")):
        ends = iter(graphemes(plain))
        end = 0
        for index, (at, sequence) in enumerate(marks):
            while end < at:
                end += len(next(ends))
            marks[index] = end, sequence
    return plain, marks


_grapheme_widths: dict[str, int] = {}


def grapheme_width(grapheme: str) -> int:
    """Return the width of one grapheme: 0, 1 or 2. A control character has 0."""
    if grapheme.isascii():
        return len(grapheme) if grapheme.isprintable() else 0
    width = _grapheme_widths.get(grapheme)
    if width is None:
        if len(_grapheme_widths) >= _CACHED_WIDTHS:
            _grapheme_widths.clear()
        width = _grapheme_widths[grapheme] = _cluster_width(grapheme)
    return width


def _cluster_width(cluster: str) -> int:
    if len(cluster) == 1 and _simple().fullmatch(cluster):
        return 2 if _wide().fullmatch(cluster) else 1
    width = wcwidth.wcswidth(cluster)
    return max(width, 0)


def common_prefix_length(one: str, other: str, most: int) -> int:
    """Return the length of the common prefix, at most `most`."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
