"""`tau demo` from its start to its end, on a terminal and without one."""

from pathlib import Path

from tests.e2e.program import TAU, Program
from tests.support.pty_terminal import run_in_terminal


def test_the_demo_fixes_its_bug_and_leaves_nothing_behind(tau: Program, tmp_path: Path) -> None:
    place = tmp_path / "scratch"
    place.mkdir()
    before = sorted(tau.home.rglob("*"))
    env = {"TMPDIR": str(place)}
    with run_in_terminal([*TAU, "demo", "--fast"], env, 100, 60, cwd=tau.project) as term:
        assert term.wait() == 0
        told = "\n".join(term.tape())
    assert "the model is a script" in told
    assert told.index("FAILED (errors=1)") < told.index("Edit prices.py") < told.index("The test passes now.")
    assert "To start for real" in told
    assert "Traceback (most recent call last)" in told  # of the test that fails, inside its output
    assert not tau.server.requests
    assert list(place.iterdir()) == []
    assert sorted(tau.home.rglob("*")) == before
    assert not list(tau.project.iterdir())


def test_the_demo_can_be_left_at_any_time(tau: Program, tmp_path: Path) -> None:
    place = tmp_path / "scratch"
    place.mkdir()
    with run_in_terminal([*TAU, "demo"], {"TMPDIR": str(place)}, cwd=tau.project) as term:
        term.wait_for("the model is a script")
        term.press("ctrl+c", "ctrl+c")
        assert term.wait() == 0
    assert list(place.iterdir()) == []


def test_the_demo_needs_a_terminal(tau: Program) -> None:
    ran = tau.run("demo")
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1 and "terminal" in ran.stderr
    assert "--fast" in tau.run("demo", "slowly").stderr
    assert list(tau.project.iterdir()) == []
