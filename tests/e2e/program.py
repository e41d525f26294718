"""The real program as a child, with a home of its own that knows one provider: the fake server."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pexpect
from msgspec.structs import replace

from tests.support.fake_answers import Answer, Scriptable, Usage, scripted
from tests.support.fake_server import FakeServer

TAU = (sys.executable, "-m", "tau")
FAKE = ("--provider", "fake", "--model", "fake-model")


class Program:
    """`tau` with its user's folder in TAU_HOME and a project folder to work in."""

    def __init__(self, server: FakeServer, folder: Path) -> None:
        self.server = server
        self.project = folder / "project"
        self.project.mkdir()
        self.home = Path(os.environ["TAU_HOME"])
        self.home.mkdir(parents=True)
        self.settings(**{"retry.enabled": False})
        self.script("ok")
        provider = {
            "baseUrl": f"{server.url}/v1",
            "api": "openai-completions",
            "apiKey": "x",
            "models": [{"id": "fake-model", "input": ["text", "image"]}],
        }
        self.write("models.json", {"providers": {"fake": provider}})

    def script(self, *answers: Scriptable) -> None:
        """What the model says next; it claims to have read a prompt of plausible size."""
        told = [scripted(answer) for answer in answers]
        usage = Usage(input=5000)
        self.server.script(*(replace(one, usage=usage) if isinstance(one, Answer) else one for one in told))

    def settings(self, **values: Any) -> None:
        self.write("settings.json", values)

    def write(self, name: str, content: Any) -> None:
        (self.home / name).write_text(json.dumps(content))

    def run(
        self, *arguments: str, stdin: str | bytes = b"", cwd: Path | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        ran = subprocess.run(
            [*TAU, *arguments],
            input=data,
            capture_output=True,
            cwd=cwd or self.project,
            env={**os.environ, **environment},
            timeout=30,
        )
        assert b"Traceback" not in ran.stderr, ran.stderr.decode()
        return subprocess.CompletedProcess(ran.args, ran.returncode, ran.stdout.decode(), ran.stderr.decode())

    def ask(self, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
        """Print mode with the fake model."""
        return self.run(*FAKE, "-p", *arguments, **more)

    def start(self, *arguments: str, **more: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*TAU, *FAKE, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.project,
            **more,
        )

    def terminal(self, *arguments: str, term: str = "dumb", cwd: Path | None = None) -> "pexpect.spawn[str]":
        return pexpect.spawn(
            TAU[0],
            [*TAU[1:], *FAKE, *arguments],
            cwd=str(cwd or self.project),
            env={**os.environ, "TERM": term},
            encoding="utf-8",
            timeout=10,
            echo=False,
        )

    def said(self, number: int = -1) -> list[str]:
        """The user's words in a request."""
        found = []
        for message in self.server.requests[number].body["messages"]:
            if message["role"] == "user":
                content = message["content"]
                parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
                found.append("".join(parts))
        return found

    def sessions(self) -> list[list[dict[str, Any]]]:
        files = sorted((self.home / "sessions").rglob("*.jsonl"))
        return [[json.loads(line) for line in file.read_text().splitlines()] for file in files]


def wait_for(path: Path, seconds: float = 10) -> str:
    """The content of a file that another process makes."""
    end = time.monotonic() + seconds
    while not (path.exists() and path.read_text().strip()):
        assert time.monotonic() < end, f"{path} was not made"
        time.sleep(0.01)
    return path.read_text().strip()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"
