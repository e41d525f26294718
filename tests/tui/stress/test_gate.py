"""The fidelity gate: random operations on eight terminals, checked after every frame.

A failing run is minimized and printed as a test; `python -m tests.tui.stress` plays one manually.
"""

import pytest

from tests.support.soak import seeds
from tests.tui.stress.operations import WEIGHTS, make_operations
from tests.tui.stress.play import check
from tests.tui.stress.reduce import as_code, reduce
from tests.tui.stress.shapes import SHAPES

SEEDS = 2
SOAK_SEEDS = 300
OPERATIONS = 300


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", seeds(SEEDS, SOAK_SEEDS))
def test_terminal_shows_what_it_must(seed: int, shape: str) -> None:
    check(shape, seed, OPERATIONS)


def test_seed_gives_the_same_operations_and_all_kinds_of_them() -> None:
    assert make_operations(3, 300) == make_operations(3, 300) != make_operations(4, 300)
    assert {operation.kind for operation in make_operations(0, 2000)} == set(WEIGHTS)


def test_failing_run_is_minimized() -> None:
    operations = make_operations(1, 200)
    needed = {operations[20], operations[77], operations[150]}
    short = reduce(operations, lambda trial: needed <= set(trial))
    assert len(short) == 3
    assert set(short) == needed


def test_minimized_run_is_printed_as_a_test() -> None:
    code = as_code("mux", 17, make_operations(1, 2), "grid: row 3\nand more")
    names: dict[str, object] = {}
    exec(code, names)
    assert "test_seed_17_mux" in names
    assert "# grid: row 3" in code
