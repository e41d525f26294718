"""Where in the data msgspec found a mistake: read from the end of its message."""

import re
from typing import TypeAlias

# A field's name, the index of an element, or None for a key of an object, which msgspec does not name.
Step: TypeAlias = str | int | None

_PLACE = re.compile(r" - at `\$([^`]*)`$")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")


def split_place(message: str) -> tuple[str, list[Step]]:
    """A message of msgspec without the place at its end, and the steps that lead to that place."""
    place = _PLACE.search(message)
    if place is None:
        return message, []
    steps = [name or (int(index) if index.isdigit() else None) for name, index in _STEP.findall(place[1])]
    return message[: place.start()], steps


def spell(*steps: Step) -> str:
    """`.name[0]`: how a place is written behind the name of what it lies in."""
    return "".join(f".{step}" if isinstance(step, str) else f"[{_index(step)}]" for step in steps)


def _index(step: int | None) -> str:
    return "..." if step is None else str(step)
