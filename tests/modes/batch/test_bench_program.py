"""`tau bench` as a program: the bundled suite works, and models are compared honestly."""

import json
from pathlib import Path

import pytest

from tau.base.errors import ConfigError, UsageError
from tau.modes.batch.comparison import bench_table, compare, drops
from tau.modes.batch.run_folder import BatchResult
from tau.modes.batch.suite import BUNDLED, Run, load_suite
from tests.e2e.program import Program
from tests.support.fake_answers import Call

TASK = 'prompt = "Do it"\ncheck = "test -f done"\nsolution = "touch done"\n'
FLAGS = ("--provider", "fake", "--model", "fake-model")


def suite(tau: Program, **tasks: str) -> None:
    for name, text in tasks.items():
        (tau.project / "suite" / name).mkdir(parents=True)
        (tau.project / "suite" / name / "task.toml").write_text(text)


def test_every_reference_solution_of_the_bundled_suite_passes(tau: Program) -> None:
    ran = tau.run("bench", "--oracle", "--jobs", "3")
    assert ran.returncode == 0, ran.stderr
    assert "| oracle | 12/12 | 100% |" in ran.stdout and len(load_suite(BUNDLED)) == 12
    assert not tau.server.requests


def test_agent_that_does_nothing_solves_no_task_of_the_bundled_suite(tau: Program) -> None:
    ran = tau.run("bench", "--jobs", "3", *FLAGS)
    assert ran.returncode == 0 and "| fake-model | 0/12 | 0% | 0%-24% |" in ran.stdout, ran.stderr


def test_variants_are_compared_and_judged_against_a_baseline(tau: Program) -> None:
    suite(tau, one=TASK, two=TASK)
    tau.script(Call("write", {"path": "done", "content": "x"}), "ok")
    words = ("bench", "suite", *FLAGS, "--set", "tools.approvalMode=plan", "--jobs", "1")
    first = tau.run(*words, "--json")
    report = json.loads(first.stdout)
    assert [one["variant"] for one in report["variants"]] == [
        "fake-model",
        "fake-model+tools.approvalMode=plan",
    ]
    assert report == json.loads((tau.project / "suite-bench/report.json").read_text())
    sent = len(tau.server.requests)
    assert tau.run(*words, "--json").stdout == first.stdout and len(tau.server.requests) == sent
    baseline = {**report, "variants": [{**report["variants"][0], "rate": 1.0}]}
    (tau.project / "before.json").write_text(json.dumps(baseline))
    assert report["variants"][0]["rate"] < 1
    judged = tau.run(*words, "--baseline", "before.json")
    assert judged.returncode == 1 and "100% in the baseline." in judged.stderr
    assert tau.run(*words, "--baseline", "before.json", "--max-drop", "1").returncode == 0
    assert "has another bench" in tau.run(*words, "--repeat", "2").stderr


def test_agent_sees_neither_the_suite_nor_other_runs(tau: Program) -> None:
    suite(tau, one=TASK)
    secret = "../../tasks.jsonl"
    tau.script(Call("bash", {"command": f"cat {secret} ../../../../suite/one/task.toml"}), "ok")
    tau.run("bench", "suite", *FLAGS)
    (result,) = [message for message in tau.server.requests[1].body["messages"] if message["role"] == "tool"]
    assert "test -f done" not in json.dumps(result)
    tau.script(Call("read", {"path": secret}), "ok")
    tau.run("bench", "suite", *FLAGS, "--out", "again")
    assert "test -f done" not in json.dumps(tau.server.requests[-1].body["messages"])


@pytest.mark.parametrize(
    ("text", "said"),
    [("prompt = 1", "Expected `str`"), ("prompt", "task.toml"), (TASK + "nope = 1", "unknown field `nope`")],
)
def test_invalid_task_is_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one/task.toml").write_text(text)
    with pytest.raises(ConfigError, match=said):
        load_suite(tmp_path)


def test_unknown_setting_is_refused_and_not_compared(tau: Program) -> None:
    ran = tau.run("bench", "--set", "edit.mod=replace")
    assert ran.returncode == 2
    assert '--set edit.mod=replace: unknown setting "edit.mod". Did you mean edit.mode' in ran.stderr


def test_suite_without_tasks_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(UsageError):
            load_suite(path)


def _result(name: str, status: str, cost: float = 1.0) -> BatchResult:
    return BatchResult(id=name, attempt=1, status=status, cost=cost, duration_ms=60_000)  # type: ignore[arg-type]


def test_errors_of_the_machine_count_for_no_variant() -> None:
    runs = {run.id: run for name in "ab" for run in (Run(f"t{n}", name, 1) for n in range(12))}
    results = {
        key: _result(key, "done" if run.variant == "a" else "check_failed") for key, run in runs.items()
    }
    for key in ("t0-a.1", "t1-b.1"):
        results[key] = _result(key, "failed", 9.0)
    report = compare(runs, results, 1)
    first, second = report.variants
    assert (first.passed, first.runs, first.errors, second.errors) == (11, 11, 1, 1)
    assert first.cost == 1.0 and second.cost is None
    (pair,) = report.pairs
    assert (pair.only_first, pair.only_second, pair.verdict) == (10, 0, "a solves more")
    assert pair.cost_verdict == "no difference shown"
    assert "| a with b | 10 | 0 | 0.002 | a solves more | no difference shown |" in bench_table(report)
    assert drops(report, report, 0.0) == []
