"""A program that answers like Ollama and proposes one command: `python local_server.py COMMAND`."""

import encodings.idna  # noqa: F401  before we change the user, who may not read our files
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proposal = ""

    def do_GET(self) -> None:
        found = {"models": [{"name": "qwen"}]} if self.path == "/api/tags" else {"models": []}
        self._send(json.dumps(found), "application/json")

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path != "/api/chat":
            self._send("{}", "application/json")
            return
        sys.stdout.write(f"asked with {self.headers.get('authorization')}\n")
        sys.stdout.flush()
        is_first = sent["messages"][-1]["role"] == "user"
        call = {"function": {"name": "bash", "arguments": {"command": self.proposal}}}
        said: dict[str, Any] = {"tool_calls": [call]} if is_first else {"content": "done"}
        messages = [{"message": {"role": "assistant", "content": "", **said}, "done": False}]
        messages.append({"message": {"role": "assistant", "content": ""}, "done": True})
        lines = [json.dumps({"model": "qwen", "done_reason": "stop", **each}) for each in messages]
        self._send("".join(f"{line}\n" for line in lines), "application/x-ndjson")

    def _send(self, text: str, kind: str) -> None:
        data = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def local_server(command: str, *, user: int | None = None) -> Iterator[str]:
    """Run the program, as another user if given; yields its address."""
    argv = [sys.executable, "-I", str(Path(__file__)), command, "" if user is None else str(user)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


if __name__ == "__main__":
    Handler.proposal = sys.argv[1]
    if sys.argv[2]:
        os.setuid(int(sys.argv[2]))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()
