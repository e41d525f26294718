"""Numbers and verdicts of the benchmarks, from made-up samples."""

from bench.report import ROWS, figures, table

FLOOR = {"version": [{"wall_ms": 10.0}], "http": [{"wall_ms": 12.0}]}
SAMPLES = {
    "version": [{"wall_ms": 30.0}, {"wall_ms": 14.0}, {"wall_ms": 12.0}],
    "http": [{"wall_ms": 150.0, "first_ms": 120.0}],
    "https": [{"wall_ms": 300.0, "first_ms": 240.0}],
    "memory": [{"rss_mb": 40.0, "pss_mb": 35.0}],
    "no tools": [{"wall_ms": 150.0, "cpu_ms": 90.0}],
    "tools": [{"wall_ms": 400.0, "cpu_ms": 240.0}],
    "drop": [{"cpu_ms": 100.0}],
    "flood": [{"cpu_ms": 500.0}],
}


def test_report_has_medians_differences_and_multiples_of_the_floor() -> None:
    found = figures(SAMPLES, FLOOR)
    assert found["version_ms"] == 14.0
    assert found["version_ratio"] == 1.4
    assert found["first_http_ratio"] == 10.0
    assert found["first_https_ratio"] == 20.0
    assert found["peak_mb"] == 40.0
    assert (found["turn_ms"], found["turn_cpu_ms"]) == (5.0, 3.0)
    assert found["flood_cpu_s"] == 0.4


def test_table_says_which_targets_are_met() -> None:
    lines = table({"tau": figures(SAMPLES, FLOOR)}).splitlines()
    assert len(lines) == len(ROWS) + 2
    verdicts = {row.key: line.split("|")[-2].strip() for row, line in zip(ROWS, lines[2:], strict=True)}
    assert verdicts["version_ms"] == ""
    assert verdicts["version_ratio"] == "ok"
    assert verdicts["first_https_ratio"] == "missed"
    assert verdicts["flood_cpu_s"] == "missed"
    assert verdicts["prompt_tokens"] == ""


def test_peers_appear_beside_ours_and_may_lack_numbers() -> None:
    lines = table({"tau": figures(SAMPLES, FLOOR), "other": {"turn_ms": 12.0}}).splitlines()
    assert lines[0].startswith("| | tau | other |")
    assert any("5.0 ms | 12.0 ms" in line for line in lines)
    assert any("1.40 x | - |" in line for line in lines)
