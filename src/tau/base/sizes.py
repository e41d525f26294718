"""Byte sizes: units and formatting."""

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


def format_bytes(size: int) -> str:
    """`812 bytes`, `4 KiB`, `1.5 MiB`."""
    if size < KIB:
        return "1 byte" if size == 1 else f"{size} bytes"
    for unit, name in ((GIB, "GiB"), (MIB, "MiB")):
        if size >= unit:
            return f"{_short(size / unit)} {name}"
    return f"{_short(size / KIB)} KiB"


def _short(number: float) -> str:
    """One decimal, truncated rather than rounded, so a limit never looks larger than it is."""
    return f"{int(number * 10) / 10:g}"
