"""Nothing of a hostile repository runs: not when tau opens it, lists, reads, searches, completes or asks."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.program import FAKE, Program
from tests.safety.hostile_repository import STOLEN, HostileRepository, build
from tests.support.fake_answers import Answer, Call
from tests.support.fake_server import FakeServer
from tests.support.limits import HANG_S
from tests.support.pty_terminal import run_in_terminal

TAU = str(Path(sys.executable).with_name("tau"))
STRACE = shutil.which("strace")
EXECVE = re.compile(r'execve(?:at)?\((?:\w+, )?"((?:[^"\\]|\\.)*)".*= 0$')
SEE_S = 30.0
LOOKS = (
    Call("read", {"path": "."}),
    Call("read", {"path": "src/app.py"}),
    Call("read", {"path": "pipe.md"}),
    Call("read", {"path": "a.zip"}),
    Call("read", {"path": "b.db"}),
    Call("read", {"path": "a.zipx:y"}),
    Call("read", {"path": "x.pdf"}),
    Call("read", {"path": "e.docx"}),
    Call("read", {"path": "--pre=sh"}),
    Call("search", {"pattern": "needle"}),
    Call("find", {"paths": ["**/*.txt"]}),
    Call("ast_grep", {"pat": ["needle = $A"]}),
    Call("edit", {"path": "src/app.py", "old_string": "a", "new_string": "b"}),
    Call("write", {"path": "new.txt", "content": "x"}),
)


class Desk:
    """tau's own program in the hostile repository, watched by strace."""

    def __init__(self, program: Program, hostile: HostileRepository, folder: Path) -> None:
        self.program = program
        self.hostile = hostile
        self._log = folder / "execve"
        path = os.pathsep.join(("node_modules/.bin", ".", "bin", os.environ["PATH"]))
        self.env = {**os.environ, "PATH": path}

    def argv(self, *words: str) -> list[str]:
        watch = [STRACE, "-f", "-qq", "-e", "trace=execve,execveat", "-o", str(self._log)] if STRACE else []
        return [*watch, TAU, *words]

    def run(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        ran = subprocess.run(
            self.argv(*words),
            cwd=self.hostile.root,
            env=self.env,
            input=stdin.encode(),
            capture_output=True,
            timeout=HANG_S,
        )
        out, err = ran.stdout.decode(errors="replace"), ran.stderr.decode(errors="replace")
        assert "Traceback" not in err, err
        self.check()
        return subprocess.CompletedProcess(ran.args, ran.returncode, out, err)

    def check(self) -> None:
        """Nothing planted has run, and the address of the repository was not asked for anything."""
        assert self.hostile.signed() == []
        ran = self._log.read_text(errors="replace") if self._log.exists() else ""
        programs = [match[1] for line in ran.splitlines() if (match := EXECVE.search(line))]
        assert programs or not STRACE
        root = str(self.hostile.root)
        assert not [name for name in programs if not name.startswith("/") or name.startswith(root)]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with FakeServer() as server:
        yield Desk(Program(server, tmp_path), build(tmp_path), tmp_path)


def look_around(desk: Desk) -> None:
    desk.program.script(Answer(LOOKS), "done")


def test_print_mode(desk: Desk) -> None:
    look_around(desk)
    ran = desk.run(*FAKE, "-p", "look around")
    assert ran.stdout.strip() == "done"
    assert ran.stderr.count("trust") == 1 or "cannot be trusted" in ran.stderr
    assert len(desk.program.server.requests) == 2  # sent to the user's server, not the repository's
    assert STOLEN not in ran.stderr
    prompt = desk.program.server.requests[0].body["messages"][0]["content"]
    assert 'trusted="no"' in str(prompt)


def test_json_mode(desk: Desk) -> None:
    look_around(desk)
    ran = desk.run(*FAKE, "--mode", "json", "look around")
    assert '"text":"done"' in ran.stdout


def test_plain_mode_with_undo_and_export(desk: Desk, tmp_path: Path) -> None:
    look_around(desk)
    target = tmp_path / "out.html"
    lines = ("look around", "/session", "/tree", "/context", f"/export {target}", "/undo", "/trust")
    ran = desk.run(*FAKE, "--plain", stdin="\n".join(lines))
    assert "done" in ran.stdout and target.exists()


@pytest.mark.parametrize(
    "words",
    [
        ("config", "list"),
        ("config", "path", "--json"),
        ("read", "."),
        ("read", "src/app.py"),
        ("grep", "needle"),
        ("sessions",),
        ("sessions", "--all"),
        ("undo", "--list"),
        ("stats",),
        ("ssh", "list"),
        ("trust",),
        ("trust", "add"),
        ("trust", "list"),
        ("--list-models", "fake"),
        ("completions", "values", "settings"),
        ("completions", "values", "models"),
        ("completions", "values", "hosts"),
        ("completions", "values", "sessions"),
        ("completions", "values", "tools"),
        ("--help",),
    ],
    ids=" ".join,
)
def test_commands(desk: Desk, words: tuple[str, ...]) -> None:
    desk.run(*words)


def test_export_and_undo_of_a_stored_session(desk: Desk, tmp_path: Path) -> None:
    write = Call("write", {"path": "new.txt", "content": "x"})
    desk.program.script(Answer((Call("bash", {"command": "true"}), write)), "done")
    desk.run(*FAKE, "-p", "change it")
    for words in (("export", str(tmp_path / "x.md")), ("undo", "--dry-run"), ("undo",), ("sessions", "show")):
        desk.run(*words)
    assert not (desk.hostile.root / "new.txt").exists()


def test_interactive_mode_asks_first_and_runs_nothing(desk: Desk) -> None:
    for path in (desk.hostile.root / ".tau" / "commands" / "pipe.md",):
        path.unlink()  # what cannot be checked is reported, not asked about
    look_around(desk)
    term = run_in_terminal(desk.argv(*FAKE), desk.env, 120, 50, cwd=desk.hostile.root)
    try:
        screen = "\n".join(term.wait_for("Trust this repository?", SEE_S))
        assert "Do not trust it" in screen and ".claude/commands/go.md" in screen
        term.press("enter")
        term.wait_for("fake-model", SEE_S)
        term.wait_for("main*", SEE_S)
        term.type("@src/a")
        term.wait_for("app.py  src", SEE_S)
        term.press("escape")
        term.press("ctrl+u")
        term.type("look around")
        term.press("enter")
        term.wait_for("done", SEE_S)
        term.type("/trust")
        term.wait_for("/trust", SEE_S)
        term.press("enter")
        term.wait_for("Trust this repository?", SEE_S)
        term.press("escape")
        term.wait_for("Not trusted", SEE_S)
        term.press("ctrl+d")
        term.wait()
    finally:
        term.stop()
    desk.check()


def test_plain_mode_in_a_terminal_asks(desk: Desk) -> None:
    (desk.hostile.root / ".tau" / "commands" / "pipe.md").unlink()
    term = run_in_terminal(desk.argv(*FAKE, "--plain"), desk.env, 120, 50, cwd=desk.hostile.root)
    try:
        term.wait_for("3. Decide later", SEE_S)
        desk.check()
        term.type("2\r")
        term.wait_for("/help for help", SEE_S)
        term.type("/quit\r")
        term.wait()
    finally:
        term.stop()
    assert desk.hostile.signed(), "what the user trusts runs"
    ran = subprocess.run([TAU, "trust"], cwd=desk.hostile.root, env=desk.env, capture_output=True, text=True)
    assert "is trusted" in ran.stdout
