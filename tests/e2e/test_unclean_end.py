"""kill -9 in the middle of a call: the resumed request says what may have happened."""

import random
import time
from pathlib import Path

import pytest

from tests.e2e.program import Program, wait_for
from tests.support.fake_answers import Answer, Call, Text
from tests.support.soak import seeds

PUSH = Call("bash", {"command": "echo pushed >> remote; sleep 100"}, id="push")
MAY = "may have taken effect"


def results(tau: Program) -> dict[str, str]:
    messages = tau.server.requests[-1].body["messages"]
    return {m["tool_call_id"]: str(m["content"]) for m in messages if m["role"] == "tool"}


def kill_during(tau: Program, file: Path, *arguments: str) -> None:
    program = tau.start("-p", "push it", *arguments)
    wait_for(file)
    program.kill()
    program.communicate()


def resume(tau: Program, *arguments: str) -> dict[str, str]:
    tau.script("checked")
    assert tau.ask("-c", "go on", *arguments).stdout == "checked\n"
    assert tau.server.problems == []
    return results(tau)


def test_model_does_not_read_that_a_killed_push_was_not_run(tau: Program) -> None:
    tau.script(PUSH)
    kill_during(tau, tau.project / "remote")
    read = resume(tau)["push"]
    assert MAY in read and "check" in read and "not run" not in read.lower()
    assert resume(tau)["push"] == read  # recorded once, not decided again


def test_call_that_never_began_differs_from_the_one_that_was_killed(tau: Program) -> None:
    later = Call("bash", {"command": "echo migrated >> database"}, id="migrate")
    tau.script(Answer((PUSH, later)))
    tau.settings(**{"retry.enabled": False, "tools.approvalMode": "ask"})
    terminal = tau.terminal("--plain")
    terminal.expect("> ")
    terminal.sendline("push it")
    terminal.expect("1-3")
    terminal.sendline("1")
    wait_for(tau.project / "remote")
    terminal.kill(9)
    terminal.wait()
    told = resume(tau)
    assert MAY in told["push"]
    assert told["migrate"].startswith("Not run") and MAY not in told["migrate"]
    assert not (tau.project / "database").exists()


def test_killed_python_cell_may_have_taken_effect_too(tau: Program) -> None:
    code = "open('remote', 'w').write('x'); import time; time.sleep(100)"
    tau.script(Call("eval", {"cells": [{"language": "py", "code": code}]}, id="cell"))
    kill_during(tau, tau.project / "remote")
    assert MAY in resume(tau)["cell"]


def test_session_without_a_journal_is_not_said_to_have_run_nothing(tau: Program) -> None:
    tau.script(PUSH)
    kill_during(tau, tau.project / "remote")
    for journal in (tau.home / "sessions").rglob("journal.log"):
        journal.unlink()
    assert MAY in resume(tau)["push"]


def notes(tau: Program) -> list[str]:
    return [text for text in tau.user_messages() if "Background job" in text]


def test_model_still_waited_for_a_background_job_that_ended_with_tau(tau: Program) -> None:
    job = Call("bash", {"command": "echo pushed >> remote; sleep 100", "async": True}, id="job")
    tau.script(job, Call("bash", {"command": "sleep 100"}, id="wait"))
    kill_during(tau, tau.project / "remote")
    resume(tau)
    (note,) = notes(tau)
    assert "bash-1 is gone" in note and MAY in note and "echo pushed >> remote" in note
    resume(tau)
    assert notes(tau) == [note]  # once


def test_job_that_ended_in_time_is_not_reported_as_gone(tau: Program) -> None:
    tau.script(Call("bash", {"command": "echo done", "async": True}), "wait", "fine")
    assert tau.ask("go").stdout == "fine\n"
    resume(tau)
    (note,) = notes(tau)
    assert "bash-1 completed" in note


def test_job_that_print_mode_stopped_is_reported_as_gone(tau: Program) -> None:
    tau.settings(**{"retry.enabled": False, "async.exitWaitSeconds": 0})
    tau.script(Call("bash", {"command": "sleep 100", "async": True}), "started")
    assert tau.ask("go").returncode == 3
    resume(tau)
    (note,) = notes(tau)
    assert "bash-1 is gone" in note


@pytest.mark.parametrize("seed", seeds(3, 200))
def test_killed_at_any_moment_no_effect_is_denied(tau: Program, seed: int) -> None:
    chance = random.Random(seed)
    words = [Text("Pushing.", deltas=chance.randint(1, 4))] * chance.randint(0, 1)
    tau.script(Answer((*words, PUSH), delay_s=chance.choice((0, 0.01))))
    program = tau.start("-p", "push it")
    tau.server.wait(lambda: len(tau.server.requests) == 1)
    time.sleep(chance.uniform(0, 0.4))
    program.kill()
    program.communicate()
    told = resume(tau)
    if (tau.project / "remote").exists():
        assert MAY in told["push"]
    elif "push" in told:
        assert MAY in told["push"] or told["push"].startswith("Not run")
