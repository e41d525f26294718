"""Large pastes: each is one character in the buffer, shown as a label, and turned back into its exact text.

The characters are lone surrogates. Text from outside never contains one (`intake` replaces them), so nothing
that is typed or pasted can be taken for a marker, and undo, kill and yank move a marker like any letter.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from tau.tui.widgets.editor.intake import incoming_line

PASTE_LINES = 10
"""A paste of more lines becomes a marker."""
PASTE_CHARS = 1_000
"""And so does one of more characters."""
COLLECT_ABOVE = 64
"""With more markers than this, those that nothing refers to any more are dropped."""

FIRST, LAST = 0xD800, 0xDFFF


def is_marker(char: str) -> bool:
    """Whether the character stands for a paste."""
    return "\ud800" <= char <= "\udfff"


class StoredPaste(NamedTuple):
    """What a marker stands for."""

    number: int
    text: str
    label: str


def is_large(text: str) -> bool:
    """Whether a paste is shown as a marker."""
    return len(text) > PASTE_CHARS or text.count("\n") >= PASTE_LINES


def label_of(number: int, text: str) -> str:
    """What is shown for it: `[Pasted text #1 +42 lines]`; of few lines, which are long, the characters."""
    lines = text.count("\n") + 1
    size = f"+{lines:,} lines" if lines > PASTE_LINES else f"{len(text):,} characters"
    return f"[Pasted text #{number} {size}]"


def _no_texts() -> Iterable[str]:
    return ()


class Pastes:
    """The markers of one editor. `live` gives all texts in which one may stand: they decide what is kept."""

    def __init__(self, live: Callable[[], Iterable[str]] = _no_texts) -> None:
        self._live = live
        self._pastes: dict[str, StoredPaste] = {}
        self._last_number = 0
        self._collect_at = COLLECT_ABOVE
        self.opened: dict[str, None] = {}
        """Markers that were replaced by their text on demand, the latest last."""

    def __len__(self) -> int:
        return len(self._pastes)

    def __getitem__(self, marker: str) -> StoredPaste:
        """What the marker stands for; an unknown one stands for nothing."""
        return self._pastes.get(marker) or StoredPaste(0, "", "")

    def add(self, text: str, label: str = "", number: int = 0) -> str:
        """A new marker; "" if there are too many, and the text has to be inserted as it is.

        A number and a label are given for one that was made earlier.
        """
        if len(self._pastes) >= self._collect_at:
            self.collect()
            self._collect_at = min(max(COLLECT_ABOVE, 2 * len(self._pastes)), LAST - FIRST + 1)
        marker = next((chr(code) for code in range(FIRST, LAST + 1) if chr(code) not in self._pastes), "")
        if marker:
            number = number or self._last_number + 1
            self._last_number = max(self._last_number, number)
            self._pastes[marker] = StoredPaste(number, text, incoming_line(label) or label_of(number, text))
        return marker

    def expanded(self, raw: str) -> str:
        """The text with every marker replaced by what it stands for."""
        for marker, paste in self._pastes.items():
            if marker in raw:
                raw = raw.replace(marker, paste.text)
        return raw

    def masked(self, raw: str) -> str:
        """The text with U+FFFC for every marker: the same length, and fit for other ears."""
        for marker in self._pastes:
            raw = raw.replace(marker, "\ufffc")
        return raw

    def parts(self, raw: str) -> Iterator[str | StoredPaste]:
        """The text and the markers in it, in order."""
        start = 0
        if any(marker in raw for marker in self._pastes):
            for at, char in enumerate(raw):
                if char in self._pastes:
                    if at > start:
                        yield raw[start:at]
                    yield self._pastes[char]
                    start = at + 1
        if start < len(raw):
            yield raw[start:]

    def collect(self) -> None:
        """Drop what no text refers to; numbers begin again when nothing is left."""
        texts = list(self._live())
        for marker in [marker for marker in self._pastes if not any(marker in text for text in texts)]:
            del self._pastes[marker]
            self.opened.pop(marker, None)
        if not self._pastes:
            self._last_number = 0
