"""The end of what a debugged program and its adapter print, with where each piece came from."""

from collections import deque

from tau.base.sizes import KIB

MAX_OUTPUT_BYTES = 128 * KIB
MAX_PIECE_CHARS = 16 * KIB
LABELS = {"stdout": "stdout", "stderr": "stderr"}
"""Everything else is the adapter's own: console."""


class OutputRing:
    """Drops the oldest pieces above its limit, and says so."""

    def __init__(self, max_bytes: int = MAX_OUTPUT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._pieces: deque[tuple[str, str, int]] = deque()
        self.bytes = 0
        self.truncated = False
        self.total_pieces = 0
        self.shown = 0  # pieces that the agent has seen

    def add(self, category: str, text: str) -> None:
        label = LABELS.get(category, "console")
        for start in range(0, len(text), MAX_PIECE_CHARS):
            piece = text[start : start + MAX_PIECE_CHARS]
            size = len(piece.encode("utf-8", "replace"))
            self._pieces.append((label, piece, size))
            self.total_pieces += 1
            self.bytes += size
            while self.bytes > self._max_bytes:
                self.bytes -= self._pieces.popleft()[2]
                self.truncated = True

    def mark_shown(self) -> None:
        self.shown = self.total_pieces

    def text(self, since: int = 0) -> str:
        """Lines with a label each; `since`: without the first pieces."""
        skip = max(since - (self.total_pieces - len(self._pieces)), 0)
        parts: list[tuple[str, list[str]]] = []
        for at, (label, text, _) in enumerate(self._pieces):
            if at < skip:
                continue
            if parts and parts[-1][0] == label:
                parts[-1][1].append(text)
            else:
                parts.append((label, [text]))
        return "\n".join(
            f"[{label}] {line}" for label, texts in parts for line in "".join(texts).splitlines()
        )
