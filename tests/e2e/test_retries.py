"""`tau -p` against a server that is busy, unreachable, too small or picky."""

import json
import os
import signal
import subprocess
from base64 import b64encode
from typing import Any

import pytest

from tau.ai.apis import DIALECTS
from tests.e2e.program import TAU, Program, wait_for
from tests.support.fake_answers import (
    Answer,
    Call,
    CutConnection,
    ErrorEvent,
    Fault,
    Overflow,
    Scriptable,
    Silence,
    Status,
    Text,
    Usage,
)
from tests.support.fake_dialects import BY_API
from tests.support.limits import HANG_S
from tests.support.pictures import PNG

QUICK = {"retry.baseDelayMs": 1, "retry.maxRetries": 2}
USUAL = "openai-completions"


@pytest.fixture
def program(tau: Program) -> Program:
    """Quick retries, and a second provider with two models."""
    tau.settings(**QUICK)
    return tau


def serve(tau: Program, api: str) -> None:
    """The providers `fake` and `spare`, in one dialect, on the same server."""
    base = f"{tau.server.url}{BY_API[api].base_path}"
    models = [{"id": id, "input": ["text", "image"]} for id in ("fake-model", "second", "third")]
    row = {"baseUrl": base, "api": api, "apiKey": "x", "models": models}
    tau.write("models.json", {"providers": {"fake": row, "spare": row}})


def asked(tau: Program) -> list[str]:
    return [request.model for request in tau.server.requests]


def keys(tau: Program) -> list[str]:
    return [request.key for request in tau.server.requests]


def entries(tau: Program, kind: str) -> list[dict[str, Any]]:
    [session] = tau.sessions()
    return [entry for entry in session if entry["type"] == kind]


@pytest.mark.parametrize("api", DIALECTS)
@pytest.mark.parametrize(
    "fault",
    (
        Status(503, "Overloaded"),
        Status(429, "Slow down", retry_after="0.01"),
        Status(429, "Rate limit reached. Please try again in 12ms.", retry_after="1800"),
        Status(429, "Slow down", headers={"retry-after-ms": "11"}),
        Status(429, "Slow down", headers={"x-ratelimit-reset-requests": "13ms"}),
        ErrorEvent(),
        CutConnection(),
    ),
    ids=("503", "seconds", "body", "milliseconds", "reset", "event", "cut"),
)
def test_busy_server_is_retried(program: Program, api: str, fault: Fault) -> None:
    serve(program, api)
    program.script(fault, "Here I am.")
    ran = program.ask("hi")
    assert (ran.returncode, ran.stdout) == (0, "Here I am.\n")
    assert "Retrying in 0" in ran.stderr and "(1 of 2)" in ran.stderr
    assert len(program.server.requests) == 2
    assert program.server.requests[0].body == program.server.requests[1].body


@pytest.mark.parametrize(
    ("fault", "requests", "code"),
    (
        (Status(429, "Slow down"), 3, 75),
        (Status(503, "Overloaded"), 3, 75),
        (Silence(before_head=True), 3, 75),
        (Silence(after_events=2), 3, 75),
        (Status(429, "Come back later", retry_after="7200"), 1, 75),
        (Status(429, "Rate limit exceeded: free-models-per-day"), 1, 75),
        (Status(429, "No credit", kind="insufficient_quota"), 1, 1),
        (Status(402, "Pay first"), 1, 1),
        (Status(401, "Bad key"), 1, 1),
        (Status(404, "No such model 503 429"), 1, 1),
    ),
    ids=("429", "503", "silent", "stalled", "2 h", "daily", "quota", "402", "401", "404"),
)
def test_exit_code_says_whether_a_later_run_may_succeed(
    program: Program, fault: Scriptable, requests: int, code: int
) -> None:
    timeouts = {"stream.firstEventTimeoutMs": 150, "stream.idleTimeoutMs": 150}
    program.settings(**QUICK, **timeouts)
    program.script(fault)
    ran = program.ask("hi")
    assert (ran.returncode, ran.stdout) == (code, "")
    assert len(program.server.requests) == requests
    assert ran.stderr.count("Retrying") == requests - 1


def test_request_that_cannot_fit_is_not_retried_and_not_worth_a_later_run(
    program: Program,
) -> None:
    program.script(Overflow())
    ran = program.ask("hi")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "context" in ran.stderr and "Retrying" not in ran.stderr
    assert len(program.server.requests) < 10


def test_empty_answer_is_requested_again(program: Program) -> None:
    program.settings(**{"retry.baseDelayMs": 1})
    program.script((), (), "Not empty.")
    ran = program.ask("hi")
    assert (ran.returncode, ran.stdout) == (0, "Not empty.\n")


def test_work_done_before_a_failure_is_not_repeated(program: Program) -> None:
    program.script(
        Call("bash", {"command": "echo once >> count"}), Status(500, "Oops"), Text("Counted.", deltas=2)
    )
    assert program.ask("hi").stdout == "Counted.\n"
    assert (program.project / "count").read_text() == "once\n"


def test_ctrl_c_ends_a_wait(program: Program) -> None:
    program.script(Status(429, "Slow down", retry_after="200"))
    running = program.start("-p", "hi")
    assert running.stderr is not None
    assert b"Retrying in 200 s" in running.stderr.readline()
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=HANG_S)
    assert running.returncode == 130
    assert len(program.server.requests) == 1


def test_ctrl_c_ends_a_hanging_lookup(program: Program) -> None:
    hooks = program.home / "hooks"
    hooks.mkdir()
    asked = hooks / "asked"
    (hooks / "sitecustomize.py").write_text(
        "import socket, time\n"
        "def look_up(host, port, *rest, flags=0, **more):\n"
        "    if flags & socket.AI_NUMERICHOST:\n"
        "        raise socket.gaierror\n"
        f"    open({str(asked)!r}, 'w').write('yes')\n"
        "    time.sleep(100)\n"
        "socket.getaddrinfo = look_up\n"
    )
    address = ("--base-url", "http://slow.example/v1", "--model", "m", "-p", "hi")
    running = subprocess.Popen(
        [*TAU, *address],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=program.project,
        env={**os.environ, "PYTHONPATH": f"{hooks}:{os.environ.get('PYTHONPATH', '')}"},
    )
    wait_for(asked)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=HANG_S)
    assert running.returncode == 130


@pytest.mark.parametrize("api", DIALECTS)
def test_another_model_continues_when_one_stays_busy(program: Program, api: str) -> None:
    serve(program, api)
    program.settings(**QUICK, **{"retry.fallbackChains": {"default": ["spare/second", "spare/third"]}})
    program.script(*[Status(503, "Overloaded")] * 3, Status(401, "Bad key"))
    assert program.ask("hi").returncode == 1
    assert asked(program) == ["fake-model"] * 3 + ["second"]
    program.server.requests.clear()
    program.script(*[Status(503, "Overloaded")] * 6, "The third is here.")
    ran = program.ask("hi", "--session-dir", "elsewhere")
    assert (ran.returncode, ran.stdout) == (0, "The third is here.\n")
    assert asked(program) == ["fake-model"] * 3 + ["second"] * 3 + ["third"]
    assert "Switching to spare/second." in ran.stderr
    assert "Switching to spare/third." in ran.stderr


def test_session_remembers_the_fallback(program: Program) -> None:
    serve(program, USUAL)
    program.settings(**QUICK, **{"retry.fallbackChains": {"fake-model": ["spare/second"]}})
    program.script(Status(429, "Slow down", retry_after="3600"), "one", "two")
    assert program.ask("hi").stdout == "one\n"
    assert [entry["modelId"] for entry in entries(program, "model_change")] == ["fake-model", "second"]
    assert program.run("-c", "-p", "more").stdout == "two\n"
    assert asked(program) == ["fake-model", "second", "second"]
    [path] = (program.home / "sessions").rglob("*.jsonl")
    [reported] = entries(program, "custom")
    until = str(reported["data"]["until"])
    path.write_text(path.read_text().replace(until, "1000"))
    program.script("three")
    ran = program.run("-c", "-p", "and more")
    assert (ran.stdout, ran.stderr) == ("three\n", "tau: Back to fake/fake-model.\n")
    assert asked(program)[-1] == "fake-model"


@pytest.mark.parametrize(
    "fault", (Status(429, "Slow down", retry_after="60"), Status(401, "Bad key")), ids=str
)
def test_another_key_is_used_when_one_fails(program: Program, fault: Status) -> None:
    both = [{"type": "api_key", "key": key} for key in ("first-key", "second-key")]
    (program.home / "auth.json").write_text(json.dumps({"fake": both}))
    (program.home / "auth.json").chmod(0o600)
    program.script(fault, Call("bash", {"command": "true"}), "Done.")
    ran = program.ask("hi")
    assert (ran.returncode, ran.stdout) == (0, "Done.\n")
    assert keys(program) == ["first-key", "second-key", "second-key"]
    assert "switching to another one from auth.json" in ran.stderr
    assert "-key" not in ran.stderr + ran.stdout


@pytest.mark.parametrize("api", DIALECTS)
def test_refused_picture_is_left_out_now_and_later(program: Program, api: str) -> None:
    serve(program, api)
    (program.project / "shot.png").write_bytes(PNG)
    program.script(Status(400, "Could not process image"), "I cannot see it.", "Still here.")
    ran = program.ask("@shot.png", "What is this?")
    assert (ran.returncode, ran.stdout) == (0, "I cannot see it.\n")
    assert "An image was left out" in ran.stderr
    assert program.ask("-c", "And now?").stdout == "Still here.\n"
    picture = b64encode(PNG)
    assert [picture in request.raw for request in program.server.requests] == [True, False, False]
    assert "refused it" in program.server.requests[2].raw.decode()
    assert program.server.problems == []
    [edit] = entries(program, "context_edit")
    first = entries(program, "message")[0]
    assert (edit["targetId"], "image" in str(first["message"]["content"])) == (first["id"], True)


def test_refused_picture_read_by_a_tool_is_left_out_too(program: Program) -> None:
    (program.project / "shot.gif").write_bytes(gif())
    program.settings(**QUICK, **{"images.autoResize": False})
    program.script(Call("read", {"path": "shot.gif"}), Status(400, "Invalid image data"), "I cannot see it.")
    ran = program.ask("look")
    assert (ran.returncode, ran.stdout) == (0, "I cannot see it.\n")
    assert ["image/gif;base64" in request.raw.decode() for request in program.server.requests] == [
        False,
        True,
        False,
    ]
    assert program.server.problems == []


def test_small_context_of_a_local_server_is_reported_once_in_a_resumed_session(program: Program) -> None:
    program.server.script(*[Answer((Text("Short memory."),), Usage(input=100))] * 4)
    runs = [
        program.ask(*words) for words in (["hi"], ["-c", "again"], ["-c", "once more"], ["a new session"])
    ]
    assert [ran.stderr.count("dropped the start") for ran in runs] == [1, 0, 0, 1]
    assert {ran.stdout for ran in runs} == {"Short memory.\n"}


def gif() -> bytes:
    return (
        b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00!\xf9\x04\x01\x00\x00\x00\x00,"
        b"\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
    )
