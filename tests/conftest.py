"""What every test stands on: a home of its own, no keys, loopback only, nothing left running."""

import asyncio
import errno
import gc
import os
import shutil
import signal
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tau.base.late import late

weights = late("tau.ai.local.weights")

SOURCE = str(Path(__file__).resolve().parent.parent / "src" / "tau")
DROPPED_ENDINGS = ("_API_KEY", "_TOKEN", "_PROXY", "_BASE_URL", "_CA_BUNDLE", "_CA_CERTS")
DROPPED = {
    *("ANTHROPIC_MODEL", "OLLAMA_HOST", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "EDITOR", "VISUAL", "PAGER"),
    *("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"),  # children run as they do on a user's machine
}
LOCAL_NAMES = {None, "", "localhost", "::1", "0.0.0.0", "::"}

gc.set_threshold(20_000, 20, 20)  # a worker holds all tests; looking through them often costs minutes

settings.register_profile("tests", deadline=None, derandomize=True, database=None)
settings.register_profile("soak", deadline=None, max_examples=2000, database=None)


class NetworkUsed(AssertionError):
    """A test tried to reach another machine."""


class Harness:
    """One per test process: the folder that holds all homes, and what tests did that they must not do."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tau-tests-"))
        self.homes = 0
        self.offences: list[str] = []
        # Workers inherit the environment of the first process after it was scrubbed: hence the variable.
        own_cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        self.real_cache = Path(os.environ.setdefault("CACHE_OF_TESTER", own_cache))
        self.grace_seconds = 2.0

    def new_home(self) -> Path:
        self.homes += 1
        home = self.folder / f"h{self.homes}"
        home.mkdir()
        return home

    def enter(self, home: Path) -> None:
        """Make `home` the place of everything that a user owns, and forget who runs the tests."""
        for name in list(os.environ):
            if name.startswith("TAU_") or name in DROPPED or name.upper().endswith(DROPPED_ENDINGS):
                del os.environ[name]
        os.environ["HOME"] = str(home)
        os.environ["TAU_HOME"] = str(home / ".tau" / "agent")
        for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
            os.environ[f"XDG_{kind}_HOME"] = str(home / f"xdg-{kind.lower()}")
        os.environ["XDG_RUNTIME_DIR"] = str(home / "xdg-run")


HARNESS = Harness()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="run the long versions too (marked `soak`)")


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("soak" if config.getoption("--soak") else "tests")
    config.add_cleanup(gc.unfreeze)
    config.add_cleanup(lambda: shutil.rmtree(HARNESS.folder, ignore_errors=True))
    session_home = HARNESS.folder / "session"
    session_home.mkdir()
    HARNESS.enter(session_home)
    hear_interrupts()
    guard_network()
    guard_tasks()


def hear_interrupts() -> None:
    """A shell has what it starts in the background ignore interrupts, and so would every child of a test."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGQUIT) is signal.SIG_IGN:
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--soak"):
        return
    left_out = [item for item in items if item.get_closest_marker("soak")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("soak")]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests were skipped for each reason, wherever they are."""
    reasons = Counter(reason_of(report) for report in terminalreporter.stats.get("skipped", ()))
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"skipped {count}: {reason}")


def reason_of(skipped: pytest.TestReport | pytest.CollectReport) -> str:
    place = skipped.longrepr
    said = str(place[2] if isinstance(place, tuple) else place)
    return said.removeprefix("Skipped: ")


def pytest_collection_finish() -> None:
    """What was collected stays to the end: nobody has to look through it again."""
    gc.collect()
    gc.freeze()


def guard_network() -> None:
    """Refuse every connection and look-up that would leave this machine, from any thread."""
    lookup = socket.getaddrinfo

    def guarded(name: str) -> Any:
        original = getattr(socket.socket, name)

        def call(self: socket.socket, *args: Any) -> Any:
            address = args[-1]
            if self.family in (socket.AF_INET, socket.AF_INET6) and not is_local(address[0]):
                HARNESS.offences.append(f"it used the network: {name} to {address}")
                raise NetworkUsed(HARNESS.offences[-1])
            return original(self, *args)

        return call

    def local_lookup(host: Any, *args: Any, **kwargs: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if is_local(name) or is_numeric(name):
            return lookup(host, *args, **kwargs)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known (tests do not ask the network)")

    for name in ("connect", "connect_ex", "sendto"):
        setattr(socket.socket, name, guarded(name))
    socket.getaddrinfo = local_lookup


def is_local(host: str | None) -> bool:
    return host in LOCAL_NAMES or (
        host is not None and (host.startswith("127.") or host.endswith(".localhost"))
    )


def is_numeric(host: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except OSError:
            continue
        return True
    return False


def guard_tasks() -> None:
    """Note each task of tau's own code that is still there when an event loop is closed."""
    cancel_all = asyncio.runners._cancel_all_tasks  # type: ignore[attr-defined]

    def cancel_and_note(loop: asyncio.AbstractEventLoop) -> None:
        for task in asyncio.all_tasks(loop):
            code = getattr(task.get_coro(), "cr_code", None)
            if code is not None and code.co_filename.startswith(SOURCE):
                HARNESS.offences.append(f"it left a task: {code.co_qualname} in {code.co_filename}")
        cancel_all(loop)

    asyncio.runners._cancel_all_tasks = cancel_and_note  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def demo_weights() -> Path:
    """The demo model's weights in the cache of the person who runs the tests; `make test` fetches them."""
    pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")
    path: Path = weights.weights_path(HARNESS.real_cache / "tau")
    if not weights.is_whole(path):
        pytest.skip("the demo weights are not there; python -m tau.ai.local.weights fetches them")
    return path


@pytest.fixture(autouse=True)
def isolation() -> Iterator[None]:
    """A fresh home and environment before the test; nothing left behind after it."""
    environment, folder, children = dict(os.environ), Path.cwd(), child_pids()
    HARNESS.offences.clear()
    HARNESS.enter(HARNESS.new_home())
    yield
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    left = child_pids() - children
    if left:
        left = outlasting(left)
        HARNESS.offences += [f"it left a child process: {end(pid)}" for pid in sorted(left)]
    if HARNESS.offences:
        pytest.fail(
            "this test broke a rule of tests/conftest.py: " + "; ".join(HARNESS.offences), pytrace=False
        )


@pytest.fixture(autouse=True, scope="module")
def no_orphans() -> Iterator[None]:
    """Children of children are told by the home in their environment; too costly a look for each test."""
    yield
    marked = processes_of_tests()
    if marked:
        marked = outlasting(marked)
    if marked:
        ended = "; ".join(end(pid) for pid in sorted(marked))
        pytest.fail(f"tests of this module left processes running: {ended}", pytrace=False)


def child_pids() -> set[int]:
    """Our children, zombies included. One system call where there are none, which is nearly always."""
    if not hasattr(os, "waitid"):
        return set()
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return set()
    return {pid for pid in all_pids() if parent_of(pid) == os.getpid()}


def processes_of_tests() -> set[int]:
    mark = f"HOME={HARNESS.folder}/h".encode()
    return {pid for pid in all_pids() if pid != os.getpid() and mark in environ_of(pid)}


def all_pids() -> list[int]:
    try:
        return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    except FileNotFoundError:
        return []


def parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError as error:
        assert error.errno in (errno.ENOENT, errno.ESRCH, errno.EACCES), error
        return 0


def environ_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def outlasting(pids: set[int]) -> set[int]:
    """Those of `pids` that are still there after a while: an event loop reaps its children a little late."""
    end_time = time.monotonic() + HARNESS.grace_seconds
    while pids and time.monotonic() < end_time:
        time.sleep(0.01)
        pids = {pid for pid in pids if Path(f"/proc/{pid}").exists() and not is_reaped_orphan(pid)}
    return pids


def is_reaped_orphan(pid: int) -> bool:
    """Whether a process is dead and merely waits for a parent that is not us."""
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return True
    return state == "Z" and int(parent) != os.getpid()


def end(pid: int) -> str:
    """Kill a process that a test forgot, and say which it was."""
    try:
        command = (
            Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        )
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return f"pid {pid}"
    return f"pid {pid} ({command or 'already dead, never waited for'})"
