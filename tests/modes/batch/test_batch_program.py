"""`tau batch` as a program: results once, whatever is killed, and nothing left behind."""

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import FAKE, Program, wait_for
from tests.support.fake_answers import Call, Silence, Status
from tests.support.limits import HANG_S

WHO = {f"GIT_{who}_{what}": "n@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def write(tau: Program, *rows: dict[str, Any], name: str = "t.jsonl") -> str:
    (tau.project / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return name


def batch(tau: Program, *words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return tau.run("batch", *words, *FAKE, **more)


def results(tau: Program, folder: str = "t-batch") -> dict[str, dict[str, Any]]:
    lines = (tau.project / folder / "results.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    assert len({one["id"] for one in found}) == len(found), "a result came twice"
    return {one["id"]: one for one in found}


def repository(path: Path) -> Path:
    path.mkdir()
    (path / "a.txt").write_text("one\n")
    git = ("git", "-c", "user.name=n", "-c", "user.email=e@x")
    for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-qm", "first")):
        subprocess.run([*git, *words], cwd=path, check=True)
    return path


def test_runs_all_tasks_and_the_same_command_changes_nothing(tau: Program) -> None:
    tau.script("hello there")
    file = write(tau, {"id": "a", "prompt": "one"}, {"id": "b", "prompt": "two", "check": "exit 3"})
    ran = batch(tau, file, "--jobs", "2")
    assert ran.returncode == 1 and "1 of 2 tasks done, 1 check failed; $0.00." in ran.stderr
    found = results(tau)
    assert (found["a"]["status"], found["a"]["answer"], found["a"]["turns"]) == ("done", "hello there", 1)
    assert found["a"]["usage"]["fake/fake-model"]["input"] == 5000
    assert (found["b"]["status"], found["b"]["checkExit"]) == ("check_failed", 3)
    session = tau.project / "t-batch" / found["a"]["session"]
    assert '"one"' in session.read_text()
    before, sent = (tau.project / "t-batch/results.jsonl").read_bytes(), len(tau.server.requests)
    assert batch(tau, file).returncode == 1
    assert (tau.project / "t-batch/results.jsonl").read_bytes() == before and len(tau.server.requests) == sent
    tau.script("better")
    retried = tau.run("batch", "retry", "t-batch", "--status", "check_failed", *FAKE)
    assert retried.returncode == 1 and results(tau)["b"]["answer"] == "better"
    shown = tau.run("batch", "report", "t-batch")
    assert "| b | check_failed | 1 | 1 |" in shown.stdout
    assert json.loads(tau.run("batch", "status", "t-batch", "--json").stdout)["tasks"] == 2


def test_changes_in_a_repository_become_a_patch_and_its_own_copy_is_untouched(tau: Program) -> None:
    repo = repository(tau.project / "repo")
    command = (
        "echo two >> a.txt; printf '\\000\\377' > new.bin; mkdir out; echo x > out/r.txt; ln -s a.txt out/l"
    )
    tau.script(Call("bash", {"command": command}), "changed")
    row = {
        "id": "a",
        "prompt": "p",
        "repo": str(repo),
        "check": "grep two a.txt",
        "collect": ["out/*", ".git"],
    }
    assert batch(tau, write(tau, row)).returncode == 0
    found = results(tau)["a"]
    assert found["status"] == "done" and found["collected"] == ["out/r.txt"]
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repo, check=True, capture_output=True, text=True)
    assert found["baseCommit"] == head.stdout.strip()
    assert (repo / "a.txt").read_text() == "one\n" and not (repo / "new.bin").exists()
    subprocess.run(["git", "apply", str(tau.project / "t-batch" / found["patch"])], cwd=repo, check=True)
    assert (repo / "a.txt").read_text() == "one\ntwo\n" and (repo / "new.bin").read_bytes() == b"\0\xff"
    assert not list((tau.project / "t-batch/work").iterdir()), "a clone was left"


def test_no_task_changes_what_another_one_begins_with(tau: Program) -> None:
    repo = repository(tau.project / "repo")
    commit = "git -c user.name=n -c user.email=e@x commit -q --allow-empty -m evil"
    evil = f"{commit}; git update-ref refs/heads/main HEAD"
    tau.script(Call("bash", {"command": evil}), "first", "second")
    rows = [
        {"id": "a", "prompt": "p", "repo": str(repo)},
        {"id": "b", "prompt": "p", "repo": str(repo), "after": ["a"]},
    ]
    assert batch(tau, write(tau, *rows)).returncode == 0
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repo, check=True, capture_output=True, text=True)
    found = results(tau)
    assert found["a"]["baseCommit"] == found["b"]["baseCommit"] == head.stdout.strip()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"repo": "/nowhere/at/all"}, 'there is no repository at "/nowhere/at/all"'),
        ({"repo": "REPO", "commit": "0123abc"}, 'commit: "0123abc" is not in'),
        ({"dir": "/nowhere/at/all"}, 'the folder "/nowhere/at/all" does not exist'),
        ({"setup": "echo no >&2; exit 4"}, "The setup command ended with exit code 4."),
        (
            {"setup": "sleep 60", "budget": {"minutes": 0.005}},
            "The setup command took longer than 0.005 minutes.",
        ),
    ],
)
def test_task_that_cannot_begin_is_named_and_others_finish(
    tau: Program, row: dict[str, Any], said: str
) -> None:
    if row.get("repo") == "REPO":
        row = {**row, "repo": str(repository(tau.project / "repo"))}
    file = write(tau, {"id": "bad", "prompt": "p", **row}, {"id": "good", "prompt": "p"})
    assert batch(tau, file).returncode == 1
    found = results(tau)
    assert found["bad"]["status"] == "setup_failed" and said in found["bad"]["error"]
    assert found["good"]["status"] == "done"


def test_a_check_that_hangs_ends_with_the_minutes_of_its_task(tau: Program) -> None:
    row = {"id": "a", "prompt": "p", "check": "sleep 60", "budget": {"minutes": 0.05}}
    assert batch(tau, write(tau, row)).returncode == 1
    found = results(tau)["a"]
    assert (found["status"], found["error"]) == ("check_failed", "The check took longer than 0.05 minutes.")


def test_setup_leaves_no_daemon(tau: Program) -> None:
    command = "(setsid sleep 300 & echo $! > pid; disown) ; test -s pid"
    assert (
        batch(tau, write(tau, {"id": "a", "prompt": "p", "setup": command, "collect": ["pid"]})).returncode
        == 0
    )
    assert not subprocess.run(["pgrep", "-fx", "sleep 300"], capture_output=True).stdout


def test_killed_coordinator_resumes_without_losing_or_repeating_a_result(tau: Program) -> None:
    rows = [{"id": f"t{number}", "prompt": f"task {number}"} for number in range(6)]
    file = write(tau, *rows)
    first = tau.popen(
        [*_tau(), "batch", file, *FAKE, "--jobs", "2"], cwd=tau.project, stderr=subprocess.DEVNULL
    )
    path = tau.project / "t-batch/results.jsonl"
    wait_for(path)
    first.send_signal(signal.SIGKILL)
    first.wait(HANG_S)
    before = path.read_bytes().rpartition(b"\n")[0]
    assert batch(tau, file, "--jobs", "2").returncode == 0
    assert path.read_bytes().startswith(before)
    assert not list((tau.project / "t-batch/work").iterdir()), "a workspace was left"
    assert sorted(results(tau)) == sorted(row["id"] for row in rows)
    prompts = [tau.user_messages(number)[-1] for number in range(len(tau.server.requests))]
    done_before = [json.loads(line)["id"] for line in before.splitlines()]
    for name in done_before:
        assert prompts.count(f"task {name[1:]}") == 1, "a finished task ran again"


def test_first_ctrl_c_waits_and_the_second_stops(tau: Program) -> None:
    tau.script(Silence())
    file = write(tau, {"id": "a", "prompt": "p"}, {"id": "b", "prompt": "p"})
    running = tau.popen(
        [*_tau(), "batch", file, *FAKE, "--jobs", "1"],
        cwd=tau.project,
        stderr=subprocess.PIPE,
    )
    _until(lambda: len(tau.server.requests) == 1)
    running.send_signal(signal.SIGINT)
    assert running.stderr is not None
    assert b"Waiting for running tasks; press Ctrl+C again" in running.stderr.readline()
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=HANG_S)
    assert running.returncode == 130, errors
    found = results(tau)
    assert list(found) == ["a"] and found["a"]["status"] == "cancelled"
    tau.script("ok")
    assert batch(tau, file).returncode == 0
    assert [one["status"] for one in results(tau).values()] == ["done", "done"]


def test_cancel_from_another_terminal(tau: Program) -> None:
    tau.script(Silence())
    file = write(tau, {"id": "a", "prompt": "p"}, {"id": "b", "prompt": "p", "after": ["a"]})
    running = tau.popen([*_tau(), "batch", file, *FAKE], cwd=tau.project, stderr=subprocess.DEVNULL)
    _until(lambda: len(tau.server.requests) == 1)
    assert "There is no task" in tau.run("batch", "cancel", "t-batch", "x").stderr
    assert "Another tau runs the batch" in batch(tau, file).stderr
    assert "1 running, 1 waiting" in tau.run("batch", "status", "t-batch").stdout
    assert tau.run("batch", "cancel", "t-batch", "a").returncode == 0
    assert running.wait(HANG_S) == 1
    assert {one["status"] for one in results(tau).values()} == {"cancelled"}
    assert "No tau runs the batch" in tau.run("batch", "cancel", "t-batch").stderr


def test_cost_limit_stops_and_the_batch_can_be_resumed(tau: Program) -> None:
    provider = json.loads((tau.home / "models.json").read_text())
    provider["providers"]["fake"]["models"][0]["cost"] = {"input": 1000, "output": 0}  # $5 for 5,000 tokens
    tau.write("models.json", provider)
    file = write(tau, *({"id": f"t{number}", "prompt": "p"} for number in range(4)))
    ran = batch(tau, file, "--jobs", "1", "--max-cost", "8")
    assert ran.returncode == 75 and "the cost limit of $8 is reached" in ran.stderr
    assert [one["status"] for one in results(tau).values()] == ["done", "done"]
    assert batch(tau, file).returncode == 0 and len(results(tau)) == 4


def test_exhausted_quota_stops_the_batch_and_fails_nothing(tau: Program) -> None:
    tau.script(Status(429, retry_after="7200"))
    file = write(tau, *({"id": f"t{number}", "prompt": "p"} for number in range(20)))
    ran = batch(tau, file, "--jobs", "4")
    assert ran.returncode == 75 and "accepts no requests for now" in ran.stderr, ran.stderr
    assert results(tau) == {} and len(tau.server.requests) <= 8
    tau.script("ok")
    assert batch(tau, file, "--jobs", "4").returncode == 0
    assert len(results(tau)) == 20


def test_attempts_are_used_and_kept_apart(tau: Program) -> None:
    file = write(tau, {"id": "a", "prompt": "p", "attempts": 2, "check": "false"})
    assert batch(tau, file).returncode == 1
    found = results(tau)["a"]
    assert found["attempt"] == 2
    assert [path.name for path in (tau.project / "t-batch/tasks/a").glob("before-*")] == ["before-2"]


def test_changes_are_pushed_as_a_branch_once(tau: Program) -> None:
    repo = repository(tau.project / "repo")
    tau.script(Call("bash", {"command": "echo two >> a.txt"}), "changed")
    file = write(tau, {"id": "a", "prompt": "Add a line", "repo": str(repo)})
    assert "a: tau/a" in batch(tau, file, "--collect", "branch", **WHO).stderr

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=repo, check=True, capture_output=True, text=True).stdout

    assert git("log", "--format=%s", "tau/a").split("\n")[0] == "Add a line"
    assert git("show", "tau/a:a.txt") == "one\ntwo\n" and git("status", "--porcelain") == ""
    commit = git("rev-parse", "tau/a")
    journal = tau.project / "t-batch/journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    assert b'"done":true' in lines[-1]
    journal.write_bytes(b"".join(lines[:-1]))  # killed between the push and its record
    assert "a: tau/a" in batch(tau, file, "--collect", "branch", **WHO).stderr
    assert git("rev-parse", "tau/a") == commit
    assert "tau/a" not in batch(tau, file, "--collect", "branch", **WHO).stderr


@pytest.mark.parametrize(
    ("budget", "status"),
    [
        ({"turns": 2}, "budget"),
        ({"tokens": 9_000}, "budget"),
        ({"cost": 9.0}, "budget"),
        ({"turns": 9, "minutes": 5}, "done"),
    ],
)
def test_budget_of_an_attempt_stops_it(tau: Program, budget: dict[str, float], status: str) -> None:
    provider = json.loads((tau.home / "models.json").read_text())
    provider["providers"]["fake"]["models"][0]["cost"] = {"input": 1000, "output": 0}
    tau.write("models.json", provider)
    tau.script(*(Call("bash", {"command": f"echo {number}"}) for number in range(3)), "the end")
    assert batch(tau, write(tau, {"id": "a", "prompt": "p", "budget": budget})).returncode == (
        status != "done"
    )
    found = results(tau)["a"]
    assert (found["status"], found["turns"]) == (status, 4 if status == "done" else 2)
    assert status == "done" or "is used up" in found["error"]


def test_time_limit_of_an_attempt_ends_it(tau: Program) -> None:
    tau.script(Silence())
    assert batch(tau, write(tau, {"id": "a", "prompt": "p", "budget": {"minutes": 0.02}})).returncode == 1
    assert results(tau)["a"]["status"] == "timeout"


def test_changed_tasks_need_a_new_folder(tau: Program) -> None:
    batch(tau, write(tau, {"id": "a", "prompt": "p"}))
    ran = batch(tau, write(tau, {"id": "a", "prompt": "other"}))
    assert ran.returncode == 2 and "The tasks have changed" in ran.stderr
    assert batch(tau, "t.jsonl", "--out", "new").returncode == 0


def test_dry_run_starts_nothing(tau: Program) -> None:
    ran = batch(tau, write(tau, {"id": "a", "prompt": "Do\nit"}), "--dry-run")
    assert ran.returncode == 0 and "Do it" in ran.stdout and not (tau.project / "t-batch").exists()


def test_events_as_json_lines(tau: Program) -> None:
    ran = batch(tau, write(tau, {"id": "a", "prompt": "p"}), "--json")
    kinds = [json.loads(line)["type"] for line in ran.stdout.splitlines()]
    assert kinds[0] == "task_started" and kinds[-1] == "task_ended" and "task_progress" in kinds


def _tau() -> list[str]:
    from tests.support.forked import PREFIX

    return list(PREFIX)


def _until(check: Any) -> None:
    end = time.monotonic() + HANG_S
    while not check():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_setup_and_check_do_not_run_where_no_sandbox_works(tau: Program, tmp_path: Path) -> None:
    (programs := tmp_path / "bin").mkdir()
    for name in ("bash", "sh", "touch"):
        (programs / name).symlink_to(f"/bin/{name}")
    tau.settings(**{"retry.enabled": False, "sandbox.engine": "bubblewrap"})
    (tau.project / "mine").mkdir()
    row = {"id": "a", "prompt": "one", "dir": str(tau.project / "mine"), "setup": f"touch {tmp_path}/ran"}
    batch(tau, write(tau, row), PATH=str(programs))
    assert not (tmp_path / "ran").exists()
    [found] = results(tau).values()
    assert found["status"] == "setup_failed" and "No sandbox works here" in found["error"]
