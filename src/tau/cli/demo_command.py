"""`tau demo`: shows in a minute what tau does, without a key and without a network."""

import sys
from collections.abc import Sequence

from tau.base.errors import UsageError
from tau.base.late import late

playing = late("tau.modes.interactive.demo.play")
signalling = late("tau.cli.signals")

USAGE = "Write it as tau demo, or as tau demo --fast to see it without the pauses."


def run(words: Sequence[str]) -> int:
    """Raises UsageError. The exit code."""
    if any(word != "--fast" for word in words):
        raise UsageError(USAGE)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("The demonstration needs a terminal.")
    return playing.play(signalling.Signals, fast="--fast" in words)
