"""Timestamps in the session format, without the datetime module."""

import time


def now_ms() -> int:
    """Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


def iso(ms: int) -> str:
    """Format as UTC with milliseconds: 2026-01-31T12:00:00.000Z."""
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(ms // 1000))}.{ms % 1000:03d}Z"


def from_iso(text: str) -> int:
    """Parse the format of `iso`, with any fraction of a second; 0 if the text is not a timestamp."""
    try:
        year, month, day = int(text[0:4]), int(text[5:7]), int(text[8:10])
        hour, minute, second = int(text[11:13]), int(text[14:16]), int(text[17:19])
        fraction = float(f"0{text[19:].rstrip('Z')}") if text[19:20] == "." else 0.0
    except ValueError:
        return 0
    if month < 3:  # count years from March, so that a leap day is the last day of its year
        year, month = year - 1, month + 12
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * month - 457) // 5 + day - 719_469
    return ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + round(fraction * 1000)
