"""What only `make soak` runs in full; every test run does a part of it.

The rest is not even collected: it would be a third of all tests.
"""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, TypeVar

from hypothesis import settings

T = TypeVar("T")


def is_soaking() -> bool:
    """Whether `--soak` was given; `tests/conftest.py` loads its profile before it collects the first test."""
    profile = settings.get_profile("soak")
    return settings.default is not None and settings.default.max_examples == profile.max_examples


def seeds(few: int, many: int) -> list[int]:
    """The first few seeds in every run, the rest with `--soak`."""
    return list(range(many if is_soaking() else few))


def part(items: Iterable[T], at: int, of: int) -> list[T]:
    """One in `of` items in every run, starting with number `at`; the rest with `--soak`."""
    return [item for number, item in enumerate(items) if number % of == at or is_soaking()]


def pairs(first: Sequence[str], second: Sequence[str], *, each: int = 1) -> list[tuple[str, str]]:
    """Each item of the longer list with `each` of the other, so that all occur; all pairs with `--soak`."""
    if is_soaking():
        return list(product(first, second))
    longer = range(max(len(first), len(second)))
    rows = [(at, at + shift) for shift in range(each) for at in longer]
    if len(first) < len(second):
        rows = [(right, left) for left, right in rows]
    return [(first[left % len(first)], second[right % len(second)]) for left, right in rows]


def examples(few: int, **more: Any) -> settings:
    """That many examples in every run, and those of its profile with `--soak`."""
    return settings(max_examples=settings.get_profile("soak").max_examples if is_soaking() else few, **more)
