"""`tau demo` from start to end, with and without a terminal."""

import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tau.modes.interactive.demo.script import REQUEST
from tests.e2e.program import TAU, Program
from tests.support.pty_terminal import PtyTerminal, run_in_terminal
from tests.support.terminal.virtual import VirtualTerminal

SCRIPTED = "─ scripted-demo"
CAST = Path(__file__).parents[2] / "docs" / "images" / "demo.cast"
HURRIED = (
    sys.executable,
    "-c",
    "import sys\n"
    "from tau.cli.main import main\n"
    "from tau.modes.interactive.demo import play, script\n"
    "play.READ_S, play.KEY_S, script.READ_S = 1.0, 0.03, 0.5\n"
    "sys.exit(main())",
)
DURATION = re.compile(r",? +\d[\d.]* m?s$")  # not shown for what takes no time


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where its temporary files go."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


@pytest.fixture
def demo(tau: Program, place: Path) -> Iterator[PtyTerminal]:
    """At the pace of a person in a hurry, on a screen that shows everything."""
    with run_in_terminal([*HURRIED, "demo"], {"TMPDIR": str(place)}, 100, 60, cwd=tau.project) as term:
        term.wait_for("the model and the typing are scripted")
        yield term


def test_demo_fixes_its_bug_and_leaves_nothing_behind(tau: Program, place: Path) -> None:
    before = sorted(tau.home.rglob("*"))
    env = {"TMPDIR": str(place)}
    with run_in_terminal([*TAU, "demo", "--fast"], env, 100, 60, cwd=tau.project) as term:
        assert term.wait() == 0
        reported = "\n".join(term.tape())
    assert "the model and the typing are scripted" in reported
    assert (
        reported.index("FAILED (errors=1)")
        < reported.index("Edit prices.py")
        < reported.index("The test passes now.")
    )
    assert "To start for real" in reported
    assert "Traceback (most recent call last)" in reported  # of the test that fails, inside its output
    assert not tau.server.requests
    assert list(place.iterdir()) == []
    assert sorted(tau.home.rglob("*")) == before
    assert not list(tau.project.iterdir())


def test_recording_matches_the_demo(tau: Program, place: Path) -> None:
    """After a change: run `make screenshots`."""
    header, *events = map(json.loads, CAST.read_text(encoding="utf-8").splitlines())
    player = VirtualTerminal(header["width"], header["height"])
    for _, _, text in events:
        player.write(text)
    size = (header["width"], header["height"])
    with run_in_terminal([*TAU, "demo", "--fast"], {"TMPDIR": str(place)}, *size, cwd=tau.project) as term:
        assert term.wait() == 0
        played = term.tape()
    recorded = headings(player.tape())
    end = next(number for number, row in enumerate(recorded) if row.startswith(SCRIPTED))
    assert recorded[:end] == headings(played)[:end]


def headings(rows: list[str]) -> list[str]:
    """What people and agents said and did, without the output of commands and without durations."""
    return [DURATION.sub("", row) for row in rows if row and not row.startswith(" ")]


@pytest.mark.parametrize("moment", ["the model and the typing are scripted", REQUEST[:9]])
def test_demo_can_be_left_at_any_time(demo: PtyTerminal, place: Path, moment: str) -> None:
    demo.wait_for(moment)
    assert list(place.iterdir())
    demo.press("ctrl+c", "ctrl+c")
    assert demo.wait() == 0
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(
    ("moment", "number", "code", "pace"),
    [
        ("the model and the typing are scripted", signal.SIGHUP, 129, ()),
        ("Running bash", signal.SIGTERM, 143, ("--fast",)),
    ],
    ids=["before it types", "while it runs a command"],
)
def test_signal_ends_the_demo_and_removes_its_folder(
    tau: Program, place: Path, moment: str, number: signal.Signals, code: int, pace: tuple[str, ...]
) -> None:
    env = {"TMPDIR": str(place)}
    with run_in_terminal([*TAU, "demo", *pace], env, 100, 60, cwd=tau.project) as demo:
        demo.wait_for(moment)
        os.kill(demo.process.pid, number)
        assert demo.wait() == code
        assert list(place.iterdir()) == []
        assert "Traceback" not in "\n".join(demo.tape())


def test_signal_before_the_first_paint_leaves_nothing_behind(tau: Program, place: Path) -> None:
    with run_in_terminal([*TAU, "demo"], {"TMPDIR": str(place)}, cwd=tau.project) as term:
        term.wait_until(lambda _: any(place.iterdir()), what="its folder")
        os.kill(term.process.pid, signal.SIGTERM)
        assert term.wait() == 143
    assert list(place.iterdir()) == []


def test_text_typed_during_the_demo_is_kept(demo: PtyTerminal) -> None:
    demo.wait_for(SCRIPTED)
    demo.wait_for(REQUEST[:5])
    demo.type("hello!")
    demo.wait_for(f"❯ {REQUEST}")
    rows = demo.wait_for("I'll run the tests")
    assert any(row.startswith("❯ hello!") for row in rows)
    assert any(SCRIPTED in row for row in rows)  # it says so all the time
    demo.press("escape")
    demo.wait_for("Stopped")
    demo.wait_for("To start for real")


def test_demo_needs_a_terminal(tau: Program) -> None:
    ran = tau.run("demo")
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1 and "terminal" in ran.stderr
    assert "--fast" in tau.run("demo", "slowly").stderr
    assert list(tau.project.iterdir()) == []
