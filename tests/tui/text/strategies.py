"""Realistic texts: every script, complete sequences and incomplete ones."""

from hypothesis import strategies as st

from tau.tui.component import CURSOR_MARKER
from tau.tui.text.sgr import Styles, split_escapes
from tau.tui.text.width import grapheme_width, graphemes

WORDS = (
    "a",
    "word",
    "two words",
    "  ",
    " ",
    "supercalifragilistic",
    "x-y/z",
    "1",
    "e.g.",
    "\u00e9t\u00e9",
    "\u2500\u2502\u2022\u2713",
)
WIDE = ("漢字", "かな", "한국어", "「。", "\u3000", "ａ", "日本語の文")
CLUSTERS = (
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",  # a family
    "\U0001f1e9\U0001f1ea",  # a flag
    "\U0001f44d\U0001f3fd",  # a skin tone
    "\u2764\ufe0f",
    "1\ufe0f\u20e3",
    "\U0001f680",
    "e\u0301",
    "a\u0301\u0327\u0308",
    "\u1112\u1161\u11ab",  # Hangul of three parts
    "\u1100\u1100\u1100",
    "\u0915\u094d\u0937\u093f",
    "\u0e01\u0e33",
    "\u0605\u6f22",  # a sign that precedes the one it belongs to
    "\u0631\u064e",
)
LOOSE = (
    "\u0301",
    "\u200d",
    "\ufe0f",
    "\ufe0e",
    "\U0001f3fd",
    "\U0001f1e9",
    "\u094d",
    "\u0903",
    "\u200b",
    "\u11a8",
    "\u0605",
)
STYLES = (
    "\x1b[1m",
    "\x1b[2m",
    "\x1b[22m",
    "\x1b[31m",
    "\x1b[38;5;200m",
    "\x1b[38;2;1;2;3;48;2;4;5;6m",
    "\x1b[39m",
    "\x1b[49m",
    "\x1b[0m",
    "\x1b[m",
    "\x1b[3;4;9m",
    "\x1b[4:3m",
    "\x1b[38:2::1:2:3m",
    "\x1b[24m",
)
LINKS = ("\x1b]8;;https://a.example/x\x1b\\", "\x1b]8;id=1;http://b.example\x07", "\x1b]8;;\x1b\\")
JUNK = (
    "\x1b",
    "\x1b[",
    "\x1b[31",
    "\x1b]0;title\x07",
    "\x1b]52;c;aGk=\x1b\\",
    "\x1b]8;;half",
    "\x1bPq#0\x1b\\",
    "\x1b_Gi=1\x1b\\",
    "\x1b_half",
    "\x1b[2J",
    "\x1b[10;10H",
    "\x1b[?25l",
    "\x1b[?31m",
    "\x1bc",
    "\x1b(0",
    "\x9b31m",
    "\x9d0;t\x9c",
    "\x90q\x9c",
    "\x00",
    "\x07",
    "\x08",
    "\r",
    "\t",
    "\x0b",
    "\x0c",
    "\x7f",
    "\x85",
    "\u2028",
    "\u202e",
    "\ufeff",
    "\ud800",
    "\udcff",
    "\x1b[38;5m",
    "\x1b[38;2;1m",
    "\x1b[999999999999999999m",
    "\x1b[\u0661m",
    "\x1b[5;8mhidden",
    "\x1b[K",
    "\x1b[1K",
    "\x1b[2K",
    "\x1b[9999C",
    "\x1b[3D",
    "\x1b[2G",
)

plain_pieces = st.sampled_from(WORDS + WIDE + CLUSTERS)
loose_pieces = st.sampled_from(LOOSE)
style_pieces = st.sampled_from(STYLES + LINKS)
random_text = st.text(st.characters(exclude_characters="\n"), max_size=8)
bytes_as_text = st.builds(
    lambda data, errors: data.decode("utf-8", errors),
    st.binary(max_size=12),
    st.sampled_from(("surrogateescape", "replace")),
) | st.binary(max_size=12).map(lambda data: data.decode("latin-1"))


def _joined(*pieces: st.SearchStrategy[str], max_size: int = 20) -> st.SearchStrategy[str]:
    return st.lists(st.one_of(*pieces), max_size=max_size).map("".join)


plain_lines = _joined(plain_pieces, loose_pieces)
"""One line without controls and sequences."""
styled_lines = _joined(plain_pieces, loose_pieces, style_pieces, st.just(CURSOR_MARKER))
"""One line as components pass it on."""
styled_texts = _joined(plain_pieces, plain_pieces, style_pieces, st.just("\n"))
anything = _joined(
    plain_pieces, loose_pieces, style_pieces, st.sampled_from(JUNK), random_text, bytes_as_text, st.just("\n")
)
"""Whatever a program or a model may send."""

Cell = tuple[str, frozenset[tuple[str, str]], str]


def cells(text: str) -> list[Cell]:
    """What each cell of a line holds: the grapheme, its styles, its link; "" in the second cell of two."""
    plain, marks = split_escapes(text)
    styles = Styles()
    found: list[Cell] = []
    position = at = 0
    for grapheme in graphemes(plain):
        while at < len(marks) and marks[at][0] <= position:
            styles.feed(marks[at][1])
            at += 1
        look = frozenset(styles.slots.items()), styles.link
        width = grapheme_width(grapheme)
        if width:
            found += [(grapheme, *look), ("", *look)][:width]
        position += len(grapheme)
    return found


def is_closed(row: str) -> bool:
    """Whether a row ends with no style and no link open."""
    styles = Styles()
    for _, sequence in split_escapes(row)[1]:
        styles.feed(sequence)
    return not styles
