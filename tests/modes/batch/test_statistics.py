"""Intervals and tests agree with published values."""

from random import Random

import pytest

from tau.modes.batch.statistics import bootstrap_mean, mcnemar, pass_all, pass_at, wilson


@pytest.mark.parametrize(
    ("passed", "total", "low", "high"),
    [  # Newcombe 1998, table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (29, 29, 0.8830, 1.0),
    ],
)
def test_wilson_interval(passed: int, total: int, low: float, high: float) -> None:
    assert wilson(passed, total) == pytest.approx((low, high), abs=5e-5)


def test_wilson_without_runs_is_everything() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [
        (0, 0, 1.0),
        (5, 5, 1.0),
        (0, 5, 0.0625),
        (1, 9, 0.021484375),
        (10, 2, 0.03857421875),
        (2, 10, 0.03857421875),
    ],
)
def test_exact_mcnemar(first: int, second: int, p: float) -> None:
    assert mcnemar(first, second) == pytest.approx(p)


def test_pass_at_k() -> None:
    assert pass_at(1, 3, 10) == pytest.approx(0.3)
    assert pass_at(5, 3, 10) == pytest.approx(1 - 21 / 252)
    assert pass_at(2, 9, 10) == 1.0
    assert pass_all(2, 3, 10) == pytest.approx(3 / 45)
    with pytest.raises(ValueError, match="needs at least 3 runs"):
        pass_at(3, 1, 2)


def test_bootstrap_covers_the_mean_and_repeats_with_its_seed() -> None:
    random = Random(1)
    data = [random.gauss(2, 1) for _ in range(200)]
    low, high = bootstrap_mean(data, seed=3)
    assert low < sum(data) / len(data) < high and high - low < 0.6
    assert (low, high) == bootstrap_mean(data, seed=3)
    assert bootstrap_mean([]) == (0.0, 0.0)


def test_equal_models_are_rarely_called_different() -> None:
    random = Random(7)
    called = 0
    for _ in range(1000):
        pairs = [(random.random() < 0.6, random.random() < 0.6) for _ in range(40)]
        first = sum(a and not b for a, b in pairs)
        called += mcnemar(first, sum(b and not a for a, b in pairs)) < 0.05
    assert called <= 60
