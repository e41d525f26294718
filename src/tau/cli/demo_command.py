"""`tau demo`: a one-minute tour that needs no API key or network."""

import sys
from collections.abc import Sequence

from tau.base.errors import UsageError
from tau.base.late import late
from tau.cli.subcommand_help import usage_line

playing = late("tau.modes.interactive.demo.play")
signalling = late("tau.cli.signals")


def run(words: Sequence[str]) -> int:
    """Run the demo and return the exit code. Raises UsageError."""
    if any(word != "--fast" for word in words):
        raise UsageError(usage_line("demo"))
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("The demo needs a terminal.")
    return playing.play(signalling.Signals, fast="--fast" in words)
