"""A program for test processes: it has imported all of tau, and forks one for each request.

`fork_server.py FD ROOM` reads requests from that socket: a `ProgramStart` as JSON, with the standard streams.
The fork becomes a child of whoever asked, which adopts orphans meanwhile; the answer is its pid. To other
processes it looks as if it had been executed, with the command line, environment and folder of the request.
"""

import atexit
import ctypes
import gc
import json
import os
import signal
import socket
import sys
import threading
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import tau
from tau.cli.main import main as tau_main

MAX_REQUEST_BYTES = 1 << 18
READY = b"ready"
UNFLUSHED = 120
"""The exit code of a Python that could not write all of its output."""
ARG_START = 45
"""Where in /proc/self/stat, after the name, the ends of both blocks of memory are."""


@dataclass(frozen=True)
class ProgramStart:
    """`terminal` is the path of a terminal that becomes the controlling one, and all standard streams."""

    arguments: list[str]
    environment: dict[str, str]
    cwd: str
    new_session: bool = False
    terminal: str = ""


def rewrite(start: int, end: int, words: list[str]) -> None:
    """Replace what /proc shows of this process; `ForkServer` starts it with room for that."""
    text = b"".join(os.fsencode(word) + b"\0" for word in words)
    assert len(text) <= end - start, "ROOM is too small"
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, text, len(text))


def disguise(arguments: list[str], environment: dict[str, str]) -> None:
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    rewrite(int(fields[ARG_START]), int(fields[ARG_START + 1]), arguments)
    variables = [f"{name}={value}" for name, value in environment.items()]
    rewrite(int(fields[ARG_START + 2]), int(fields[ARG_START + 3]), variables)


def become(start: ProgramStart, streams: list[int]) -> None:
    """What `exec` and the interpreter's own start would have done."""
    if start.new_session:
        os.setsid()
    if start.terminal:
        streams = [*streams, os.open(start.terminal, os.O_RDWR)]  # the first one a session leader opens
    for number in range(3):
        os.dup2(streams[-1] if start.terminal else streams[number], number)
    for number in streams:
        os.close(number)
    os.chdir(start.cwd)
    os.environ.clear()
    os.environ.update(start.environment)
    time.tzset()
    disguise([sys.executable, "-m", "tau", *start.arguments], start.environment)
    sys.argv[1:] = start.arguments
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=stream.isatty() or stream is sys.stderr)  # type: ignore[union-attr]
    signal.signal(signal.SIGINT, signal.default_int_handler)


def fork_orphan() -> int:
    """Fork a grandchild, and return once it has lost its parent: its pid, or 0 in the grandchild itself."""
    told, telling = os.pipe()
    waiting, holding = os.pipe()
    parent = os.fork()
    if not parent:
        child = os.fork()
        if child:
            os.write(telling, child.to_bytes(4, "big"))
            os._exit(0)
        os.close(holding)
        os.read(waiting, 1)
        for number in (telling, told, waiting):
            os.close(number)
        return 0
    os.waitpid(parent, 0)
    pid = int.from_bytes(os.read(told, 4), "big")
    for number in (telling, told, waiting, holding):
        os.close(number)
    return pid


def serve(requests: socket.socket) -> bool:
    """Fork until nobody asks any more; true in the forked process, which is to run tau."""
    while True:
        data, streams, _, _ = socket.recv_fds(requests, MAX_REQUEST_BYTES, 3)
        if not data:
            return False
        pid = fork_orphan()
        if not pid:
            requests.close()
            become(ProgramStart(**json.loads(data)), streams)
            return True
        for number in streams:
            os.close(number)
        requests.send(str(pid).encode())


NOT_HERE = (
    "tau.__main__",  # the program itself
    "tau.modes.batch.harbor_agent",  # what Harbor imports
    *("tau.relay.channels.whatsapp", "tau.relay.channels.whatsapp_login"),  # Go's runtime takes signals
)


def prepare() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    for module in walk_packages(tau.__path__, "tau."):
        if module.name not in NOT_HERE:
            import_module(module.name)
    gc.collect()
    gc.freeze()


def leave(code: int) -> None:
    """Exit without freeing each object of everything that was imported, which takes longer than the rest."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = UNFLUSHED
    os._exit(code)


if __name__ == "__main__":
    asking = socket.socket(fileno=int(sys.argv[1]))
    prepare()
    asking.send(READY)
    if serve(asking):
        leave(tau_main())
