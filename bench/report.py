"""Turns samples into figures, and figures into a table with targets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

FLOOR = "python -c pass"
TURNS = 50
DELTAS = 20_000

Samples = Mapping[str, list[dict[str, float]]]  # stage -> one dictionary per run
Figures = dict[str, float]


@dataclass(frozen=True)
class Row:
    """A row of the table. `target` is the maximum for tau."""

    key: str
    title: str
    target: float | None
    form: Callable[[float], str]


def milliseconds(value: float) -> str:
    return f"{value:.1f} ms" if value < 100 else f"{value:.0f} ms"


def times(value: float) -> str:
    return f"{value:.2f} x"


ROWS = (
    Row("version_ms", "`--version`, spawn to exit", None, milliseconds),
    Row("version_ratio", f"... over `{FLOOR}`", 1.5, times),
    Row("first_http_ms", "spawn to first request byte, http", None, milliseconds),
    Row("first_http_ratio", f"... over `{FLOOR}`", 14, times),
    Row("first_https_ms", "spawn to first request byte, https", None, milliseconds),
    Row("first_https_ratio", f"... over `{FLOOR}`", 17, times),
    Row("hello_ms", "one prompt, spawn to exit", None, milliseconds),
    Row("peak_mb", "peak memory, whole process tree", 60, lambda value: f"{value:.1f} MB"),
    Row("turn_ms", f"a turn with one `bash` echo (of {TURNS})", 6, milliseconds),
    Row("turn_cpu_ms", "... CPU time of it", None, milliseconds),
    Row("flood_cpu_s", f"CPU time, {DELTAS:,} deltas over one", 0.34, lambda value: f"{value:.3f} s"),
    Row("prompt_tokens", "system prompt and all tools, bytes / 4", None, lambda value: f"{value:.0f} tokens"),
)


def figures(samples: Samples, floor: Samples) -> Figures:
    """Return the medians of one subject, without figures whose stage was not run."""

    def middle(stage: str, key: str, of: Samples = samples) -> float | None:
        values = [sample[key] for sample in of.get(stage, []) if key in sample]
        return median(values) if values else None

    def ratio(value: float | None, stage: str) -> float | None:
        bare = middle(stage, "wall_ms", floor)
        return value / bare if value is not None and bare else None

    def less(one: float | None, other: float | None, by: float) -> float | None:
        return None if one is None or other is None else (one - other) / by

    memory = [value for key in ("pss_mb", "rss_mb") if (value := middle("memory", key)) is not None]
    found: dict[str, float | None] = {
        "version_ms": middle("version", "wall_ms"),
        "version_ratio": ratio(middle("version", "wall_ms"), "version"),
        "first_http_ms": middle("http", "first_ms"),
        "first_http_ratio": ratio(middle("http", "first_ms"), "http"),
        "first_https_ms": middle("https", "first_ms"),
        "first_https_ratio": ratio(middle("https", "first_ms"), "http"),
        "hello_ms": middle("http", "wall_ms"),
        "peak_mb": max(memory) if memory else None,
        "turn_ms": less(middle("tools", "wall_ms"), middle("no tools", "wall_ms"), TURNS),
        "turn_cpu_ms": less(middle("tools", "cpu_ms"), middle("no tools", "cpu_ms"), TURNS),
        "flood_cpu_s": less(middle("flood", "cpu_ms"), middle("drop", "cpu_ms"), 1000),
        "prompt_tokens": middle("http", "prompt_tokens"),
    }
    return {key: value for key, value in found.items() if value is not None}


def verdict(row: Row, value: float | None) -> str:
    if row.target is None:
        return ""
    if value is None:
        return "not measured"
    return "ok" if value <= row.target else "missed"


def table(results: Mapping[str, Figures], ours: str = "tau") -> str:
    """Format as Markdown: a row per figure, a column per subject, targets and verdicts for ours."""
    names = [ours, *(name for name in results if name != ours)]
    lines = [
        f"| | {' | '.join(names)} | target for {ours} | |",
        "|---" * (len(names) + 3) + "|",
    ]
    for row in ROWS:
        cells = [row.form(results[name][row.key]) if row.key in results[name] else "-" for name in names]
        target = "" if row.target is None else f"<= {row.form(row.target)}"
        lines.append(
            f"| {row.title} | {' | '.join(cells)} | {target} | {verdict(row, results[ours].get(row.key))} |"
        )
    return "\n".join(lines)


def document(when: str, about: Mapping[str, Any], results: Mapping[str, Figures]) -> str:
    facts = "\n".join(f"- {key}: {value}" for key, value in about.items())
    return f"# Benchmarks of {when}\n\nMedians of one run, subjects in turn.\n\n{facts}\n\n{table(results)}\n"
