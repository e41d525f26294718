"""What only `make soak` plays, beside a few that every run of the tests plays."""

import pytest


def seeds(few: int, many: int) -> list[object]:
    """The first few seeds for every run, the rest for `--soak`."""
    return [*range(few), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(few, many))]
