"""Minimizes a failing run: operations are removed as long as the same rule is still broken."""

import time
from collections.abc import Callable, Sequence

from tests.tui.stress.operations import Op

SECONDS = 20.0


def reduce(
    operations: Sequence[Op], breaks: Callable[[Sequence[Op]], bool], seconds: float = SECONDS
) -> list[Op]:
    """Remove ever smaller parts until no single one can be removed, or the time is up."""
    left = list(operations)
    deadline = time.monotonic() + seconds
    size = max(1, len(left) // 2)
    while time.monotonic() < deadline:
        at, shorter = 0, False
        while at < len(left) and time.monotonic() < deadline:
            trial = left[:at] + left[at + size :]
            if breaks(trial):
                left, shorter = trial, True
            else:
                at += size
        if size == 1 and not shorter:
            break
        size = max(1, size // 2)
    return left


def as_code(shape: str, seed: int, operations: Sequence[Op], message: str) -> str:
    """A test that can be pasted into a file."""
    steps = "".join(f"        {operation!r},\n" for operation in operations)
    return (
        f"def test_seed_{seed}_{shape}() -> None:\n"
        f"    # {message.splitlines()[0]}\n"
        f"    operations = [\n{steps}    ]\n"
        f"    play(Rig(SHAPES[{shape!r}], {seed}), operations)\n"
    )
