"""Large pastes: each is one character in the buffer, shown as a label, and expanded to its exact text.

The characters are lone surrogates. Text from outside never contains one (`input_sanitizer` replaces them), so
typed or pasted text cannot contain a marker, and undo, kill and yank handle markers like any letter.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from tau.tui.widgets.editor.input_sanitizer import clean_input_line

PASTE_LINES = 10
"""A paste of more lines becomes a marker."""
PASTE_CHARS = 1_000
"""And so does one of more characters."""
COLLECT_ABOVE = 64
"""Beyond this many markers, unreferenced ones are dropped."""

FIRST, LAST = 0xD800, 0xDFFF


def is_marker(char: str) -> bool:
    return "\ud800" <= char <= "\udfff"


class StoredPaste(NamedTuple):
    """The content of a marker."""

    number: int
    text: str
    label: str


def is_large(text: str) -> bool:
    """Whether a paste is shown as a marker."""
    return len(text) > PASTE_CHARS or text.count("\n") >= PASTE_LINES


def label_of(number: int, text: str) -> str:
    """Format a label: `[Pasted text #1 +42 lines]`, or the character count for few long lines."""
    lines = text.count("\n") + 1
    size = f"+{lines:,} lines" if lines > PASTE_LINES else f"{len(text):,} characters"
    return f"[Pasted text #{number} {size}]"


class Pastes:
    """The markers of one editor. `live` returns all texts that may contain one: they decide what is kept."""

    def __init__(self, live: Callable[[], Iterable[str]] = tuple) -> None:
        self._live = live
        self._pastes: dict[str, StoredPaste] = {}
        self._last_number = 0
        self._collect_at = COLLECT_ABOVE
        self.opened: dict[str, None] = {}
        """Markers that the user expanded, the latest last."""

    def __len__(self) -> int:
        return len(self._pastes)

    def __getitem__(self, marker: str) -> StoredPaste:
        """Return the content of a marker; empty if unknown."""
        return self._pastes.get(marker) or StoredPaste(0, "", "")

    def add(self, text: str, label: str = "", number: int = 0) -> str:
        """Add a marker; "" if there are too many, and the text must be inserted unfolded.

        Pass a number and a label to restore an earlier one.
        """
        if len(self._pastes) >= self._collect_at:
            self.collect()
            self._collect_at = min(max(COLLECT_ABOVE, 2 * len(self._pastes)), LAST - FIRST + 1)
        marker = next((chr(code) for code in range(FIRST, LAST + 1) if chr(code) not in self._pastes), "")
        if marker:
            number = number or self._last_number + 1
            self._last_number = max(self._last_number, number)
            self._pastes[marker] = StoredPaste(
                number, text, clean_input_line(label) or label_of(number, text)
            )
        return marker

    def expand(self, raw: str) -> str:
        """Replace every marker with its content."""
        for marker, paste in self._pastes.items():
            if marker in raw:
                raw = raw.replace(marker, paste.text)
        return raw

    def mask(self, raw: str) -> str:
        """Replace every marker with U+FFFC: same length, safe outside the editor."""
        for marker in self._pastes:
            raw = raw.replace(marker, "\ufffc")
        return raw

    def parts(self, raw: str) -> Iterator[str | StoredPaste]:
        """Yield the text and its markers in order."""
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
        """Drop unreferenced markers; numbering restarts when none is left."""
        texts = list(self._live())
        for marker in [marker for marker in self._pastes if not any(marker in text for text in texts)]:
            del self._pastes[marker]
            self.opened.pop(marker, None)
        if not self._pastes:
            self._last_number = 0
