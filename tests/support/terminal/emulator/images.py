"""What is known of the images that were sent: ids, where they stand, and what was deleted."""

from typing import NamedTuple

LOG_SIZE = 10_000
"""How many entries each list of images keeps; older ones are dropped and counted."""


class Image(NamedTuple):
    """One image of the Kitty protocol, whole."""

    id: int
    number: int
    format: int
    width: int
    height: int
    data: str
    """The base64 text as it came, its chunks joined."""


class Placement(NamedTuple):
    """An image on the screen. `row` counts from the first row of the tape that was ever written."""

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
    """An image of iTerm2 or Sixel, which is drawn where it is written."""

    protocol: str
    row: int
    column: int
    columns: int
    rows: int
    bytes: int


class Images:
    """The books of all images."""

    def __init__(self) -> None:
        self.transmitted: dict[int, Image] = {}
        self.transmissions: list[int] = []
        """Every id in the order in which its pixels came: an id twice was sent twice."""
        self.placements: dict[tuple[int, int], Placement] = {}
        self.deleted: list[int] = []
        """Ids whose pixels were freed, in order."""
        self.inline: list[Inline] = []
        self.errors: list[str] = []
        self.chunks: tuple[dict[str, str], list[str]] | None = None
        """A transmission that goes on: what its first command said, and the data so far."""
        self.anonymous = 0
        self.dropped = 0
        self.next_id = 1 << 24

    def clear_rows(self, start: int) -> None:
        """What stands on rows from `start` on is gone; its pixels stay."""
        kept = {key: at for key, at in self.placements.items() if at.virtual or at.row + at.rows <= start}
        self.placements = kept

    def log(self, entries: list[int], entry: int) -> None:
        """Add to one of the lists, which stay bounded."""
        entries.append(entry)
        if len(entries) > LOG_SIZE:
            del entries[0]
            self.dropped += 1
