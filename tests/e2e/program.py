"""The real program as a child, with its own home and one provider: the fake server."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pexpect
from msgspec.structs import replace

from tests.support.fake_answers import Answer, Scriptable, Usage, scripted
from tests.support.fake_server import FakeServer
from tests.support.forked import PREFIX as TAU
from tests.support.forked import ForkServer
from tests.support.limits import HANG_S

FAKE = ("--provider", "fake", "--model", "fake-model")


class Program:
    """`tau` with its user's folder in TAU_HOME and a project folder to work in.

    It is executed, or forked if there is a server for that.
    """

    def __init__(self, server: FakeServer, folder: Path, forks: ForkServer | None = None) -> None:
        self.server = server
        self.forks = forks
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
        """The model's next answer; it claims to have read a prompt of plausible size."""
        reported = [scripted(answer) for answer in answers]
        usage = Usage(input=5000)
        self.server.script(
            *(replace(one, usage=usage) if isinstance(one, Answer) else one for one in reported)
        )

    def settings(self, **values: Any) -> None:
        self.write("settings.json", values)

    def write(self, name: str, content: Any) -> None:
        (self.home / name).write_text(json.dumps(content))

    def run(
        self, *arguments: str, stdin: str | bytes = b"", cwd: Path | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        with self.popen(
            [*TAU, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd or self.project,
            env={**os.environ, **environment},
        ) as ran:
            try:
                output, errors = ran.communicate(data, HANG_S)
            except BaseException:
                ran.kill()
                raise
        assert b"Traceback" not in errors, errors.decode()
        return subprocess.CompletedProcess(ran.args, ran.returncode, output.decode(), errors.decode())

    def ask(self, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
        """Print mode with the fake model."""
        return self.run(*FAKE, "-p", *arguments, **more)

    def start(self, *arguments: str, **more: Any) -> subprocess.Popen[bytes]:
        return self.popen(
            [*TAU, *FAKE, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.project,
            **more,
        )

    def popen(self, argv: list[str], **options: Any) -> subprocess.Popen[bytes]:
        if self.forks is None or not self.forks.can_start(options.get("env", os.environ)):
            return subprocess.Popen(argv, **options)
        return self.forks.start(argv, **options)

    def terminal(self, *arguments: str, term: str = "dumb", cwd: Path | None = None) -> "pexpect.spawn[str]":
        return pexpect.spawn(
            TAU[0],
            [*TAU[1:], *FAKE, *arguments],
            cwd=str(cwd or self.project),
            env={**os.environ, "TERM": term},
            encoding="utf-8",
            timeout=HANG_S,
            echo=False,
        )

    def user_messages(self, number: int = -1) -> list[str]:
        """The user's text in a request."""
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


def wait_for(path: Path, seconds: float = HANG_S) -> str:
    """The content of a file made by another process."""
    end = time.monotonic() + seconds
    while not (path.exists() and path.read_text().strip()):
        assert time.monotonic() < end, f"{path} was not made"
        time.sleep(0.01)
    return path.read_text().strip()


def is_alive(pid: int) -> bool:
    """Whether a process of this test lives, by its pid as it knows it itself, maybe in a sandbox."""
    mark = f"\0HOME={os.environ['HOME']}\0".encode()
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.partition(":")[::2] for line in status.read_text().splitlines())
            if int(fields["NSpid"].split()[-1]) != pid or fields["State"].strip().startswith("Z"):
                continue
            if mark in b"\0" + status.with_name("environ").read_bytes():
                return True
        except (OSError, KeyError):
            continue  # it has just ended
    return False
