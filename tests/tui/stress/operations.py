"""What may happen to a screen, as small values that are meaningful in any state."""

from random import Random
from typing import NamedTuple

# How often each one comes up, relative to the others.
WEIGHTS = {
    "append": 14,
    "stream": 26,
    "mutate": 6,
    "tick": 6,
    "finalize": 8,
    "shrink": 3,
    "rewind": 2,
    "late": 3,
    "overlay": 4,
    "close": 7,
    "resize": 3,
    "drag": 1,
    "race": 2,
    "begin": 3,
    "image": 3,
    "focus": 2,
    "type": 8,
    "erase": 3,
    "status": 3,
    "spin": 5,
    "force": 2,
    "reset": 1,
    "suspend": 1,
    "clear": 1,
    "scroll": 4,
    "idle": 4,
}
UNSEEN = 0.2
"""How often no frame is drawn after an operation, so that the next one shares it."""


class Op(NamedTuple):
    """One operation. The numbers are taken modulo what exists, so that any part of a run is a run too."""

    kind: str
    one: int = 0
    two: int = 0
    frame: bool = True
    """Whether a frame is drawn after it."""

    def __repr__(self) -> str:
        return f"Op({self.kind!r}, {self.one}, {self.two}{'' if self.frame else ', frame=False'})"


def make_operations(seed: int, count: int) -> list[Op]:
    """The same operations for the same seed, whatever the shape of the terminal."""
    random = Random(seed)
    kinds = random.choices(list(WEIGHTS), list(WEIGHTS.values()), k=count)
    return [
        Op(kind, random.randrange(1000), random.randrange(1000), random.random() >= UNSEEN) for kind in kinds
    ]
