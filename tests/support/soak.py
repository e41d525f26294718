"""What only `make soak` runs in full; every test run does a part of it.

The rest is not even collected: it would be a third of all tests.
"""

from collections.abc import Iterable
from typing import Any

from hypothesis import settings


def is_soaking() -> bool:
    """Whether `--soak` was given; `tests/conftest.py` loads its profile before it collects the first test."""
    profile = settings.get_profile("soak")
    return settings.default is not None and settings.default.max_examples == profile.max_examples


def seeds(few: int, many: int) -> list[int]:
    """The first few seeds in every run, the rest with `--soak`."""
    return list(range(many if is_soaking() else few))


def part(items: Iterable[str], at: int, of: int) -> list[str]:
    """One in `of` items in every run, starting with number `at`; the rest with `--soak`."""
    return [item for number, item in enumerate(items) if number % of == at or is_soaking()]


def examples(few: int, **more: Any) -> settings:
    """That many examples in every run, and those of its profile with `--soak`."""
    return settings(max_examples=settings.get_profile("soak").max_examples if is_soaking() else few, **more)
