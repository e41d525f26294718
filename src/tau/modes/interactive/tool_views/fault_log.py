"""The log of drawing faults: a block is drawn again and again, its fault is noted once."""

from tau.base import log

MAX_KINDS = 100
_told: set[tuple[str, str]] = set()


def log_once(message: str, error: Exception) -> None:
    """Note a fault, unless one of its kind was noted before."""
    kind = (message, repr(error)[:200])
    if kind not in _told and len(_told) < MAX_KINDS:
        _told.add(kind)
        log.error(message, error)
