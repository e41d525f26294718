"""A stage on which the program is brought into a state, so that somebody can press Escape there."""

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.interactive.desk import QUIET, Desk, Seat
from tests.e2e.program import FAKE, wait_for
from tests.support.fake_answers import Scriptable

NEXT = "Here I am."
STOPPED = "Stopped. Type to continue, or /retry."
PLACE = "TAU_ESCAPE_PLACE"
SYNCHRONIZED = 2026
_SPINNER = range(0x2800, 0x2900)


@dataclass(frozen=True)
class State:
    """`script` is the model's part before `NEXT`; `reach` gets the program into the state.

    `says` is what the screen tells afterwards and `never` what it must not; `queued` is what comes back into
    the editor. `writes`: the person can write in it. `gone`: it is over when this is not to be seen any
    more. `lives_on` is in the names of processes that may stay.
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
    """One program on a desk. Each play has its own tag, and a file that commands write when they begin."""

    def __init__(self, desk: Desk, state: State, port: int) -> None:
        self.desk = desk
        self.state = state
        self.project = desk.tau.project
        self.plays = 0
        self.seat = self._open(port)
        self._asked = 0

    @property
    def tag(self) -> str:
        return f"tag-{self.plays}"

    @property
    def mark(self) -> Path:
        return self.project / f"begun-{self.plays}"

    def play(self) -> None:
        self.plays += 1
        self._asked = len(self.desk.tau.server.requests)
        self.desk.tau.script(*self.state.script(self), NEXT)
        self.state.reach(self)

    def requested(self, count: int = 1) -> None:
        """So many requests of this play have reached the model."""
        wanted = self._asked + count
        self.seat.until(lambda _: len(self.desk.tau.server.requests) >= wanted, "the request")

    def begun(self) -> None:
        """A command has written its file."""
        self.seat.send("go")
        wait_for(self.mark)

    def rests(self, rows: list[str]) -> bool:
        """Nothing runs, the editor is there, and the screen is not in the midst of a change."""
        gone = self.state.gone
        changes = self.seat.term.terminal.modes.get(SYNCHRONIZED, False)
        return not changes and is_idle(rows) and not (gone and any(gone in row for row in rows))

    def processes(self, but: str) -> list[str]:
        """The command lines of all that this program has started and that lives, without those named."""
        home = f"TAU_HOME={self.desk.tau.home}".encode()
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                ours = home in (folder / "environ").read_bytes().split(b"\0")
                dead = (folder / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
                if ours and not dead and int(folder.name) not in (self.seat.pid, os.getpid()):
                    command = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                    found.append(command.decode(errors="replace"))
            except OSError:  # it is gone
                continue
        return [command for command in found if not but or but not in command]

    def _open(self, port: int) -> Seat:
        tau = self.desk.tau
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
        return self.desk.start(*self.state.arguments, env=env, flags=flags)


def is_idle(rows: list[str]) -> bool:
    """Nothing runs, and the editor is there: the line above it names the model."""
    lines = [row for row in rows if row.startswith("─")]
    works = any((row and ord(row[0]) in _SPINNER) or "stops it" in row for row in rows)
    return len(lines) >= 2 and "fake-model" in lines[-2] and not works


@contextmanager
def full_port() -> Iterator[int]:
    """A port of this machine that accepts nobody: whoever connects waits for an answer."""
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
    """Whether somebody waits for an answer to their first packet to this port."""
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any(int(row[2].rpartition(":")[2], 16) == port and row[3] == "02" for row in rows)
