"""`tau serve`: the real program, its flags, its end, and clients that send anything."""

import json
import random
import signal
import socket
import stat
import time
from pathlib import Path

import pytest

from tests.e2e.program import Program
from tests.e2e.serve_client import serving
from tests.support.fake_answers import Call
from tests.support.limits import HANG_S
from tests.support.random_lines import VALUES
from tests.support.soak import is_soaking


def wait_for(path: Path) -> str:
    end = time.monotonic() + HANG_S
    while not (path.exists() and (text := path.read_text().strip())):
        assert time.monotonic() < end, f"{path} was not written."
        time.sleep(0.01)
    return text


def is_alive(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_address_with_the_token_is_printed_and_the_token_stays_the_same(tau: Program) -> None:
    with serving(tau) as server:
        assert server.address == f"http://127.0.0.1:{server.port}/"
        assert server.call("GET", "/v1/sessions") == (200, {"sessions": []})
        first = server.token
    path = tau.home / "serve_token"
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == (first, 0o600)
    with serving(tau) as server:
        assert server.token == first


def test_unix_socket_is_only_for_its_user_and_removed_at_the_end(tau: Program, tmp_path: Path) -> None:
    path = tmp_path / "tau.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))  # left behind by a killed server
    with serving(tau, "--unix", str(path)) as server:
        assert server.line == f"Listening on {path}"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(b"GET /v1/health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            assert client.recv(4096).startswith(b"HTTP/1.1 200 OK")
    assert not path.exists()


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["hello"], "takes no prompts"),
        (["--port", "x"], "--port needs a number"),
        (["--root", "/does/not/exist"], "not found"),
        (["--host", "203.0.113.1"], "Cannot listen on 203.0.113.1"),
        (["--host", "no.such.invalid"], "choose another --host"),
        (["--allow-origin", "example.com"], "--allow-origin needs an address"),
        (["--wrong"], 'Unknown flag "--wrong"'),
        (["--unix", "/does/not/exist/socket"], "Cannot listen on"),
    ],
)
def test_wrong_use_is_one_sentence(args: list[str], problem: str, tau: Program) -> None:
    ran = tau.run("serve", *args)
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert problem in ran.stderr


def test_missing_extra_names_the_install_command(tau: Program) -> None:
    (tau.project / "starlette.py").write_text('raise ModuleNotFoundError("No", name="starlette")')
    ran = tau.run("serve", stdin="", PYTHONPATH=str(tau.project))
    assert (ran.returncode, "pip install 'tau-agent[serve]'" in ran.stderr) == (2, True)


def test_taken_port_is_reported(tau: Program) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        ran = tau.run("serve", "--port", str(other.getsockname()[1]))
    assert (ran.returncode, "choose another --port" in ran.stderr) == (2, True)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_records_the_run_and_leaves_no_child(number: int, tau: Program) -> None:
    tau.settings(**{"titles.enabled": False, "sandbox.mode": "off", "tools.approvalMode": "yolo"})
    tau.script((Call("bash", {"command": "echo $$ > pid; sleep 60"}),))
    with serving(tau) as server:
        server.start_run()
        sleeper = int(wait_for(tau.project / "pid"))
        server.child.send_signal(number)
        assert server.child.wait(HANG_S) == 128 + number
    assert not is_alive(sleeper)
    [entries] = tau.sessions()
    roles = [entry["message"]["role"] for entry in entries if entry["type"] == "message"]
    assert roles == ["user", "assistant", "toolResult"]


def test_killed_server_leaves_no_child_and_the_next_one_continues_its_session(tau: Program) -> None:
    tau.settings(**{"titles.enabled": False, "sandbox.mode": "off", "tools.approvalMode": "yolo"})
    tau.script((Call("bash", {"command": "echo $$ > pid; sleep 60"}),))
    with serving(tau) as server:
        id = server.start_run()
        sleeper = int(wait_for(tau.project / "pid"))
        server.child.kill()
        server.child.wait()
    end = time.monotonic() + HANG_S
    while is_alive(sleeper):
        assert time.monotonic() < end, "The command outlived the server."
        time.sleep(0.01)
    tau.script("fine")
    with serving(tau) as server:
        status, view = server.call("GET", f"/v1/sessions/{id}?messages=10")
        assert status == 200
        assert [one["message"]["role"] for one in view["page"]["messages"]][:2] == ["user", "assistant"]
        assert server.call("POST", f"/v1/sessions/{id}/commands/prompt", {"message": "more"})[0] == 200


def random_request(rng: random.Random, id: str, port: int, token: str) -> bytes:
    """A request as a client may send it, or not."""
    commands = ("prompt", "set_todos", "get_entries", "get_messages_page", "fork", "set_model", "nothing")
    paths = (
        *(f"/v1/sessions/{id}/commands/{rng.choice(commands)}", "/v1/sessions", f"/v1/sessions/{id}"),
        *(f"/v1/sessions/{id}/messages?limit={rng.choice(VALUES)!r:.40}", "/v1/models", "/v1/auth", "/"),
        *(f"/v1/sessions/{id}/questions/ui_1", f"/v1/sessions/{id}/artifacts/{rng.randint(0, 99)}"),
        *(f"/v1/sessions/{id}/export?format=x", "/%2e%2e/%00", f"/v1/sessions/{id}/entries?since=%ff"),
    )
    names = ("message", "phases", "since", "cursor", "limit", "entryId", "provider", "value", "cwd", "name")
    body = json.dumps({rng.choice(names): rng.choice(VALUES) for _ in range(3)}).encode()
    if rng.random() < 0.3:
        at = rng.randrange(len(body))
        body = body[:at] + rng.choice((b"", b"\0", b"\xff", b'"', b"[" * 2000)) + body[at + 3 :]
    path = rng.choice(paths).replace(" ", "%20").encode("ascii", "replace")
    head = b"%b %b HTTP/1.1\r\nhost: 127.0.0.1:%d\r\nauthorization: Bearer %b\r\n" % (
        rng.choice((b"GET", b"POST", b"POST", b"POST", b"PATCH", b"DELETE", b"PUT", b"X")),
        path,
        port,
        token.encode(),
    )
    head += b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body)
    if rng.random() < 0.2:
        at = rng.randrange(len(head))
        head = head[:at] + rng.choice((b"\0", b"\r\n", b"\xff", b":", b"x" * 70_000)) + head[at + 1 :]
    return (head + body)[: rng.randint(1, 99_999) if rng.random() < 0.2 else None]


def exchange(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=HANG_S) as client:
        data = b""
        try:
            client.sendall(request)
            client.shutdown(socket.SHUT_WR)
            while piece := client.recv(65_536):
                data += piece
        except ConnectionError:  # the server has refused the request before it was complete
            pass
        return data


def test_random_requests_are_answered_and_the_program_stays_alive(tau: Program) -> None:
    rng = random.Random(19)
    with serving(tau) as server:
        for number in range(10_000 if is_soaking() else 300):
            if number % 20 == 0:  # the last one may be deleted
                _, session = server.call("POST", "/v1/sessions", {})
            data = exchange(server.port, random_request(rng, session["id"], server.port, server.token))
            if not data:
                continue  # an incomplete request
            head, _, body = data.partition(b"\r\n\r\n")
            status = int(head.split()[1])
            assert 200 <= status < 500, data[:2000]
            if status >= 400 and b"application/json" in head and body:
                assert set(json.loads(body)) >= {"error", "code"}
        assert server.call("GET", "/v1/health")[0] == 200
        assert server.child.poll() is None
