"""The kill ring: killed text can be yanked back, latest first."""

from collections.abc import Iterator

ENTRIES = 60
"""Older entries are forgotten."""
KEPT_CHARS = 4_000_000
"""So are entries beyond this much text."""


class KillRing:
    """Killed texts, the latest last."""

    __slots__ = ("_at", "_texts")

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._at = 0

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def push(self, text: str, *, joins: bool = False, backward: bool = False) -> None:
        """Push a text; with `joins` it extends the last one, prepended if killed backward."""
        if not text:
            return
        if joins and self._texts:
            last = self._texts[-1]
            self._texts[-1] = text + last if backward else last + text
        else:
            self._texts.append(text)
        while len(self._texts) > ENTRIES or (
            len(self._texts) > 1 and sum(map(len, self._texts)) > KEPT_CHARS
        ):
            del self._texts[0]

    def latest(self) -> str:
        """Return what a yank inserts; "" if empty."""
        self._at = len(self._texts) - 1
        return self._texts[-1] if self._texts else ""

    def earlier(self) -> str:
        """Return the replacement for a yank-pop: each call goes one further back, wrapping around."""
        if not self._texts:
            return ""
        self._at = (self._at - 1) % len(self._texts)
        return self._texts[self._at]
