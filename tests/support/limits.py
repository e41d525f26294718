"""How long a test waits for something that must happen."""

import os
from collections.abc import Iterator

HANG_S = float(os.environ.get("TEST_HANG_SECONDS", "60"))
"""Only a hang takes this long, even on a busy machine."""


def growing(seconds: float) -> Iterator[float]:
    """Time limits to try one after another, until something got far enough before it was stopped.

    On a quiet machine the first one does; on a busy one a fixed limit may end what has not begun.
    """
    while seconds < HANG_S:
        yield seconds
        seconds *= 4
    yield HANG_S
