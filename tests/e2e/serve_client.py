"""A running `tau serve` and a client for it."""

import http.client
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.e2e.program import FAKE, TAU, Program
from tests.support.limits import HANG_S


class Server:
    """The address that it prints, and requests to it."""

    def __init__(self, child: "subprocess.Popen[bytes]") -> None:
        assert child.stdout is not None
        self.child = child
        self.line = child.stdout.readline().decode().strip()
        self.address, _, self.token = self.line.partition("#token=")
        self.port = int(self.address.rpartition(":")[2].strip("/") or 0) if self.token else 0

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG_S)
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            data = answer.read()
            return answer.status, json.loads(data) if data else None
        finally:
            connection.close()

    def start_run(self) -> str:
        _, session = self.call("POST", "/v1/sessions", {})
        path = f"/v1/sessions/{session['id']}/commands/prompt"
        assert self.call("POST", path, {"message": "go"})[0] == 200
        return str(session["id"])


@contextmanager
def serving(tau: Program, *args: str) -> Iterator[Server]:
    child = subprocess.Popen(
        [*TAU, "serve", *FAKE, *(args or ("--port", "0"))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tau.project,
    )
    try:
        yield Server(child)
    finally:
        child.terminate()
        _, errors = child.communicate(timeout=HANG_S)
        assert b"Traceback" not in errors, errors.decode()
