"""The kill ring: what was cut can be put back, the latest first, then those before it."""

from collections.abc import Iterator

ENTRIES = 60
"""Older entries are forgotten."""
KEPT_CHARS = 4_000_000
"""So are those beyond this much text."""


class KillRing:
    """Texts that were cut, the latest last."""

    __slots__ = ("_at", "_texts")

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._at = 0

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def push(self, text: str, *, joins: bool = False, backward: bool = False) -> None:
        """Keep a text; with `joins` it extends the last one, in front of it if it was cut backwards."""
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
        """What a yank inserts; "" if nothing was cut yet."""
        self._at = len(self._texts) - 1
        return self._texts[-1] if self._texts else ""

    def earlier(self) -> str:
        """What a yank-pop puts in its place: each call goes one further back, and round again."""
        if not self._texts:
            return ""
        self._at = (self._at - 1) % len(self._texts)
        return self._texts[self._at]
