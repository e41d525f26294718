"""Completes the end of a streaming text as it will most likely look when the rest arrives.

Open emphasis and code are closed, half-received markers are dropped, and a link with an incomplete URL
becomes a link without one. So nothing jumps when the missing characters arrive.
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


def close_markup(text: str) -> str:
    """Close the open markup of a text."""
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

    def _closed(self, text: str) -> str:
        text = text.rstrip()
        for sign, count, start in reversed(self._open):
            if start + count >= len(text):
                text = text[:start].rstrip()
            else:
                text += sign * count
        return text


def _closing_ticks(text: str, ticks: str, at: int) -> int:
    """Return the end of the matching run of backticks; -1 if missing."""
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
