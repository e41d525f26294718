"""The end of a text that is still arriving, as it will most likely look when the rest is there.

Emphasis and code that were opened are closed, signs of which only a half has come are left out, and a link
whose address is incomplete is a link without one. So nothing jumps when the missing signs arrive.
"""

import re
from functools import cache

_WORD = re.compile(r"\w").match


@cache
def _special() -> re.Pattern[str]:
    return re.compile(r"\\|`+|\*+|_+|~+|!?\[|\]|<")


@cache
def _autolink() -> re.Pattern[str]:
    return re.compile(r"<[A-Za-z][A-Za-z0-9+.\-]{1,31}:[^\s<>]*\Z")


def mended(text: str) -> str:
    """The text with its open ends closed."""
    if _special().search(text) is None:
        return text
    return _Mender(text).mended()


class _Mender:
    """Reads the signs of one text from the left and keeps what is open."""

    def __init__(self, text: str) -> None:
        self._text = text.rstrip()
        self._open: list[tuple[str, int, int]] = []
        """Signs of emphasis: the character, how many of them, where."""
        self._brackets: list[int] = []

    def mended(self) -> str:
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
                    return self._closed(text[: match.start()])
            elif first == "<":
                if _autolink().match(text, match.start()):
                    return self._closed(text[: match.start()] + text[at:])
            elif first == "]":
                if self._brackets:
                    bracket = self._brackets.pop()
                    if text.startswith("(", at):
                        at = _closing_parenthesis(text, at)
                        if at < 0:
                            return self._closed(f"{text[:bracket]}{text[bracket : match.end()]}(<>)")
            else:
                self._brackets.append(match.start())
        return self._closed(text)

    def _with_open_code(self, at: int, ticks: str) -> str:
        code = self._text[at + len(ticks) :].rstrip("`").rstrip()
        if not code:
            return self._closed(self._text[:at])
        return self._closed(f"{self._text[:at]}{ticks}{code}{ticks}")

    def _emphasis(self, start: int, sign: str) -> bool:
        """Takes a run of signs; True if it stands at the end and cannot be told yet: it is left out."""
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

    def _closed(self, text: str) -> str:
        text = text.rstrip()
        for sign, count, start in reversed(self._open):
            if start + count >= len(text):
                text = text[:start].rstrip()
            else:
                text += sign * count
        return text


def _closing_ticks(text: str, ticks: str, at: int) -> int:
    """Behind the run of as many backticks; -1 if it has not come."""
    while (found := text.find(ticks, at)) >= 0:
        end = found + len(ticks)
        while text.startswith("`", end):
            end += 1
        if end - found == len(ticks):
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
