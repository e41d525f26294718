"""A paste told from typing by its pace, for terminals that do not mark what is pasted."""

from tau.tui.input.key import Key, Paste
from tau.tui.input.typed import as_paste, typed_keys


class PasteDetector:
    """Text that comes faster than anybody types is held back until it is quiet for a moment, then judged.

    The numbers. Characters belong to one run while no more than 5 ms pass between two reads: held keys repeat
    every 30 ms and the fastest typists need 50 ms. A slow ssh line delivers in one read what was typed during
    a stall, about 12 characters a second, and programs such as `tmux send-keys` send a line and its Enter at
    once; neither may be taken for a paste. So a run is only looked at from 16 characters with a line end, or
    from 64 without one. It is then held until nothing came for 20 ms, and it is a paste if text follows a
    line end in it: two lines in 32 characters, or three in fewer. A single line is what it was, and an
    Enter behind it submits it; an Enter that ends several lines is part of them, and the next one, after the
    silence, submits. Very short pastes of several lines are not recognised: they look like a stalled line.
    """

    GAP_MS = 5
    QUIET_MS = 20
    MIN_CHARS_WITH_LINE_END = 16
    MIN_CHARS = 64
    MIN_CHARS_OF_TWO_LINES = 32

    def __init__(self) -> None:
        self.size = 0
        """How many characters are held back."""
        self._held: list[str] = []
        self._run = 0
        self._follows_text = False
        self._last_read = float("-inf")

    def at(self, now: float) -> None:
        """Something was read at this time."""
        if not self.size and now - self._last_read > self.GAP_MS / 1000:
            self._run = 0
        self._last_read = now

    def interrupted(self) -> None:
        """A key came that is never part of a paste."""
        self._run = 0

    def takes(self, text: str) -> bool:
        """Whether the text is held back."""
        before = self._run
        self._run += len(text)
        if not self.size:
            enough = self.MIN_CHARS_WITH_LINE_END if "\r" in text or "\n" in text else self.MIN_CHARS
            if self._run < enough:
                return False
            self._follows_text = before > 0
        self._held.append(text)
        self.size += len(text)
        return True

    def end(self) -> list[Key | Paste]:
        """What was held back, as what it is."""
        raw = "".join(self._held)
        run, self._run = self._run, 0
        self._held, self.size = [], 0
        text = as_paste(raw)
        body = text.removesuffix("\n")
        if "\n" in body:
            lines = sum(1 for line in body.split("\n") if line.strip()) + self._follows_text
            if lines > 2 or (lines == 2 and run >= self.MIN_CHARS_OF_TWO_LINES):
                return [Paste(text)]
        elif len(body) >= self.MIN_CHARS:
            enter: list[Key | Paste] = [*typed_keys("\r")] if text != body else []
            return [Paste(body), *enter]
        return [*typed_keys(raw)]
