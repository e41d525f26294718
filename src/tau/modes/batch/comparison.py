"""Compares the variants of a bench: rates with intervals, cost, and which differences are not chance."""

from collections.abc import Mapping, Sequence
from itertools import combinations

from msgspec import Struct

from tau.modes.batch.report import markdown_table
from tau.modes.batch.run_folder import BatchResult
from tau.modes.batch.statistics import bootstrap_mean, mcnemar, pass_all, pass_at, wilson
from tau.modes.batch.suite import Run

JUDGED = ("done", "check_failed", "budget", "timeout")  # the others say nothing about the variant
SIGNIFICANT = 0.05


class VariantScore(Struct, frozen=True, rename="camel"):
    """`errors` are runs that could not be judged. Costs and minutes are per solved task."""

    variant: str
    runs: int
    passed: int
    errors: int
    rate: float
    low: float
    high: float
    pass_at_k: float | None
    all_k: float | None
    cost: float | None
    minutes: float | None
    tokens: int
    turns: int
    statuses: dict[str, int]


class PairedScore(Struct, frozen=True, rename="camel"):
    """Runs of the same task and repeat that only one of two variants solved."""

    first: str
    second: str
    only_first: int
    only_second: int
    p: float
    cost_low: float
    cost_high: float

    @property
    def verdict(self) -> str:
        if self.p >= SIGNIFICANT:
            return "no difference shown"
        return f"{self.first if self.only_first > self.only_second else self.second} solves more"

    @property
    def cost_verdict(self) -> str:
        if self.cost_low <= 0 <= self.cost_high:
            return "no difference shown"
        return f"{self.second if self.cost_low > 0 else self.first} costs less"


class BenchReport(Struct, frozen=True, rename="camel"):
    repeats: int
    variants: list[VariantScore]
    pairs: list[PairedScore]


def compare(runs: Mapping[str, Run], results: Mapping[str, BatchResult], repeats: int) -> BenchReport:
    names = list(dict.fromkeys(run.variant for run in runs.values()))
    by_variant: dict[str, dict[tuple[str, int], BatchResult]] = {name: {} for name in names}
    for key, run in runs.items():
        if key in results:
            by_variant[run.variant][run.task, run.repeat] = results[key]
    scores = [_score(name, by_variant[name], repeats) for name in names]
    pairs = [_pair(a, b, by_variant[a], by_variant[b]) for a, b in combinations(names, 2)]
    return BenchReport(repeats, scores, pairs)


def _score(name: str, found: Mapping[tuple[str, int], BatchResult], repeats: int) -> VariantScore:
    judged = {key: result for key, result in found.items() if result.status in JUDGED}
    passed = [result for result in judged.values() if result.status == "done"]
    low, high = wilson(len(passed), len(judged))
    statuses: dict[str, int] = {}
    for result in found.values():
        statuses[result.status] = statuses.get(result.status, 0) + 1
    tasks: dict[str, list[bool]] = {}
    for (task, _), result in judged.items():
        tasks.setdefault(task, []).append(result.status == "done")
    whole = [runs for runs in tasks.values() if len(runs) == repeats]
    solved = max(1, len(passed))
    return VariantScore(
        name,
        len(judged),
        len(passed),
        len(found) - len(judged),
        len(passed) / len(judged) if judged else 0.0,
        low,
        high,
        _mean([pass_at(repeats, sum(runs), len(runs)) for runs in whole]),
        _mean([pass_all(repeats, sum(runs), len(runs)) for runs in whole]),
        sum(result.cost for result in judged.values()) / solved if passed else None,
        sum(result.duration_ms for result in judged.values()) / 60_000 / solved if passed else None,
        sum(result.tokens for result in judged.values()),
        sum(result.turns for result in judged.values()),
        statuses,
    )


def _pair(
    first: str,
    second: str,
    ours: Mapping[tuple[str, int], BatchResult],
    theirs: Mapping[tuple[str, int], BatchResult],
) -> PairedScore:
    both = [
        (ours[key], theirs[key])
        for key in ours
        if key in theirs and ours[key].status in JUDGED and theirs[key].status in JUDGED
    ]
    only_first = sum(a.status == "done" != b.status for a, b in both)
    only_second = sum(b.status == "done" != a.status for a, b in both)
    low, high = bootstrap_mean([a.cost - b.cost for a, b in both])
    return PairedScore(first, second, only_first, only_second, mcnemar(only_first, only_second), low, high)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def bench_table(report: BenchReport) -> str:
    """Markdown."""
    k = report.repeats
    head = [
        "variant",
        "passed",
        "rate",
        "95 %",
        f"pass@{k}",
        f"all {k}",
        "$ a solved task",
        "minutes",
        "tokens",
    ]
    head += ["turns", "not judged"]
    rows = [
        [
            one.variant,
            f"{one.passed}/{one.runs}",
            f"{one.rate:.0%}",
            f"{one.low:.0%}-{one.high:.0%}",
            _percent(one.pass_at_k),
            _percent(one.all_k),
            "" if one.cost is None else f"{one.cost:.4f}",
            "" if one.minutes is None else f"{one.minutes:.2f}",
            f"{one.tokens:,}",
            str(one.turns),
            str(one.errors),
        ]
        for one in report.variants
    ]
    text = markdown_table(head, rows, frozenset(range(1, len(head))))
    if not report.pairs:
        return text
    head = ["compared", "only first", "only second", "p", "solved", "cost"]
    rows = [
        [
            f"{one.first} with {one.second}",
            str(one.only_first),
            str(one.only_second),
            f"{one.p:.3f}",
            one.verdict,
            one.cost_verdict,
        ]
        for one in report.pairs
    ]
    return f"{text}\n{markdown_table(head, rows, frozenset({1, 2, 3}))}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"


def drops(report: BenchReport, baseline: BenchReport, most: float) -> list[str]:
    """Sentences about the variants whose rate fell by more than `most` since the baseline."""
    before = {one.variant: one for one in baseline.variants}
    return [
        f"{one.variant} passed {one.rate:.0%}, {before[one.variant].rate:.0%} in the baseline."
        for one in report.variants
        if one.variant in before and before[one.variant].rate - one.rate > most
    ]
