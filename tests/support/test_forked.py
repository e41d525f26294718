"""A forked tau looks like an executed one to the processes around it."""

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.interactive.launcher import OK, Launcher
from tests.e2e.program import Program, wait_for
from tests.support import forked
from tests.support.fake_answers import Call
from tests.support.fake_server import FakeServer
from tests.support.forked import ForkServer
from tests.support.limits import HANG_S

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="tau is forked on Linux only")

COMMAND = "env | cut -d= -f1 > variables; echo yes > started; until [ -e go ]; do sleep 0.02; done"
SIGNALS = ("SigBlk", "SigIgn", "SigCgt", "ShdPnd")


@pytest.fixture(scope="module")
def forks() -> Iterator[ForkServer]:
    with ForkServer() as running:
        yield running


@pytest.fixture
def tau(tmp_path: Path) -> Iterator[Program]:
    with FakeServer() as server:
        yield Program(server, tmp_path)


def words_in(path: Path) -> list[bytes]:
    return [word for word in path.read_bytes().split(b"\0") if word]


def facts_of(pid: int) -> dict[str, object]:
    """What another process can find out, without numbers that differ each time."""
    folder = Path("/proc") / str(pid)
    stat = (folder / "stat").read_text().rpartition(")")[2].split()
    status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
    return {
        "arguments": words_in(folder / "cmdline"),
        "environment": sorted(words_in(folder / "environ")),
        "name": (folder / "comm").read_text(),
        "cwd": str((folder / "cwd").readlink()),
        "parent": int(stat[1]),
        "leads its group and session": (stat[2] == str(pid), stat[3] == str(pid)),
        "is the only foreground group": stat[5] == str(pid),
        "streams": [
            str((folder / f"fd/{n}").readlink()).partition("[")[0].rstrip("0123456789") for n in range(3)
        ],
        "signals": {name: status[name] for name in SIGNALS},
    }


def facts_of_print_mode(tau: Program) -> dict[str, object]:
    for name in ("started", "go"):
        (tau.project / name).unlink(missing_ok=True)
    tau.script(Call("bash", {"command": COMMAND}), "done")
    program = tau.start("-p", "go", env={**os.environ, "COLOR": "blau \udcff"})
    wait_for(tau.project / "started")
    facts = facts_of(program.pid)
    (tau.project / "go").touch()
    output = program.communicate(timeout=HANG_S)
    variables = (tau.project / "variables").read_text().split()
    return {
        **facts,
        "output": output,
        "code": program.returncode,
        "variables of a command": sorted(variables),
    }


def test_forked_program_looks_like_an_executed_one(tau: Program, forks: ForkServer) -> None:
    executed = facts_of_print_mode(tau)
    tau.forks = forks
    assert facts_of_print_mode(tau) == executed


def test_forked_program_in_a_terminal_looks_like_an_executed_one(tau: Program, forks: ForkServer) -> None:
    launcher = Launcher(tau)
    found = []
    for tau.forks in (None, forks):
        user = launcher.start().ask("hello", OK)
        found.append({**facts_of(user.pid), "code": user.leave()})
        user.term.stop()
    assert found[0] == found[1]


def test_program_is_executed_if_python_itself_reads_its_environment(tau: Program, forks: ForkServer) -> None:
    (tau.project / "sitecustomize.py").write_text("import sys; sys.stderr.write('read')")
    tau.forks = forks
    assert "read" not in tau.run("--version").stderr
    assert "read" in tau.run("--version", PYTHONPATH=str(tau.project)).stderr


def test_orphan_that_became_our_child_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    prctl = ctypes.CDLL(None).prctl
    prctl(forked.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        orphan = int(subprocess.check_output(["sh", "-c", "sleep 0.01 >/dev/null & echo $!"]))
    finally:
        prctl(forked.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    assert orphan in forked.children()
    monkeypatch.setattr(forked, "_adopted", {orphan})
    os.waitid(os.P_PID, orphan, os.WEXITED | os.WNOWAIT)
    forked.reap_adopted()
    assert not forked.adopted() and orphan not in forked.children()
