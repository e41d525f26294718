"""The gate works: each planted bug breaks a rule within a few seeds."""

import pytest

from tests.tui.stress.operations import make_operations
from tests.tui.stress.planted_bugs import BUGS, Bug
from tests.tui.stress.play import broken_rule

SEEDS = 6
OPERATIONS = 120


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name.replace(" ", "-"))
def test_planted_bug_is_found(bug: Bug) -> None:
    with pytest.MonkeyPatch.context() as patch:
        bug.install(patch)
        for seed in range(SEEDS):
            for shape in bug.shapes:
                if broken_rule(shape, seed, make_operations(seed, OPERATIONS)):
                    return
    pytest.fail(f"{SEEDS} seeds on {', '.join(bug.shapes)} show nothing of this: {bug.says}")
