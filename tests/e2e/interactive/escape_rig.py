"""Brings the program into a state in which Escape can be pressed."""

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.interactive.launcher import QUIET, Launcher, User
from tests.e2e.program import FAKE, is_alive, wait_for
from tests.support.fake_answers import Scriptable

NEXT = "Here I am."
STOPPED = "Stopped. Type to continue, or /retry."
PLACE = "TAU_ESCAPE_PLACE"
SYNCHRONIZED = 2026
_SPINNER = range(0x2800, 0x2900)


@dataclass(frozen=True)
class State:
    """`script` is the model's part before `NEXT`; `reach` gets the program into the state.

    `says` is what the screen shows afterwards and `never` what it must not; `queued` returns to the editor.
    `writes`: the user can type in this state. `gone`: it is over once this is no longer visible. `lives_on`
    is in the names of processes that may stay.
    """

    reach: Callable[["Stage"], object]
    script: Callable[["Stage"], Sequence[Scriptable]] = lambda stage: ()
    settings: dict[str, Any] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    provider: str = "fake"
    prepare: Callable[["Stage"], dict[str, str]] = lambda stage: {}
    says: tuple[str, ...] = (STOPPED,)
    never: tuple[str, ...] = ()
    queued: str = ""
    writes: bool = True
    gone: str = ""
    lives_on: str = ""


class Stage:
    """One running program. Each play has its own tag, and a file that commands write when they start."""

    def __init__(self, launcher: Launcher, state: State, port: int) -> None:
        self.launcher = launcher
        self.state = state
        self.project = launcher.tau.project
        self.plays = 0
        self.user = self._open(port)
        self._asked = 0

    @property
    def tag(self) -> str:
        return f"tag-{self.plays}"

    @property
    def mark(self) -> Path:
        return self.project / f"begun-{self.plays}"

    def play(self) -> None:
        self.plays += 1
        self._asked = len(self.launcher.tau.server.requests)
        self.launcher.tau.script(*self.state.script(self), NEXT)
        self.state.reach(self)

    def requested(self, count: int = 1) -> None:
        """This many requests of this play have reached the model."""
        wanted = self._asked + count
        self.user.until(lambda _: len(self.launcher.tau.server.requests) >= wanted, "the request")

    def begun(self) -> None:
        """A command has written its file."""
        self.user.send("go")
        wait_for(self.mark)

    def rests(self, rows: list[str]) -> bool:
        """Nothing runs, the editor is there, and the screen is not changing."""
        gone = self.state.gone
        changes = self.user.term.terminal.modes.get(SYNCHRONIZED, False)
        return not changes and is_idle(rows) and not (gone and any(gone in row for row in rows))

    def processes(self, but: str) -> list[str]:
        """The command lines of all live processes started by this program, except those named.

        The sandbox itself lives as long as the program.
        """
        home = f"TAU_HOME={self.launcher.tau.home}".encode()
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                ours = home in (folder / "environ").read_bytes().split(b"\0")
                dead = (folder / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
                if ours and not dead and int(folder.name) not in (self.user.pid, os.getpid()):
                    command = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                    found.append(command.decode(errors="replace"))
            except OSError:  # it is gone
                continue
        allowed = [but] if but else []
        if is_alive(self.user.pid):
            allowed.append("tau.backends.sandbox.guest")
        return [command for command in found if not any(name in command for name in allowed)]

    def _open(self, port: int) -> User:
        tau = self.launcher.tau
        usual = {"api": "openai-completions", "apiKey": "x"}
        model = {"id": "fake-model", "input": ["text"], "contextWindow": 10_000_000, "reasoning": True}
        addresses = {
            "fake": tau.server.url,
            "deaf": f"http://127.0.0.1:{port}",
            "unknown": "http://name.invalid:1",
        }
        providers = {
            name: {**usual, "baseUrl": f"{address}/v1", "models": [model]}
            for name, address in addresses.items()
        }
        tau.write("models.json", {"providers": providers})
        tau.settings(**{**QUIET, **self.state.settings})
        flags = ("--provider", self.state.provider, *FAKE[2:])
        env = {PLACE: str(self.project), **self.state.prepare(self)}
        return self.launcher.start(*self.state.arguments, env=env, flags=flags)


def is_idle(rows: list[str]) -> bool:
    """Nothing runs, and the editor is there: the line above it names the model."""
    lines = [row for row in rows if row.startswith("─")]
    works = any((row and ord(row[0]) in _SPINNER) or "stops it" in row for row in rows)
    return len(lines) >= 2 and "fake-model" in lines[-2] and not works


@contextmanager
def full_port() -> Iterator[int]:
    """A local port that accepts nobody: whoever connects waits for an answer."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        port = server.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        try:
            for one in waiting:
                one.setblocking(False)
                one.connect_ex(("127.0.0.1", port))
            yield port
        finally:
            for one in waiting:
                one.close()


def is_dialled(port: int) -> bool:
    """Whether someone waits for an answer to their first packet to this port."""
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any(int(row[2].rpartition(":")[2], 16) == port and row[3] == "02" for row in rows)
