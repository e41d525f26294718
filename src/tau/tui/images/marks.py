"""Registers our image sequences: the renderer passes only these, and sends pixels along with a frame.

A row of an image has a short sequence that places it. The terminal needs the pixels only once: they are
queued here until a frame is written (`take_pending`), and again after the screen was cleared.
"""

from collections.abc import Callable, Iterator

MAX_SEQUENCES = 4096
"""How many sequences are remembered; the oldest are dropped, and their rows become text."""
MAX_SEQUENCE_CHARS = 64 * 1024 * 1024
"""Limit on their total length: some protocols have the pixels in the row."""
MAX_PENDING = 1024

_REMOVE_SHOWN = "\x1b_Ga=d,d=a,q=2\x1b\\"
_STRING_STARTS = ("\x1b_G", "\x1b]1337;", "\x1bP")


class ImageSequences:
    """The exact strings that images put into their rows, and what must be sent before those rows."""

    def __init__(self, max_sequences: int = MAX_SEQUENCES, max_chars: int = MAX_SEQUENCE_CHARS) -> None:
        self._max_sequences = max_sequences
        self._max_chars = max_chars
        self._chars = 0
        self._rows_above: dict[str, int] = {}
        self._pixels: dict[int, Callable[[], str]] = {}
        self._unsent: dict[int, None] = {}
        self._commands: list[str] = []

    def add(self, sequence: str, rows_above: int = 0) -> str:
        """Allow this sequence. It starts painting `rows_above` rows above its own row."""
        self.forget(sequence)
        self._rows_above[sequence] = rows_above
        self._chars += len(sequence)
        while len(self._rows_above) > self._max_sequences or self._chars > self._max_chars:
            self.forget(next(iter(self._rows_above)))
        return sequence

    def forget(self, sequence: str) -> None:
        if self._rows_above.pop(sequence, None) is not None:
            self._chars -= len(sequence)

    def is_image_row(self, row: str) -> bool:
        """Whether the row has a sequence of ours, and no other that looks like an image."""
        if not any(start in row for start in _STRING_STARTS):
            return False
        rest = self.without_images(row)
        return rest != row and not any(start in rest for start in _STRING_STARTS)

    def parts(self, row: str) -> list[tuple[bool, str]]:
        """Split the row into (True, a sequence of ours) and (False, other text)."""
        pieces: list[tuple[bool, str]] = []
        at = 0
        for start, end in self._spans(row):
            if start > at:
                pieces.append((False, row[at:start]))
            pieces.append((True, row[start:end]))
            at = end
        if at < len(row):
            pieces.append((False, row[at:]))
        return pieces

    def without_images(self, row: str) -> str:
        return "".join(text for ours, text in self.parts(row) if not ours)

    def fit_row(self, row: str, rows_above: int) -> str:
        """Return the row for writing with this many screen rows above it.

        An image that would begin above the screen is dropped: the terminal would paint it too low.
        """
        if not any(start in row for start in _STRING_STARTS):
            return row
        return "".join(
            text for ours, text in self.parts(row) if not ours or self._rows_above.get(text, 0) <= rows_above
        )

    def send_pixels(self, image: int, pixels: Callable[[], str]) -> None:
        """Queue the pixels of an image, to be sent once before the next frame."""
        self._pixels[image] = pixels
        self._unsent[image] = None
        while len(self._pixels) > MAX_PENDING:
            self.drop(next(iter(self._pixels)))

    def has_pixels(self, image: int) -> bool:
        """Whether the pixels of this image are still queued or sent, not dropped."""
        return image in self._pixels

    def was_sent(self, image: int) -> bool:
        return image in self._pixels and image not in self._unsent

    def send(self, command: str) -> None:
        """Queue a short command, to be sent once after queued pixels; excess commands are dropped."""
        if len(self._commands) < MAX_PENDING:
            self._commands.append(command)

    def drop(self, image: int, deletion: str = "") -> None:
        """Forget the pixels of an image; `deletion` is the command that deletes them in the terminal."""
        if deletion and self.was_sent(image):
            self.send(deletion)
        self._pixels.pop(image, None)
        self._unsent.pop(image, None)

    def screen_cleared(self) -> None:
        """Queue all pixels again: the terminal has lost them (cleared or restarted)."""
        self._unsent = dict.fromkeys(self._pixels)

    def removal_sequence(self) -> str:
        """Return what removes placed images from the screen, if there may be any: text does not cover them.

        Pixels stay, and so do images in the history and those drawn by placeholders.
        """
        return _REMOVE_SHOWN if any(key.startswith("\x1b_Ga=p,i=") for key in self._rows_above) else ""

    def take_pending(self) -> str:
        """Return what to write before the rows of the next frame; usually nothing."""
        if not self._unsent and not self._commands:
            return ""
        text = "".join(self._pixels[image]() for image in self._unsent) + "".join(self._commands)
        self._commands.clear()
        self._unsent.clear()
        return text

    def _spans(self, row: str) -> Iterator[tuple[int, int]]:
        at = 0
        while (start := row.find("\x1b", at)) >= 0:
            end = self._end_of_known(row, start)
            if end:
                yield start, end
            at = end or start + 1

    def _end_of_known(self, row: str, start: int) -> int:
        """Return where our sequence that begins at `start` ends, or 0."""
        if row.startswith("\x1b_G", start):
            end = row.find("\x1b\\", start + 3) + 2
        elif row.startswith("\x1b7", start):  # upward sequences are between saving and restoring the cursor
            end = row.find("\x1b8", start + 2) + 2
        else:
            return 0
        return end if row[start:end] in self._rows_above else 0


image_rows = ImageSequences()
"""The process-wide registry, shared by images and the renderer."""
