"""ACP mode with a hostile or dying client: no crash, no hang, no child left, nothing lost."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import FAKE, TAU, Program, is_alive, wait_for
from tests.support.fake_answers import Call
from tests.support.limits import HANG_S
from tests.support.random_lines import VALUES, encoded_line
from tests.support.soak import is_soaking

METHODS = (
    "initialize",
    "authenticate",
    "session/new",
    "session/load",
    "session/list",
    "session/resume",
    "session/fork",
    "session/close",
    "session/prompt",
    "session/cancel",
    "session/set_mode",
    "session/set_config_option",
    "nonsense",
)
FIELDS = ("sessionId", "cwd", "prompt", "mcpServers", "protocolVersion", "methodId", "modeId", "configId")


def random_line(rng: random.Random) -> bytes:
    """A message, well-formed, damaged, or no message at all."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": rng.choice(METHODS)}
    if rng.random() < 0.8:
        message["id"] = rng.choice((1, "one", 7, None, 2**40))
    message["params"] = {name: rng.choice(VALUES) for name in rng.sample(FIELDS, rng.randint(0, 5))}
    for _ in range(rng.choice((0, 0, 1, 2))):
        name = rng.choice(("jsonrpc", "method", "id", "params", "result", "error"))
        message[name] = rng.choice(VALUES)
    return encoded_line(message, rng)


def check_message(message: Any) -> None:
    """What every line of ours is."""
    assert message["jsonrpc"] == "2.0"
    if "method" in message:
        assert message["method"] == "session/update"
        return
    assert isinstance(message["id"], str | int | None)
    assert ("result" in message) != ("error" in message)
    if "error" in message:
        assert isinstance(message["error"]["code"], int) and isinstance(message["error"]["message"], str)


def test_random_lines_are_answered_and_the_program_stays_alive(tau: Program) -> None:
    rng = random.Random(19)
    lines = b"".join(random_line(rng) for _ in range(10_000 if is_soaking() else 400))
    last = b'{"jsonrpc":"2.0","id":"last","method":"initialize","params":{"protocolVersion":1}}\n'
    with subprocess.Popen(
        [*TAU, "acp", *FAKE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=tau.project,
    ) as child:
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(lines + last)
        child.stdin.flush()
        for line in child.stdout:
            message = json.loads(line)
            check_message(message)
            if message.get("id") == "last":
                assert message["result"]["protocolVersion"] == 1
                break
        child.stdin.close()
        assert child.wait(HANG_S) == 0
    assert "last" in line.decode()


def test_unknown_notification_prints_nothing_and_params_may_be_missing(tau: Program) -> None:
    lines = (
        '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}',
        '{"jsonrpc":"2.0","method":"session/cancel"}',
        '{"jsonrpc":"2.0","id":1,"method":"session/list"}',
        '{"jsonrpc":"2.0","id":2,"method":"session/list","params":{"cwd":"/half \\ud83d"}}',
    )
    with subprocess.Popen(
        [*TAU, "acp", *FAKE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tau.project,
    ) as child:
        assert child.stdin is not None and child.stdout is not None and child.stderr is not None
        child.stdin.write("\n".join([*lines, ""]).encode())
        child.stdin.flush()
        answers = {answer["id"]: answer for answer in (json.loads(child.stdout.readline()) for _ in "12")}
        child.stdin.close()
        assert child.stderr.read() == b""
    assert answers[1]["result"] == {"sessions": []}
    assert "/half \ufffd" in answers[2]["error"]["message"]


EDITOR = """
import subprocess, sys, time
child = subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def send(line):
    child.stdin.write(line.encode() + b"\\n")
    child.stdin.flush()
send('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}')
send('{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"%s","mcpServers":[]}}' % sys.argv[1])
import json
while (found := json.loads(child.stdout.readline())).get("id") != 2:
    pass
prompt = [{"type": "text", "text": "go"}]
params = {"sessionId": found["result"]["sessionId"], "prompt": prompt}
send(json.dumps({"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": params}))
open(sys.argv[2], "w").write(str(child.pid))
time.sleep(600)
"""


def test_killed_editor_leaves_no_child_and_loses_no_entry(tau: Program, tmp_path: Path) -> None:
    tau.script((Call("bash", {"command": "echo $$ > pid; sleep 60"}),))
    pid_file = tmp_path / "agent"
    command = [sys.executable, "-c", EDITOR, str(tau.project), str(pid_file), *TAU, "acp", *FAKE]
    with subprocess.Popen(command, cwd=tau.project) as editor:
        agent = int(wait_for(pid_file))
        sleeper = int(wait_for(tau.project / "pid"))
        editor.send_signal(signal.SIGKILL)
    while Path(f"/proc/{agent}").exists() and not _is_zombie(agent):
        time.sleep(0.01)
    assert not is_alive(sleeper)
    [entries] = tau.sessions()
    roles = [entry["message"]["role"] for entry in entries if entry["type"] == "message"]
    assert roles == ["user", "assistant", "toolResult"]


def _is_zombie(pid: int) -> bool:
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True


@pytest.mark.parametrize("end", ["eof", "signal"])
def test_end_of_the_editor_records_the_run(tau: Program, end: str) -> None:
    tau.script((Call("bash", {"command": "echo $$ > pid; sleep 60"}),))
    child = subprocess.Popen(
        [*TAU, "acp", *FAKE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tau.project
    )
    assert child.stdin is not None and child.stdout is not None
    params: dict[str, Any] = {"cwd": str(tau.project), "mcpServers": []}
    _send(child, 1, "session/new", params)
    session = json.loads(child.stdout.readline())["result"]["sessionId"]
    _send(child, 2, "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]})
    sleeper = int(wait_for(tau.project / "pid"))
    if end == "eof":
        child.stdin.close()
    else:
        os.kill(child.pid, signal.SIGTERM)
    assert child.wait(HANG_S) == (0 if end == "eof" else 128 + signal.SIGTERM)
    assert not is_alive(sleeper)
    child.stdin.close()
    child.stdout.close()
    [entries] = tau.sessions()
    roles = [entry["message"]["role"] for entry in entries if entry["type"] == "message"]
    assert roles == ["user", "assistant", "toolResult"]


def _send(child: "subprocess.Popen[bytes]", id: int, method: str, params: dict[str, Any]) -> None:
    assert child.stdin is not None
    message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    child.stdin.write(json.dumps(message).encode() + b"\n")
    child.stdin.flush()
