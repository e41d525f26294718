"""Splits thinking off the start of an answer, where it is written between tags."""

from typing import Literal

TAGS = {"<think>": "</think>", "<thinking>": "</thinking>", "[THINK]": "[/THINK]"}
OPEN = "</think>"  # ends thinking whose first tag was part of the prompt


class ThinkSplitter:
    """`feed` returns the thinking and the text in a piece. Line breaks after a tag are dropped."""

    def __init__(self, mode: Literal["written", "open"]) -> None:
        self._end = OPEN if mode == "open" else ""  # the tag to wait for
        self._pending = ""
        self._after_tag = False
        self._is_done = False

    def feed(self, piece: str) -> tuple[str, str]:
        if self._is_done and not self._after_tag:
            return "", piece
        text = self._pending + piece
        self._pending = ""
        if not (self._end or self._is_done):
            start = text.lstrip()
            tag = next((tag for tag in TAGS if start.startswith(tag)), "")
            if not tag:
                if any(tag.startswith(start) for tag in TAGS):
                    self._pending = text
                    return "", ""
                self._is_done = True
                return "", text
            self._end, self._after_tag = TAGS[tag], True
            text = start[len(tag) :]
        text = self._without_breaks(text)
        if self._is_done:
            return "", text
        thinking, end, rest = text.partition(self._end)
        if end:
            self._is_done = self._after_tag = True
            return thinking, self._without_breaks(rest)
        kept = _overlap(text, self._end)
        self._pending = text[len(text) - kept :]
        return text[: len(text) - kept], ""

    def _without_breaks(self, text: str) -> str:
        if self._after_tag:
            text = text.lstrip("\r\n")
            self._after_tag = not text
        return text

    def finish(self) -> tuple[str, str]:
        """What was kept back."""
        rest, self._pending = self._pending, ""
        is_thinking = bool(self._end) and not self._is_done
        self._is_done, self._after_tag = True, False
        return (rest, "") if is_thinking else ("", rest)


def _overlap(text: str, tag: str) -> int:
    """How many characters at the end of `text` may begin `tag`."""
    return next((size for size in range(min(len(text), len(tag) - 1), 0, -1) if text.endswith(tag[:size])), 0)
