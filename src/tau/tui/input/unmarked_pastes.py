"""Converts typed text to keys, and detects pastes by their pace, whatever the terminal says about them."""

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
    """Recognizes unmarked pastes by their pace, so that they cannot send or run anything.

    A person presses Enter alone: it arrives in its own read, some time after the last character. A line
    end in one read with text, or right after it, belongs to a paste: it is held until nothing arrives for 20
    ms, and is then text. So is a run of 64 characters or more. Shorter text without a line end counts as
    typed, since input methods and slow connections deliver several characters at once.

    Two reads belong to one run if no more than 5 ms pass between them (held keys repeat every 30 ms and the
    fastest typists need 50 ms), or 20 ms after several characters, which no hand types that fast.

    `early`: this arrived before the program read the terminal, so its pace is unknown. A line end with text
    is a paste here too; the last one is dropped, since the user may have pressed Enter to send.
    """

    GAP_MS = 5
    QUIET_MS = 20
    MIN_CHARS = 64
    FAST_CHARS = 4

    def __init__(self) -> None:
        self.size = 0
        """How many characters are held back."""
        self.early = False
        self._is_early = False
        self._held: list[str] = []
        self._run = 0
        self._last_text = float("-inf")

    def note_text(self, now: float) -> None:
        """Note when text was read; answers of the terminal between it do not count."""
        gap_ms = self.QUIET_MS if self._run >= self.FAST_CHARS else self.GAP_MS
        if not self.size and now - self._last_text > gap_ms / 1000:
            self._run = 0
        self._last_text = now

    def interrupt(self) -> None:
        """Note a key that is never part of a paste."""
        self._run = 0

    def hold(self, text: str) -> bool:
        """Offer text; returns whether it is held back."""
        ends_line = "\r" in text or "\n" in text
        # Line ends alone are the Enter key, pressed or held.
        self._run += len(text) - text.count("\r") - text.count("\n") if ends_line else len(text)
        if not self.size:
            if self._run == 1 and text.rstrip("\r\n") == "\\":
                return False  # how some terminals send Shift+Enter; it never sends the message
            is_paste = self._run > 0 if ends_line else self._run >= self.MIN_CHARS
            if not is_paste:
                return False
            self._is_early = self.early
        self._held.append(text)
        self.size += len(text)
        return True

    def release(self) -> Paste:
        """Return the held text."""
        raw = "".join(self._held)
        self._run = 0
        self._held, self.size = [], 0
        text = as_paste(raw)
        return Paste(text.removesuffix("\n") if self._is_early else text)
