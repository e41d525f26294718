"""Suites in the formats of Harbor, Terminal-Bench 1 and SWE-bench: solutions pass, empty runs fail."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tau.modes.batch.check_verdict import CheckVerdict, judge_reward, judge_tests
from tau.modes.batch.formats.dockerfile import UnsupportedTask, read_dockerfile
from tests.e2e.program import Program
from tests.support.fake_answers import Call
from tests.support.soak import is_soaking, part

needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
FLAGS = ("--provider", "fake", "--model", "fake-model")
REWARD = "if {test}; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n"


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def harbor(folder: Path, *, docker: str, test: str, solution: str, **more: str) -> None:
    write(
        folder,
        {
            "task.toml": 'version = "1.0"\n[agent]\ntimeout_sec = 120\n[verifier]\ntimeout_sec = 60\n',
            "instruction.md": f"Make {folder.name} work.\n",
            "environment/Dockerfile": f"FROM ubuntu:24.04\n{docker}",
            "tests/test.sh": test,
            "solution/solve.sh": solution,
            **more,
        },
    )


def harbor_suite(root: Path) -> None:
    """Up to ten tasks; each uses another part of the format."""
    lines = "WORKDIR /app\n"
    wrote = {
        "plain": ("WORKDIR /app\n", "[ -f /app/done ]", "touch done"),
        "copied": (lines + "COPY data.txt /app/\n", "grep -q two data.txt", "echo two >> data.txt"),
        "variable": (lines + 'ENV WHO="big world"\n', 'grep -q "big world" a', 'echo "$WHO" > a'),
        "prepared": (lines + "RUN echo 1 > n && \\\n    mkdir deep\n", "[ -f deep/x ]", "mv n deep/x"),
        "elsewhere": ("WORKDIR /srv-data/in\nCOPY . .\n", "[ -f /srv-data/in/y ]", "cp data.txt y"),
        "own-tests": (lines, "bash /tests/more/check.sh", "echo 7 > seven"),
        "own-solution": (lines, "[ -f tool ]", "cp /solution/tool ."),
        "json-form": (
            'WORKDIR /app\nRUN ["sh", "-c", "echo hi > hi"]\n',
            "[ ! -e hi ]",
            "rm hi",
        ),
        "logs": (lines, "[ -f /logs/agent/note ]", "touch /logs/agent/note"),
    }
    for name in part(wrote, 1, 3):
        docker, test, solution = wrote[name]
        extra = {"environment/data.txt": "one\n"} if "COPY" in docker else {}
        extra |= {"tests/more/check.sh": "grep -q 7 seven\n"} if name == "own-tests" else {}
        extra |= {"solution/tool": "x"} if name == "own-solution" else {}
        text = REWARD.format(test=test)
        harbor(root / name, docker=docker, test=text, solution=solution, **extra)
    reward = "printf '{\"reward\": %s}' $([ -f r ] && echo 1.0 || echo 0.5) > /logs/verifier/reward.json\n"
    harbor(root / "reward-json", docker=lines, test=reward, solution="touch r")


def terminal_suite(root: Path) -> None:
    check = "cd /app && python3 -m pytest -rA -p no:cacheprovider $TEST_DIR/test_outputs.py\n"
    for name in part(("greet", "sum", "list", "move", "typed"), 0, 4):
        solution = {"solution.yaml": f"- command: echo {name} > /app/out\n"}
        if name != "typed":
            solution = {"solution.sh": f"echo {name} > /app/out\n"}
        write(
            root / name,
            {
                "task.yaml": f"instruction: |-\n  Write {name} to out.\nmax_agent_timeout_sec: 120.0\n",
                "Dockerfile": "FROM python:3.13-slim\nWORKDIR /app\n",
                "docker-compose.yaml": "services:\n  client:\n    build: .\n",
                "run-tests.sh": check,
                "tests/test_outputs.py": (
                    "from pathlib import Path\n\n\ndef test_out():\n"
                    f"    assert Path('/app/out').read_text().strip() == '{name}'\n"
                ),
                **solution,
            },
        )


def swe_rows(root: Path) -> list[dict[str, Any]]:
    """Five issues of a repository with a broken function each."""
    repo = root / "repo"
    names = part(("add", "double", "negate", "square", "half"), 0, 4)
    right = {"add": "a + 1", "double": "a * 2", "negate": "-a", "square": "a * a", "half": "a / 2"}
    write(repo, {f"{name}.py": f"def {name}(a):\n    return None\n" for name in names})
    write(repo, {"test_old.py": "def test_old():\n    assert True\n"})
    run = ("git", "-c", "user.name=n", "-c", "user.email=e@x")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
        subprocess.run([*run, *words], cwd=repo, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repo, check=True, capture_output=True, text=True)
    rows = []
    for name in names:
        value = eval(right[name], {"a": 4})
        test = f"from {name} import {name}\n\n\ndef test_{name}():\n    assert {name}(4) == {value}\n"
        added = "".join(f"+{line}\n" for line in test.splitlines())
        rows.append(
            {
                "instance_id": f"repo__{name}-1",
                "repo": str(repo),
                "base_commit": head.stdout.strip(),
                "problem_statement": f"{name} returns None",
                "patch": (
                    f"diff --git a/{name}.py b/{name}.py\n--- a/{name}.py\n+++ b/{name}.py\n"
                    f"@@ -1,2 +1,2 @@\n def {name}(a):\n-    return None\n+    return {right[name]}\n"
                ),
                "test_patch": (
                    f"diff --git a/test_{name}.py b/test_{name}.py\nnew file mode 100644\n--- /dev/null\n"
                    f"+++ b/test_{name}.py\n@@ -0,0 +1,{len(test.splitlines())} @@\n{added}"
                ),
                "FAIL_TO_PASS": json.dumps([f"test_{name}.py::test_{name}"]),
                "PASS_TO_PASS": ["test_old.py::test_old"],
            }
        )
    return rows


def results(tau: Program, folder: str) -> dict[str, dict[str, Any]]:
    text = (tau.project / folder / "runs/results.jsonl").read_text()
    return {one["id"]: one for one in map(json.loads, text.splitlines())}


@needs_bwrap
@pytest.mark.parametrize(("make", "few", "all_of_them"), [(harbor_suite, 4, 10), (terminal_suite, 2, 5)])
def test_solutions_of_container_tasks_pass_and_empty_runs_fail(
    tau: Program, make: Callable[[Path], None], few: int, all_of_them: int
) -> None:
    make(tau.project / "suite")
    count = all_of_them if is_soaking() else few
    oracle = tau.run("bench", "suite", "--oracle", "--jobs", "3")
    assert f"| oracle | {count}/{count} | 100% |" in oracle.stdout, results(tau, "suite-oracle")
    assert oracle.returncode == 0
    empty = tau.run("bench", "suite", *FLAGS, "--jobs", "3")
    assert empty.returncode == 0 and f"| fake-model | 0/{count} | 0% |" in empty.stdout, empty.stderr
    assert {one["status"] for one in results(tau, "suite-bench").values()} == {"check_failed"}
    assert not any(Path(name).exists() for name in ("/srv-data", "/logs/verifier"))


def test_solutions_of_swe_bench_pass_and_empty_runs_fail(tau: Program) -> None:
    rows = swe_rows(tau.project)
    (tau.project / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    oracle = tau.run("bench", "rows.jsonl", "--oracle", "--jobs", "3", "--predictions", "gold.jsonl")
    assert f"| oracle | {len(rows)}/{len(rows)} | 100% |" in oracle.stdout, results(tau, "rows-oracle")
    gold = [json.loads(line) for line in (tau.project / "gold.jsonl").read_text().splitlines()]
    assert {one["instance_id"] for one in gold} == {row["instance_id"] for row in rows}
    assert "+    return a + 1" in next(one["model_patch"] for one in gold if "add" in one["instance_id"])
    command = Call("bash", {"command": "printf 'def test_add():\\n    pass\\n' > test_add.py"})
    tau.script(command, "ok")
    cheated = tau.run("bench", "rows.jsonl", *FLAGS, "--jobs", "1", "--task", "repo__add-1", "--out", "c")
    assert "| fake-model | 0/1 | 0% |" in cheated.stdout, cheated.stderr
    empty = tau.run("bench", "rows.jsonl", *FLAGS, "--jobs", "3")
    assert f"| fake-model | 0/{len(rows)} | 0% |" in empty.stdout, empty.stderr


@needs_bwrap
def test_agent_works_in_the_container_and_sees_no_tests(tau: Program) -> None:
    harbor(
        tau.project / "suite/one",
        docker="WORKDIR /app\nENV WHO=ann\n",
        test=REWARD.format(test='[ "$(cat /app/who)" = ann ]'),
        solution="true",
    )
    look = "pwd; ls /tests /solution 2>&1; echo $WHO > who; echo 1 > /logs/verifier/reward.txt"
    tau.script(Call("bash", {"command": look}), Call("write", {"path": "/app/x", "content": "1"}), "ok")
    ran = tau.run("bench", "suite", *FLAGS)
    assert "| fake-model | 1/1 | 100% |" in ran.stdout, results(tau, "suite-bench")
    said = json.dumps(tau.server.requests[1].body["messages"][-1])
    assert "/app" in said and "cannot access '/tests'" in said and "cannot access '/solution'" in said
    assert results(tau, "suite-bench")["one-fake-model.1"]["reward"] == 1


@needs_bwrap
@pytest.mark.parametrize(
    ("docker", "said"),
    [
        ("USER me\n", "The Dockerfile has USER."),
        ("RUN exit 4\n", "RUN exit 4 ended with exit code 4 in the sandbox."),
        ("RUN echo x > /usr/share/x\n", "RUN echo x > /usr/share/x ended with exit code"),
        ("WORKDIR /usr/src\n", "It uses /usr, which belongs to this machine."),
        ("FROM other\n", "The Dockerfile has several stages."),
        ("COPY --from=x a b\n", "The Dockerfile has COPY --from=x."),
        ("COPY ../secret .\n", 'COPY: "../secret" is not in the folder of the Dockerfile.'),
        ("RUN cat <<EOF\n", "The Dockerfile has a RUN with a here-document."),
    ],
)
def test_task_that_needs_a_container_engine_is_unsupported_not_failed(
    tau: Program, docker: str, said: str
) -> None:
    harbor(tau.project / "suite/one", docker=docker, test="", solution="true")
    (tau.project / "suite/secret").write_text("x")
    ran = tau.run("bench", "suite", "--oracle")
    one = results(tau, "suite-oracle")["one-oracle.1"]
    assert (one["status"], ran.returncode) == ("unsupported", 0) and said in one["error"]


def test_dockerfile_is_read_as_docker_reads_it(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a b.txt": "",
            "src/x": "",
            "src/y": "",
            "Dockerfile": (
                "# a comment\nFROM x\nENV A=1 B='two words'\nENV C three words\nWORKDIR /app\nWORKDIR sub\n"
                'COPY ["a b.txt", "to/"]\nCOPY src /data/$A\nCOPY src/* ./\nRUN echo \\\n# inside\n  hi\n'
            ),
        },
    )
    found = read_dockerfile(tmp_path / "Dockerfile")
    assert found.workdir == "/app/sub" and found.env == {"A": "1", "B": "two words", "C": "three words"}
    assert [(Path(source).name, place) for source, place in found.copies] == [
        ("a b.txt", "/app/sub/to/a b.txt"),
        ("src", "/data/1"),
        ("x", "/app/sub/x"),
        ("y", "/app/sub/y"),
    ]
    assert [" ".join(one.split()) for one in found.run] == ["echo hi"]
    (tmp_path / "Dockerfile").write_text("RUN [not json\n")
    with pytest.raises(UnsupportedTask, match="not JSON"):
        read_dockerfile(tmp_path / "Dockerfile")


def test_rewards_and_test_reports_are_judged(tmp_path: Path) -> None:
    assert judge_reward(tmp_path).reason == "The check wrote no reward."
    for text, passed in (("1", True), ("1.0\n", True), ("0.5", False)):
        (tmp_path / "reward.txt").write_text(text)
        assert judge_reward(tmp_path).passed is passed
    for text in ("", "nan", "x"):
        (tmp_path / "reward.txt").write_text(text)
        assert judge_reward(tmp_path).reason.startswith("The reward cannot be read")
    log = tmp_path / "log"
    log.write_text("PASSED a.py::one\nFAILED a.py::two - assert 1\nXFAIL a.py::three - why\n")
    assert judge_tests(log, ["a.py::one", "a.py::three"]) == CheckVerdict(True)
    assert judge_tests(log, ["a.py::gone"]).reason == "1 of 1 tests did not pass: a.py::gone."
    assert judge_tests(log, []).reason == "1 of 3 tests did not pass: a.py::two."
    log.write_text("no tests ran")
    assert judge_tests(log, []).reason == "The check ran no test."


def test_damaged_tasks_are_named(tau: Program) -> None:
    harbor(tau.project / "suite/bad", docker="", test="", solution="")
    (tau.project / "suite/bad/task.toml").write_text("[agent\n")
    ran = tau.run("bench", "suite", "--oracle")
    assert ran.returncode == 1 and "suite/bad/task.toml" in ran.stderr
    (tau.project / "rows.jsonl").write_text('{"instance_id": "a"}\n')
    ran = tau.run("bench", "rows.jsonl", "--oracle")
    assert ran.returncode == 1 and "rows.jsonl:1" in ran.stderr and "`repo`" in ran.stderr
