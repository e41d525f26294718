"""Plays operations on a rig, and minimizes a failing run."""

from collections.abc import Sequence

from tests.tui.stress.actions import ACTIONS, clear
from tests.tui.stress.mismatch import Mismatch
from tests.tui.stress.operations import Op, make_operations
from tests.tui.stress.reduce import SECONDS, as_code, reduce
from tests.tui.stress.rig import Rig
from tests.tui.stress.shapes import SHAPES

MOST_ROWS = 400
"""A session is replaced when it gets longer: old rows slow down a full paint and find nothing new."""


def play(rig: Rig, operations: Sequence[Op]) -> None:
    """Play all of them, then stop. Raises Mismatch, also for anything the engine raises."""
    done = 0
    try:
        rig.start()
        for operation in operations:
            done += 1
            ACTIONS[operation.kind](rig, operation)
            rig.pending = True
            if operation.frame:
                rig.frame()
            if len(rig.judge.rows) > MOST_ROWS:
                clear(rig, operation)
                rig.frame()
        rig.stop()
    except Mismatch as mismatch:
        mismatch.add_note(f"after {done} operations, the last of them {operations[done - 1 : done]}")
        raise
    except Exception as error:
        raise Mismatch(
            f"raised {type(error).__name__}", f"{error} in {operations[done - 1 : done]}"
        ) from error


def broken_rule(shape: str, seed: int, operations: Sequence[Op]) -> Mismatch | None:
    """What goes wrong in a run, if anything."""
    try:
        play(Rig(SHAPES[shape], seed), operations)
    except Mismatch as mismatch:
        return mismatch
    return None


def check(shape: str, seed: int, count: int, seconds: float = SECONDS) -> None:
    """A run that must succeed. A failing one is minimized and printed as a test to keep."""
    operations = make_operations(seed, count)
    first = broken_rule(shape, seed, operations)
    if first is None:
        return

    def breaks(trial: Sequence[Op]) -> bool:
        found = broken_rule(shape, seed, trial)
        return found is not None and found.rule == first.rule

    short = reduce(operations, breaks, seconds)
    last = broken_rule(shape, seed, short) or first
    raise AssertionError(
        f"seed {seed} on {shape}: {last}\n\n{as_code(shape, seed, short, str(last))}"
    ) from last
