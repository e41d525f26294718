"""`tau export --pi`: a session for other programs."""

import os
from collections.abc import Sequence

from tau.base.errors import UsageError
from tau.coding.session.export_pi import pi_lines
from tau.modes.output import Output, tell
from tau.sdk import session_store

USAGE = "Write it as tau export --pi [ID|PATH] > FILE; without a session it is the latest of this folder."


def run(words: Sequence[str]) -> int:
    """The lines on standard output. Raises UsageError and SessionError."""
    if not words or words[0] != "--pi" or len(words) > 2:
        raise UsageError(USAGE)
    store = session_store(os.environ)
    path = store.find_path(words[1]) if len(words) == 2 else store.recent_path()
    log = store.open(path, read_only=True)
    out = Output()
    try:
        for line in pi_lines(log):
            out.write(line + b"\n")
    finally:
        log.close()
    for warning in log.warnings:
        tell(warning)
    return 0
