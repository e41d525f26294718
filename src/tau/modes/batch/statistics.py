"""The statistics of comparisons: intervals, pass@k, and whether a difference is more than chance."""

from collections.abc import Sequence
from math import comb, sqrt
from random import Random

Z95 = 1.959963984540054
RESAMPLES = 2_000


def wilson(passed: int, total: int) -> tuple[float, float]:
    """The 95 % interval of a rate."""
    if not total:
        return 0.0, 1.0
    rate, square = passed / total, Z95 * Z95
    middle = (rate + square / (2 * total)) / (1 + square / total)
    half = Z95 * sqrt(rate * (1 - rate) / total + square / (4 * total * total)) / (1 + square / total)
    return max(0.0, middle - half), min(1.0, middle + half)


def pass_at(k: int, passed: int, total: int) -> float:
    """The chance that at least one of k runs passes, estimated without bias from `total` runs."""
    if not 0 < k <= total:
        raise ValueError(f"pass@{k} needs at least {k} runs")
    return 1.0 - comb(total - passed, k) / comb(total, k)


def pass_all(k: int, passed: int, total: int) -> float:
    """The chance that all of k runs pass."""
    if not 0 < k <= total:
        raise ValueError(f"All of {k} needs at least {k} runs")
    return comb(passed, k) / comb(total, k)


def mcnemar(only_first: int, only_second: int) -> float:
    """The two-sided exact p-value of pairs that only one side solved."""
    total = only_first + only_second
    tail = sum(comb(total, count) for count in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * tail / 2**total) if total else 1.0


def bootstrap_mean(differences: Sequence[float], seed: int = 0) -> tuple[float, float]:
    """The 95 % interval of the mean of paired differences."""
    if not differences:
        return 0.0, 0.0
    random = Random(seed)
    size = len(differences)
    means = sorted(sum(random.choices(differences, k=size)) / size for _ in range(RESAMPLES))
    return means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1]
