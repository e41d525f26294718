"""The images that were sent: ids, placements, and deletions."""

from typing import NamedTuple

LOG_SIZE = 10_000
"""How many entries each image list keeps; older ones are dropped and counted."""


class Image(NamedTuple):
    """A complete Kitty image."""

    id: int
    number: int
    format: int
    width: int
    height: int
    data: str
    """The base64 text as received, its chunks joined."""


class Placement(NamedTuple):
    """An image on the screen. `row` counts from the first row ever written."""

    image: int
    placement: int
    row: int
    column: int
    columns: int
    rows: int
    virtual: bool = False
    """Only shown where Unicode placeholders say so."""
    z: int = 0


class Inline(NamedTuple):
    """An iTerm2 or Sixel image, drawn where it is written."""

    protocol: str
    row: int
    column: int
    columns: int
    rows: int
    bytes: int


class Images:
    """All images."""

    def __init__(self) -> None:
        self.transmitted: dict[int, Image] = {}
        self.transmissions: list[int] = []
        """Every id in the order its pixels arrived: an id listed twice was sent twice."""
        self.placements: dict[tuple[int, int], Placement] = {}
        self.deleted: list[int] = []
        """Ids whose pixels were freed, in order."""
        self.inline: list[Inline] = []
        self.errors: list[str] = []
        self.chunks: tuple[dict[str, str], list[str]] | None = None
        """A transmission in progress: its first command and the data so far."""
        self.anonymous = 0
        self.dropped = 0
        self.next_id = 1 << 24

    def clear_rows(self, start: int) -> None:
        """Remove placements from row `start` on; their pixels stay."""
        kept = {key: at for key, at in self.placements.items() if at.virtual or at.row + at.rows <= start}
        self.placements = kept

    def log(self, entries: list[int], entry: int) -> None:
        """Append to one of the bounded lists."""
        entries.append(entry)
        if len(entries) > LOG_SIZE:
            del entries[0]
            self.dropped += 1
