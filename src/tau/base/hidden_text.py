"""Makes characters visible that hide, reorder or imitate text."""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

# What is never visible, whatever surrounds it; a carriage return before a newline is an ordinary line end.
_CONTROLS = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
_HIDDEN = (
    r"\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff\U0001d173-\U0001d17a"
)
_SURROGATES = "\ud800-\udfff"
# Flags of England, Scotland and Wales: the only tag sequences in use.
_FLAGS = frozenset(
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(c)) for c in name) + "\U000e007f"
    for name in ("gbeng", "gbsct", "gbwls")
)
_MAX_STYLE_CHARS = 64
_ZWNJ, _ZWJ, _KEYCAP = "\u200c", "\u200d", "\u20e3"


@cache
def _pattern(*, controls: bool) -> re.Pattern[str]:
    single = rf"[{_HIDDEN}{_SURROGATES}{_CONTROLS}]|\r(?!\n)" if controls else rf"[{_HIDDEN}]"
    return re.compile(rf"\U0001f3f4[\U000e0020-\U000e007f]+|{single}")


def reveal_hidden(text: str, *, controls: bool) -> str:
    """Write hidden characters as `<U+202E>`; joiners that emoji and scripts need stay.

    With `controls`, do the same for control characters except newline and tab.
    """

    def show(match: re.Match[str]) -> str:
        found = match[0]
        if found in _FLAGS or _belongs(text, match.start(), found):
            return found
        return "".join(
            code_point(character) if character != "\U0001f3f4" else character for character in found
        )

    return _pattern(controls=controls).sub(show, text)


def code_point(character: str) -> str:
    return f"<U+{ord(character):04X}>"


def _belongs(text: str, at: int, found: str) -> bool:
    """Whether this joiner or variation selector does what it is for, between characters that need it."""
    start = at
    if text[at - 1 : at] == "m" and (
        styles := re.search(r"(?:\x1b\[[0-9;:]*m)+\Z", text[max(at - _MAX_STYLE_CHARS, 0) : at])
    ):
        start -= len(styles[0])  # colors may come between a character and its selector
    before, after = text[start - 1 : start] if start else "", text[at + 1 : at + 2]
    if not before or before.isascii():
        return found == "\ufe0f" and after == _KEYCAP and before in tuple("0123456789#*")
    if found == _ZWJ:
        return (_is_emoji(before) and _is_emoji(after)) or (_joins(before) and _joins(after))
    if found == _ZWNJ:
        return _joins(before) and _joins(after)
    if "\ufe00" <= found <= "\ufe0f":
        return not re.match(rf"[{_HIDDEN}]", before)
    if "\u180b" <= found <= "\u180f":
        return "\u1820" <= before <= "\u18aa"
    if "\U000e0100" <= found <= "\U000e01ef":
        return _within(before, _IDEOGRAPHS)
    return False


# The first and the last character of each range.
_EMOJI = ("\ufe0f\ufe0f", "\U0001f000\U0001faff", "\u2190\u2bff")
_JOINING = (
    *("\u0600\u07ff", "\u0860\u08ff", "\u0900\u109f", "\u1780\u18af"),
    *("\ua840\ua8ff", "\ufb50\ufdff", "\U00011000\U00011fff"),
)
_IDEOGRAPHS = ("\u3400\u9fff", "\U00020000\U0003ffff")
_ALPHABETS = {
    "latin": ("\u00c0\u024f", "\u1e00\u1eff"),
    "greek": ("\u0370\u03ff", "\u1f00\u1fff"),
    "cyrillic": ("\u0400\u052f", "\u1c80\u1c8f"),
    "armenian": ("\u0530\u058f",),
    "cherokee": ("\u13a0\u13ff", "\uab70\uabbf"),
}


def _within(character: str, ranges: Iterable[str]) -> bool:
    return any(ends[0] <= character <= ends[1] for ends in ranges)


def _is_emoji(character: str) -> bool:
    """Whether it can be part of an emoji sequence: a pictograph, a skin tone or a selector."""
    return _within(character, _EMOJI)


def _joins(character: str) -> bool:
    """Whether it belongs to a script that needs joiners: Arabic, Syriac, N'Ko, the Indic ones, Mongolian."""
    return _within(character, _JOINING)


# Letters of other scripts that look like Latin ones.
_CYRILLIC = "аАВсСԁеЕԍНһіІјЈкКӏМоОрРԚѕЅТуУхХѵԜԝЬьгѐѓќ"
_GREEK = "αΑΒΕΖΗΙιΚκΜΝνΟοΡρΤΥυΧχγϲϳϹ"
_ARMENIAN = "օսոզԱցքՏՕ"
_LOOKALIKES = frozenset(_CYRILLIC + _GREEK + _ARMENIAN)
_WORD = r"[^\W\d_]+"


def reveal_lookalikes(path: str) -> str:
    """Write letters of a path that imitate ASCII as `<U+0430>`: mixed scripts, wide forms, other slashes."""
    if path.isascii():
        return path
    native = any(_script(c) not in ("", "latin") and c not in _LOOKALIKES for c in path)

    def show(match: re.Match[str]) -> str:
        word = match[0]
        scripts = {_script(character) for character in word} - {""}
        if scripts <= {"latin"} or (len(scripts) == 1 and (native or not _LOOKALIKES.issuperset(word))):
            return word
        if "latin" not in scripts and len(scripts) > 1 and native:
            return word
        return "".join(code_point(c) if _script(c) not in ("", "latin") else c for c in word)

    return "".join(map(_unfold, re.sub(_WORD, show, path)))


def _script(character: str) -> str:
    """The alphabet of a letter, as far as it can be confused with Latin."""
    if character.isascii():
        return "latin"
    return next((name for name, ranges in _ALPHABETS.items() if _within(character, ranges)), "")


# Not compatibility forms of ASCII, but drawn like it.
_PUNCTUATION = frozenset(
    "\u2044\u2215\u29f8\u2216\u29f5\u02d0\u2236\ua789\u2010\u2011\u2212\u01c3\ua78c\u02bc\u2018\u2019"
)


def _unfold(character: str) -> str:
    """Write a compatibility form of one ASCII letter or sign (`ａ`, `／`, `․`) by its number."""
    if character.isascii():
        return character
    if character in _PUNCTUATION:
        return code_point(character)
    folded = unicodedata.normalize("NFKC", character)
    is_form = len(folded) == 1 and folded.isascii() and unicodedata.category(character) != "No"
    return code_point(character) if is_form else character
