"""A strict scanner of terminal output: every character belongs to a token or is bad."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

Kind = Literal["text", "control", "csi", "osc", "dcs", "apc", "escape", "bad"]

_STRINGS: dict[str, Kind] = {"]": "osc", "P": "dcs", "_": "apc"}
_MOST_OF_A_STRING = 1_000_000


class Token(NamedTuple):
    """One piece of output. `body` is without introducer and end; `final` is the last byte of a CSI."""

    kind: Kind
    raw: str
    body: str = ""
    final: str = ""

    @property
    def private(self) -> bool:
        return self.body[:1] in ("?", ">", "<", "=")

    @property
    def numbers(self) -> tuple[int, ...]:
        """The parameters of a CSI; an omitted one is 0."""
        return tuple(int(one) if one.isdigit() else 0 for one in self.body.lstrip("?><=").split(";"))


def is_control(char: str) -> bool:
    """C0, DEL and C1."""
    return char < " " or "\x7f" <= char <= "\x9f"


def scan(text: str) -> Iterator[Token]:
    """The tokens in order; their `raw` parts joined are the text."""
    at, end = 0, len(text)
    while at < end:
        char = text[at]
        if char == "\x1b":
            token = _sequence(text, at)
        elif is_control(char):
            token = Token("control", char, char)
        elif "\ud800" <= char <= "\udfff":
            token = Token("bad", char)
        else:
            stop = at + 1
            while stop < end and not is_control(text[stop]) and not "\ud800" <= text[stop] <= "\udfff":
                stop += 1
            token = Token("text", text[at:stop], text[at:stop])
        yield token
        at += len(token.raw)


def _sequence(text: str, at: int) -> Token:
    second = text[at + 1 : at + 2]
    if second == "[":
        return _csi(text, at)
    if second in _STRINGS:
        return _string(text, at, _STRINGS[second])
    if second and "0" <= second <= "~":
        return Token("escape", text[at : at + 2], second)
    return Token("bad", text[at : at + 1])


def _csi(text: str, at: int) -> Token:
    stop = at + 2
    while stop < len(text) and "0" <= text[stop] <= "?":
        stop += 1
    while stop < len(text) and " " <= text[stop] <= "/":
        stop += 1
    if stop < len(text) and "@" <= text[stop] <= "~":
        return Token("csi", text[at : stop + 1], text[at + 2 : stop], text[stop])
    return Token("bad", text[at:stop])


def _string(text: str, at: int, kind: Kind) -> Token:
    """An OSC, DCS or APC up to its end; one that is unterminated or contains a control is bad."""
    stop = at + 2
    while stop < len(text) and stop - at < _MOST_OF_A_STRING:
        if text.startswith("\x1b\\", stop):
            return Token(kind, text[at : stop + 2], text[at + 2 : stop])
        if kind == "osc" and text[stop] == "\x07":
            return Token(kind, text[at : stop + 1], text[at + 2 : stop])
        if is_control(text[stop]):
            break
        stop += 1
    return Token("bad", text[at:stop])
