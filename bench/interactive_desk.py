"""Starts tau on a terminal against the fake model server, and measures its processes."""

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fake import FakeServer
from tui_pty import Terminal

TAU = (str(Path(sys.executable).parent / "tau"), "--provider", "fake", "--model", "fake-model")
PAINTED = "─".encode() * 20
READY = b"fake-model"
IDLE_TITLE = b"\x1b]0;tau: "
PROMPT_TOKENS = 5_000
PERSON_S = 0.05  # Enter right after the text would be part of a paste


class Desk:
    """A home folder with one provider, and a project; the terminal answers DA1 and OSC 11."""

    def __init__(self, server: FakeServer, folder: Path) -> None:
        self.server = server
        self.home = folder / "home"
        self.project = folder / "project"
        self.home.mkdir()
        self.project.mkdir()
        provider = {
            "baseUrl": f"{server.url}/v1",
            "api": "openai-completions",
            "apiKey": "x",
            "models": [{"id": "fake-model", "input": ["text", "image"], "contextWindow": 1_000_000}],
        }
        (self.home / "models.json").write_text(json.dumps({"providers": {"fake": provider}}))
        (self.home / "settings.json").write_text(json.dumps({"titles.enabled": False}))
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TAU_HOME": str(self.home),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
        }

    def start(self) -> Terminal:
        return Terminal(TAU, self.env, cwd=self.project, answers=True)

    @contextmanager
    def ready(self) -> Iterator[Terminal]:
        """Start tau and wait until its session is open and its startup output is complete."""
        with self.start() as program:
            must(program, program.wait_for(READY, 20))
            program.read_for(2.0)
            program.output.clear()
            yield program

    def script(self, *answers: dict[str, Any]) -> None:
        self.server.script(script=list(answers))

    def said(self) -> str:
        """Return the content of the newest session file."""
        files = sorted((self.home / "sessions").glob("*/*.jsonl"), key=lambda file: file.stat().st_mtime)
        return files[-1].read_text() if files else ""


@contextmanager
def desk() -> Iterator[Desk]:
    with tempfile.TemporaryDirectory(prefix="tau-bench-") as folder, FakeServer() as server:
        yield Desk(server, Path(folder))


def words(text: str, deltas: int = 1, delay_s: float = 0, tokens: int = PROMPT_TOKENS) -> dict[str, Any]:
    """Build a model answer; `tokens` is its reported input size."""
    part = {"type": "Text", "text": text, "deltas": deltas}
    return {"type": "Answer", "parts": [part], "delay_s": delay_s, "usage": {"input": tokens}}


def call(tool: str, tokens: int = PROMPT_TOKENS, **arguments: Any) -> dict[str, Any]:
    part = {"type": "Call", "name": tool, "arguments": arguments}
    return {"type": "Answer", "parts": [part], "usage": {"input": tokens}}


def ask(program: Terminal, text: str, seconds: float = 60) -> float:
    """Send a prompt and wait until the title shows idle; returns milliseconds."""
    since = len(program.output)
    program.type(text)
    must(program, program.wait_for(text[-8:].encode(), 10, since=since))
    program.read_for(PERSON_S)
    program.type("\r")
    return must(program, program.wait_for(IDLE_TITLE, seconds, since=since))


def must(program: Terminal, milliseconds: float) -> float:
    if milliseconds < 0:
        raise SystemExit("tau did not get so far:\n" + program.output[-4000:].decode(errors="replace"))
    return milliseconds


def count(value: float) -> str:
    return f"{value:.0f}"


def seconds(value: float) -> str:
    return f"{value:.3f} s"


def megabytes(value: float) -> str:
    return f"{value:.1f} MB"
