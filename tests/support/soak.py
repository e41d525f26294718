"""What only `make soak` plays in full; every run of the tests plays a part of it."""

from typing import Any

import pytest
from hypothesis import settings


def seeds(few: int, many: int) -> list[object]:
    """The first few seeds for every run, the rest for `--soak`."""
    return [*range(few), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(few, many))]


def examples(few: int, **more: Any) -> settings:
    """So many examples in every run, and as many as its profile says with `--soak`."""
    profile = settings.get_profile("soak")
    soaking = settings.default is not None and settings.default.max_examples == profile.max_examples
    return settings(max_examples=profile.max_examples if soaking else few, **more)
