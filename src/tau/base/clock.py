"""Time as the session format writes it, without the datetime module."""

import time


def now_ms() -> int:
    """Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


def iso(ms: int) -> str:
    """UTC, with milliseconds: 2026-01-31T12:00:00.000Z."""
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(ms // 1000))}.{ms % 1000:03d}Z"
