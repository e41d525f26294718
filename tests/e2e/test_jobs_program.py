"""`tau -p` with background jobs: a server is started, polled and cancelled."""

import json
from typing import Any

from tests.e2e.program import FAKE, Program, wait_for
from tests.e2e.test_faults_program import wait_until_gone
from tests.support.fake_answers import Call

SERVER = 'python3 -c \'import os,time; open("pid","w").write(str(os.getpid())); time.sleep(600)\''


def results(tau: Program) -> list[Any]:
    [session] = tau.sessions()
    messages = [entry["message"] for entry in session if entry["type"] == "message"]
    return [message for message in messages if message["role"] == "toolResult"]


def test_background_server_is_polled_and_cancelled(tau: Program) -> None:
    tau.settings(**{"async.pollWaitDuration": "5s", "tools.approvalMode": "yolo"})
    tau.script(
        Call("bash", {"command": SERVER, "async": True}),
        Call("bash", {"command": "while [ ! -s pid ]; do sleep 0.05; done"}),
        Call("job", {"list": True}),
        Call("job", {"cancel": ["bash-1"]}),
        "It ran, and is stopped.",
    )

    ran = tau.ask("Start a server, look at it, stop it.")

    assert (ran.returncode, ran.stdout) == (0, "It ran, and is stopped.\n")
    started, _, listed, cancelled = results(tau)
    assert "bash-1" in started["content"][0]["text"]
    assert "## Still Running (1)" in listed["content"][0]["text"]
    assert cancelled["details"]["cancelled"] == [{"id": "bash-1", "status": "cancelled"}]
    wait_until_gone(int(wait_for(tau.project / "pid")))


def test_job_output_reaches_the_model_once(tau: Program) -> None:
    tau.script(
        Call("bash", {"command": "echo from $((40 + 2))", "async": True}),
        Call("bash", {"command": "sleep 1"}),
        "Heard.",
    )
    assert tau.ask("go").returncode == 0
    last = json.dumps(tau.server.requests[-1].body)
    assert last.count("from 42") == 1


SLOW = "sleep 0.5; echo built $((40 + 2))"


def test_print_mode_waits_for_a_job_and_lets_the_model_finish(tau: Program) -> None:
    tau.script(Call("bash", {"command": SLOW, "async": True}), "Building.", "It is built.")
    ran = tau.ask("build it")
    assert (ran.returncode, ran.stdout) == (0, "It is built.\n")
    assert "built 42" in tau.user_messages()[-1]


def test_print_mode_says_which_job_it_stopped_and_exits_with_3(tau: Program) -> None:
    tau.settings(**{"retry.enabled": False, "async.exitWaitSeconds": 0})
    tau.script(
        Call("bash", {"command": SERVER, "async": True}),
        Call("bash", {"command": "while [ ! -s pid ]; do sleep 0.05; done"}),
        "Serving.",
    )
    ran = tau.ask("serve it")
    assert (ran.returncode, ran.stdout) == (3, "Serving.\n")
    assert "Stopped a background job" in ran.stderr and "bash-1" in ran.stderr
    assert "async.exitWaitSeconds" in ran.stderr
    wait_until_gone(int(wait_for(tau.project / "pid")))


def test_json_mode_says_which_job_it_stopped_too(tau: Program) -> None:
    tau.settings(**{"retry.enabled": False, "async.exitWaitSeconds": 0})
    tau.script(Call("bash", {"command": "sleep 600", "async": True}), "Serving.")
    ran = tau.run(*FAKE, "--mode", "json", "serve it")
    assert ran.returncode == 3 and "bash-1" in ran.stderr
    events = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [e["status"] for e in events if e["type"] == "job_update"] == ["running", "cancelled"]


def test_piped_conversation_waits_for_its_jobs(tau: Program) -> None:
    tau.script(Call("bash", {"command": SLOW, "async": True}), "Building.", "It is built.")
    ran = tau.run(*FAKE, "--plain", stdin="build it\n")
    assert ran.returncode == 0 and "It is built." in ran.stdout
    assert "Background job bash-1 completed" in ran.stdout


def test_job_that_ends_while_the_agent_is_idle_is_reported_in_a_plain_conversation(tau: Program) -> None:
    tau.script(Call("bash", {"command": SLOW, "async": True}), "Building.", "It is built.", "Gladly.")
    terminal = tau.terminal("--plain")
    terminal.expect("> ")
    terminal.sendline("build it")
    for text in ("Building.", "Background job bash-1 completed", "It is built.", "> "):
        terminal.expect(text)
    terminal.sendline("thanks")
    terminal.expect("Gladly.")
    terminal.sendline("/quit")
    terminal.wait()
    assert "built 42" in tau.user_messages(2)[-1]


def test_program_reading_json_gets_a_turn_for_a_job_that_ends_later(tau: Program) -> None:
    tau.script(Call("bash", {"command": SLOW, "async": True}), "Building.", "It is built.")
    message = json.dumps({"type": "message", "content": "build it"})
    ran = tau.run(*FAKE, "--json", stdin=f"{message}\n")
    assert ran.returncode == 0 and "It is built." in ran.stdout


def test_results_wait_for_the_next_prompt_if_the_setting_is_off(tau: Program) -> None:
    tau.settings(**{"retry.enabled": False, "async.continueWhenDone": False})
    tau.script(Call("bash", {"command": SLOW, "async": True}), "Building.", "Yes, built.")
    assert tau.ask("build it").stdout == "Building.\n"
    assert tau.ask("-c", "and?").stdout == "Yes, built.\n"
    *_, result, prompt = tau.user_messages()
    assert "built 42" in result and prompt == "and?"
