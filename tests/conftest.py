"""Shared fixtures: each test gets its own home, no keys, loopback only, and must leave nothing running."""

import asyncio
import errno
import gc
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import settings

from tau.base import secrets
from tau.base.late import late
from tau.base.sizes import MIB
from tests.support import forked, memory
from tests.support.forked import ForkServer

weights = late("tau.ai.local.weights")

SOURCE = str(Path(__file__).resolve().parent.parent / "src" / "tau")
DROPPED_ENDINGS = ("_API_KEY", "_TOKEN", "_PROXY", "_BASE_URL", "_CA_BUNDLE", "_CA_CERTS")
DROPPED = {
    *("ANTHROPIC_MODEL", "OLLAMA_HOST", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "EDITOR", "VISUAL", "PAGER", "SHELL"),
    *("LC_ALL", "LC_CTYPE"),
    *("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"),  # children run as they do on a user's machine
}
MAX_HELD_S = 0.1
MAX_AGE_S = 0.002  # of a reading of the clock; makes the limit that much stricter, at most
MAX_KEPT_BYTES = MIB
HELD_RUNS = 3  # noise looks like a held loop once, code that holds it does every time
LOCAL_NAMES = {None, "", "localhost", "::1", "0.0.0.0", "::"}

wall_clock = time.monotonic  # tests may replace the original
gc.set_threshold(20_000, 20, 20)  # a worker holds all tests; collecting often would cost minutes

settings.register_profile("tests", deadline=None, max_examples=30, derandomize=True, database=None)
settings.register_profile("soak", deadline=None, max_examples=2000, database=None)


class NetworkUsed(AssertionError):
    """A test tried to reach another machine."""


class Harness:
    """One per test process: the folder of all homes, and the rules a test has broken."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tau-tests-"))
        self.in_memory = False
        self.kept_bytes = 0
        self.homes = 0
        self.offences: list[str] = []
        self.held: list[str] = []
        self.only_held = False  # the only rule that the last test broke
        # Workers inherit the scrubbed environment of the first process, hence the variable.
        own_cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        self.real_cache = Path(os.environ.setdefault("CACHE_OF_TESTER", own_cache))
        self.grace_seconds = 20.0  # spent only on what is about to fail

    def free(self, *folders: Path) -> None:
        """Remove what a test wrote into memory, if it is much."""
        used = memory.used_bytes(self.folder)
        if used > self.kept_bytes + MAX_KEPT_BYTES:
            for folder in folders:
                shutil.rmtree(folder, ignore_errors=True)
            self.kept_bytes = memory.used_bytes(self.folder)

    def remove(self) -> None:
        if self.in_memory:
            memory.forget(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)

    def new_home(self) -> Path:
        self.homes += 1
        home = self.folder / f"h{self.homes}"
        home.mkdir()
        return home

    def enter(self, home: Path) -> None:
        """Make `home` the user's home, and drop the environment of whoever runs the tests."""
        for name in list(os.environ):
            if name.startswith("TAU_") or name in DROPPED or name.upper().endswith(DROPPED_ENDINGS):
                del os.environ[name]
        os.environ["LANG"] = "C.UTF-8"
        os.environ["TAU_BROWSER_PATH"] = "/nonexistent/chromium"  # sessions have the same tools everywhere
        own = str(Path(sys.prefix, "bin"))  # of an activated environment, which has debugpy
        os.environ["PATH"] = os.pathsep.join(
            place for place in os.environ["PATH"].split(os.pathsep) if place != own
        )
        os.environ["HOME"] = str(home)
        os.environ["TAU_HOME"] = str(home / ".tau" / "agent")
        for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
            os.environ[f"XDG_{kind}_HOME"] = str(home / f"xdg-{kind.lower()}")
        os.environ["XDG_RUNTIME_DIR"] = str(home / "xdg-run")


HARNESS = Harness()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="run the long versions too (marked `soak`)")
    parser.addoption("--on-disk", action="store_true", help="keep what tests write on the disk")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("soak" if config.getoption("--soak") else "tests")
    config.add_cleanup(gc.unfreeze)
    config.add_cleanup(HARNESS.remove)
    if not config.getoption("--on-disk") and memory.separate() and memory.keep(HARNESS.folder):
        HARNESS.in_memory = True
        config.option.basetemp = str(HARNESS.folder / "tmp")  # the parent of each `tmp_path`
    session_home = HARNESS.folder / "session"
    session_home.mkdir()
    HARNESS.enter(session_home)
    hear_interrupts()
    guard_network()
    guard_tasks()
    guard_event_loop()


def hear_interrupts() -> None:
    """Restore default signals: shells and nohup make jobs ignore some, and children inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--soak"):
        return
    left_out = [item for item in items if item.get_closest_marker("soak")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("soak")]


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test again if all that is wrong is that it held the event loop: it must do so every time."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for left in reversed(range(HELD_RUNS)):
        HARNESS.only_held = False
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        passed = all(report.passed for report in reports if report.when != "teardown")
        if not left or not passed or not HARNESS.only_held:
            break
        item._initrequest()  # type: ignore[attr-defined]
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many tests were skipped for each reason, and the longest times that tests measured."""
    reasons = Counter(reason_of(report) for report in terminalreporter.stats.get("skipped", ()))
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"skipped {count}: {reason}")
    longest: dict[str, float] = {}
    for report in terminalreporter.stats.get("passed", ()):
        for name, value in report.user_properties:
            longest[name] = max(longest.get(name, 0), float(value))
    for name, most in sorted(longest.items()):
        terminalreporter.write_line(f"longest {name}: {most:.2f}")


def reason_of(skipped: pytest.TestReport | pytest.CollectReport) -> str:
    place = skipped.longrepr
    message = str(place[2] if isinstance(place, tuple) else place)
    return message.removeprefix("Skipped: ")


def pytest_collection_finish() -> None:
    """Collected tests live to the end: keep the garbage collector away from them."""
    gc.collect()
    gc.freeze()


def guard_network() -> None:
    """Refuse every connection and lookup that would leave this machine, from any thread."""
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
    """Record each task of tau's code that is still pending when an event loop closes."""
    cancel_all = asyncio.runners._cancel_all_tasks  # type: ignore[attr-defined]

    def cancel_and_note(loop: asyncio.AbstractEventLoop) -> None:
        for task in asyncio.all_tasks(loop):
            code = getattr(task.get_coro(), "cr_code", None)
            if code is not None and code.co_filename.startswith(SOURCE):
                HARNESS.offences.append(f"it left a task: {code.co_qualname} in {code.co_filename}")
        cancel_all(loop)

    asyncio.runners._cancel_all_tasks = cancel_and_note  # type: ignore[attr-defined]


class ThreadClock(threading.local):
    """CPU time of the thread that asks, without what it spent on garbage collection.

    Each thread has its own count: a collection in one thread can be interrupted by a callback of another.
    """

    collecting_s = 0.0
    _asked_at = -1.0
    _recent_s = 0.0

    def leave_out(self, phase: str, _: dict[str, int]) -> None:
        """A callback of `gc.callbacks`; both phases of a collection run in one thread."""
        self.collecting_s += time.thread_time() * (1 if phase == "stop" else -1)

    def seconds(self) -> float:
        return time.thread_time() - self.collecting_s

    def recent_s(self) -> float:
        """The same, as it was a moment ago: asking the system costs more than most callbacks."""
        now = wall_clock()
        if now - self._asked_at > MAX_AGE_S:
            self._asked_at, self._recent_s = now, self.seconds()
        return self._recent_s


def guard_event_loop() -> None:
    """Record each callback that held an event loop: no key, no Escape, no other task gets through meanwhile.

    Measured in CPU time of the thread, so a busy machine fails no test. Garbage collection does not count: a
    worker holds the objects of all tests. A callback that imported modules is not judged: that happens once
    per process. The loop of a fake server is not tau's. Tests that hold the loop on purpose are marked
    `holds_loop`.
    """
    handle: Any = asyncio.Handle
    run = handle._run
    clock = ThreadClock()

    def run_and_measure(self: Any) -> None:
        count, began, began_at = len(sys.modules), clock.recent_s(), wall_clock()
        run(self)
        if wall_clock() - began_at < MAX_HELD_S:
            return
        held_s = clock.seconds() - began
        is_ours = threading.current_thread().name != "fake-server"
        if held_s > MAX_HELD_S and len(sys.modules) == count and is_ours:
            task = getattr(self._callback, "__self__", None)
            what = task.get_coro() if isinstance(task, asyncio.Task) else self
            HARNESS.held.append(f"it held the event loop for {held_s * 1000:.0f} ms of CPU: {what!r}")

    gc.callbacks.append(clock.leave_out)
    handle._run = run_and_measure


@pytest.fixture(scope="session")
def demo_weights() -> Path:
    """The demo model's weights in the real user's cache; `make test` downloads them."""
    pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")
    path: Path = weights.weights_path(HARNESS.real_cache / "tau")
    if not weights.is_whole(path):
        pytest.skip("the demo weights are not there; python -m tau.ai.local.weights fetches them")
    return path


@pytest.fixture(scope="session")
def forks(request: pytest.FixtureRequest) -> Iterator[ForkServer | None]:
    """Modules that are about the start itself replace this by nothing."""
    if not sys.platform.startswith("linux") or request.config.getoption("--soak"):
        yield None
        return
    with ForkServer() as running:
        yield running


@pytest.fixture(autouse=True)
def isolation(request: pytest.FixtureRequest) -> Iterator[None]:
    """A fresh home and environment before the test; no leftovers after it."""
    environment, folder, children = dict(os.environ), Path.cwd(), child_pids()
    HARNESS.offences.clear()
    HARNESS.held.clear()
    home = HARNESS.new_home()
    HARNESS.enter(home)
    secrets.forget()
    yield
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    forked.reap_adopted()
    left = child_pids() - children - forked.adopted()
    if left:
        left = outlasting(left)
        HARNESS.offences += [f"it left a child process: {end(pid)}" for pid in sorted(left)]
    if HARNESS.in_memory:
        HARNESS.free(home, request.node.funcargs.get("tmp_path", home))
    if request.node.get_closest_marker("holds_loop") is None:
        HARNESS.only_held = bool(HARNESS.held) and not HARNESS.offences
        HARNESS.offences += HARNESS.held
    if HARNESS.offences:
        pytest.fail(
            "this test broke a rule of tests/conftest.py: " + "; ".join(HARNESS.offences), pytrace=False
        )


@pytest.fixture(autouse=True, scope="module")
def no_orphans() -> Iterator[None]:
    """Find orphans by the home in their environment; too slow to do after each test."""
    yield
    marked = processes_of_tests()
    if marked:
        marked = outlasting(marked)
    if marked:
        ended = "; ".join(end(pid) for pid in sorted(marked))
        pytest.fail(f"tests of this module left processes running: {ended}", pytrace=False)


def child_pids() -> set[int]:
    """Our children, including zombies. A single system call if there are none, which is the usual case."""
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
    """Those of `pids` that survive a grace period, since an event loop reaps its children a little late."""
    end_time = time.monotonic() + HARNESS.grace_seconds
    while pids and time.monotonic() < end_time:
        time.sleep(0.01)
        pids = {pid for pid in pids if Path(f"/proc/{pid}").exists() and not is_reaped_orphan(pid)}
    return pids


def is_reaped_orphan(pid: int) -> bool:
    """Whether a process is dead and only waits for a parent other than us."""
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return True
    return state == "Z" and int(parent) != os.getpid()


def end(pid: int) -> str:
    """Kill a leftover process and describe it."""
    try:
        command = (
            Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        )
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return f"pid {pid}"
    return f"pid {pid} ({command or 'already dead, never waited for'})"
