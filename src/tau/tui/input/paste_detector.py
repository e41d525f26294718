"""Converts typed text to keys, and detects pastes by typing speed where the terminal does not mark them."""

from tau.base.late import late
from tau.tui.input.key import Key, Paste
from tau.tui.input.key_parser import parse_key

width = late("tau.tui.text.width")


def is_control(char: str) -> bool:
    """Whether it is a control key; tabs and line ends are text, since they may be part of a paste."""
    return (char < " " and char not in "\t\r\n") or "\x7f" <= char < "\xa0"


def has_controls(text: str) -> bool:
    """Whether the text may contain such a character."""
    return not (text.isprintable() or text.translate({9: None, 10: None, 13: None}).isprintable())


def typed_keys(text: str) -> list[Key]:
    """Return the keys that typed a text, one per grapheme."""
    if len(text) == 1:
        return [parse_key(text)]
    # A terminal in new-line mode sends two characters for Enter.
    text = text.replace("\r\n", "\r")
    if text.isascii():
        return [parse_key(char) for char in text]
    keys: list[Key] = []
    for cluster in width.graphemes(text):
        keys.append(parse_key(cluster) if len(cluster) == 1 else Key(cluster, cluster, raw=cluster))
    return keys


def as_paste(text: str) -> str:
    """Normalize line ends to newlines."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


class PasteDetector:
    """Holds back text that arrives faster than anyone types until a pause, then classifies it.

    Characters belong to one run while no more than 5 ms pass between two reads: held keys repeat
    every 30 ms and the fastest typists need 50 ms. A slow ssh line delivers in one read what was typed during
    a stall, about 12 characters a second, and programs such as `tmux send-keys` send a line and its Enter at
    once; neither is a paste. So a run is only considered from 16 characters with a line end, or from 64
    without one. It is then held until nothing arrives for 20 ms, and it is a paste if text follows a line end
    in it: two lines in 32 characters, or three in fewer. A single line counts as typed, and an Enter after it
    submits; an Enter that ends several lines is part of them, and the next one, after the pause, submits.
    Very short pastes of several lines are not recognized: they look like a stalled connection.
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

    def note_read(self, now: float) -> None:
        """Note the time of a read."""
        if not self.size and now - self._last_read > self.GAP_MS / 1000:
            self._run = 0
        self._last_read = now

    def interrupt(self) -> None:
        """Note a key that is never part of a paste."""
        self._run = 0

    def hold(self, text: str) -> bool:
        """Offer text; returns whether it is held back."""
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

    def release(self) -> list[Key | Paste]:
        """Return the held text as a paste or keys."""
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
