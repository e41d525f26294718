"""kill -9 at every event of the HTTP server and of ACP: no child is left, and nothing reported is lost."""

import http.client
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.e2e.program import FAKE, TAU, Program
from tests.e2e.serve_client import Server, serving
from tests.faults.killed_run import ANSWERS, STEP, check_children, kept_messages
from tests.support.limits import HANG_S
from tests.support.soak import is_soaking

Frame = dict[str, Any]


@pytest.fixture(autouse=True)
def settings(tau: Program) -> None:
    tau.settings(**{"titles.enabled": False, "tools.approvalMode": "yolo", "sandbox.mode": "off"})


def moments(count: int) -> range:
    assert count > STEP
    return range(1, count, 1 if is_soaking() else max(1, count // STEP))


class Stream:
    """The events of a session over HTTP."""

    def __init__(self, server: Server, id: str, after: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=HANG_S)
        headers = {"authorization": f"Bearer {server.token}"}
        self.connection.request("GET", f"/v1/sessions/{id}/events?after={after}", headers=headers)
        self.answer = self.connection.getresponse()

    def __iter__(self) -> Iterator[Frame]:
        for line in self.answer:
            if line.startswith(b"data: "):
                event = json.loads(line[6:])
                yield event
                if event["type"] == "agent_settled":
                    return

    def close(self) -> None:
        self.answer.close()
        self.connection.close()


def run_over_http(tau: Program, at: int, end: str) -> list[Frame]:
    """The events until the kill, or all."""
    tau.script(*ANSWERS)
    seen: list[Frame] = []
    with serving(tau) as server:
        _, session = server.call("POST", "/v1/sessions", {})
        id, path = session["id"], f"/v1/sessions/{session['id']}"
        _, view = server.call("GET", path)
        stream = Stream(server, id, view["lastEventId"])
        assert server.call("POST", f"{path}/commands/prompt", {"message": "go"})[0] == 200
        for event in stream:
            seen.append(event)
            if len(seen) == at:
                break
        if end == "server":
            server.child.kill()
            server.child.wait()
        stream.close()
        if end == "client":  # the run is that of the server, and continues
            again = Stream(server, id, view["lastEventId"])
            assert [event["type"] for event in again][-1] == "agent_settled"
            again.close()
    return seen


@pytest.mark.parametrize("end", ["server", "client"])
def test_kill_at_an_event_over_http_loses_nothing_that_was_reported(tau: Program, end: str) -> None:
    for at in moments(len(run_over_http(tau, 0, "nobody"))):
        seen = run_over_http(tau, at, end)
        check_children(tau)
        kept = kept_messages(tau)
        assert [
            one["message"] for one in seen if one["type"] == "message_end" and one["message"] not in kept
        ] == []
        if end == "client":
            assert kept[-1]["content"][0]["text"] == "Done."


@contextmanager
def acp(tau: Program) -> Iterator["subprocess.Popen[bytes]"]:
    tau.script(*ANSWERS)
    with subprocess.Popen(
        [*TAU, "acp", *FAKE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=tau.project,
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def run_over_acp(tau: Program, at: int, end: str) -> list[Frame]:
    seen: list[Frame] = []
    with acp(tau) as child:
        assert child.stdin is not None and child.stdout is not None

        def ask(id: int, method: str, **params: Any) -> None:
            assert child.stdin is not None
            line = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
            child.stdin.write(json.dumps(line).encode() + b"\n")
            child.stdin.flush()

        ask(1, "initialize", protocolVersion=1)
        ask(2, "session/new", cwd=str(tau.project), mcpServers=[])
        for line in child.stdout:
            frame = json.loads(line)
            if frame.get("id") == 2:
                id = frame["result"]["sessionId"]
                ask(3, "session/prompt", sessionId=id, prompt=[{"type": "text", "text": "go"}])
                continue
            seen.append(frame)
            if len(seen) == at or frame.get("id") == 3:
                break
        if end == "server":
            child.kill()
        else:
            child.stdin.close()
            child.stdout.close()
        child.wait(HANG_S)
    return seen


@pytest.mark.parametrize("end", ["server", "client"])
def test_kill_at_an_update_over_acp_loses_no_result_that_was_reported(tau: Program, end: str) -> None:
    for at in moments(len(run_over_acp(tau, 0, "client"))):
        seen = run_over_acp(tau, at, end)
        check_children(tau)
        updates = [frame["params"]["update"] for frame in seen if frame.get("method") == "session/update"]
        finished = {one["toolCallId"] for one in updates if one.get("status") in ("completed", "failed")}
        kept = {one["toolCallId"] for one in kept_messages(tau) if one["role"] == "toolResult"}
        assert finished <= kept
