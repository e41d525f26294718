"""Logs drawing errors once, although blocks are redrawn often."""

from tau.base import log

MAX_KINDS = 100
_logged: set[tuple[str, str]] = set()


def log_once(message: str, error: Exception) -> None:
    """Log an error unless one of its kind was logged before."""
    kind = (message, repr(error)[:200])
    if kind not in _logged and len(_logged) < MAX_KINDS:
        _logged.add(kind)
        log.error(message, error)
