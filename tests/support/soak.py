"""What only `make soak` runs in full; every test run does a part of it."""

from typing import Any

import pytest
from hypothesis import settings


def seeds(few: int, many: int) -> list[object]:
    """The first few seeds in every run, the rest with `--soak`."""
    return [*range(few), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(few, many))]


def examples(few: int, **more: Any) -> settings:
    """That many examples in every run, and those of its profile with `--soak`."""
    profile = settings.get_profile("soak")
    soaking = settings.default is not None and settings.default.max_examples == profile.max_examples
    return settings(max_examples=profile.max_examples if soaking else few, **more)
