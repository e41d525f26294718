"""Time and size limits of document conversion, and the errors for exceeding them."""

import time

from tau.base.errors import ToolError
from tau.base.sizes import MIB

MAX_PART_BYTES = 64 * MIB  # per unpacked part
MAX_TOTAL_BYTES = 256 * MIB  # of all parts read
MAX_RATIO = 300  # unpacked to packed, for parts above RATIO_FREE_BYTES
RATIO_FREE_BYTES = 4 * MIB
MAX_PARTS = 20_000
MAX_MARKUP = 2_000_000  # tags and attributes of one part that is held as a tree
MAX_TABLE_CELLS = 500_000
MAX_TEXT_CHARS = 8_000_000  # of Markdown
MAX_DEPTH = 200  # of nested tables, lists, groups
SECONDS = 30.0


class DocumentError(ToolError):
    """A document cannot be read; `str(error)` says why in one sentence."""


def check_cells(count: int) -> None:
    if count > MAX_TABLE_CELLS:
        raise DocumentError(f"one of its tables has more than {MAX_TABLE_CELLS:,} cells.")


class TextLimitReached(Exception):
    """The Markdown has reached its limit; what was written so far is kept."""


class Deadline:
    """The deadline of a conversion. Loops over document content call `check`."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def check(self) -> None:
        if time.monotonic() > self._end:
            raise DocumentError(
                f"the conversion was stopped after {self.seconds:g} s; the document is too complex."
            )
