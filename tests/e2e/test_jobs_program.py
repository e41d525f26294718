"""`tau -p` with work in the background: a server is started, polled and cancelled."""

import json
from typing import Any

from tests.e2e.program import Program, wait_for
from tests.e2e.test_faults_program import wait_until_gone
from tests.support.fake_answers import Call

SERVER = 'python3 -c \'import os,time; open("pid","w").write(str(os.getpid())); time.sleep(600)\''


def results(tau: Program) -> list[Any]:
    [session] = tau.sessions()
    messages = [entry["message"] for entry in session if entry["type"] == "message"]
    return [message for message in messages if message["role"] == "toolResult"]


def test_a_server_in_the_background_is_polled_and_cancelled(tau: Program) -> None:
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


def test_what_a_job_says_reaches_the_model_once(tau: Program) -> None:
    tau.script(
        Call("bash", {"command": "echo from $((40 + 2))", "async": True}),
        Call("bash", {"command": "sleep 1"}),
        "Heard.",
    )
    assert tau.ask("go").returncode == 0
    last = json.dumps(tau.server.requests[-1].body)
    assert last.count("from 42") == 1
