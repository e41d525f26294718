"""Parses the path at the end of a msgspec error message."""

import re
from typing import TypeAlias

# A field name, an element index, or None for a key of an object, which msgspec does not name.
Step: TypeAlias = str | int | None

_PLACE = re.compile(r" - at `\$([^`]*)`$")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")


def split_path(message: str) -> tuple[str, list[Step]]:
    """Split a msgspec message into the text and the path at its end."""
    place = _PLACE.search(message)
    if place is None:
        return message, []
    steps = [name or (int(index) if index.isdigit() else None) for name, index in _STEP.findall(place[1])]
    return message[: place.start()], steps


def format_path(*steps: Step) -> str:
    """Format a path as a suffix: `.name[0]`."""
    return "".join(
        f".{step}" if isinstance(step, str) else f"[{'...' if step is None else step}]" for step in steps
    )
