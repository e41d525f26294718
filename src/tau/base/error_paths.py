"""Parses the location of an error from the end of msgspec's message."""

import re
from typing import TypeAlias

# A field's name, the index of an element, or None for a key of an object, which msgspec does not name.
Step: TypeAlias = str | int | None

_PLACE = re.compile(r" - at `\$([^`]*)`$")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")


def split_place(message: str) -> tuple[str, list[Step]]:
    """Split a msgspec message into the text and the path at its end."""
    place = _PLACE.search(message)
    if place is None:
        return message, []
    steps = [name or (int(index) if index.isdigit() else None) for name, index in _STEP.findall(place[1])]
    return message[: place.start()], steps


def spell(*steps: Step) -> str:
    """Format a path as a suffix: `.name[0]`."""
    return "".join(f".{step}" if isinstance(step, str) else f"[{_index(step)}]" for step in steps)


def _index(step: int | None) -> str:
    return "..." if step is None else str(step)
