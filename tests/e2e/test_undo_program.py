"""`tau undo` after a run of the real program: files, shell commands, and back again."""

import subprocess

from tests.e2e.program import Program
from tests.support.fake_answers import Call


def repository(tau: Program) -> None:
    (tau.project / "kept.txt").write_text("as it was\n")
    (tau.project / "tracked.txt").write_text("tracked\n")
    for command in ("git init -q", "git add tracked.txt", "git -c user.name=a -c user.email=b commit -qm x"):
        subprocess.run(command.split(), cwd=tau.project, check=True)


def contents(tau: Program) -> dict[str, str]:
    return {path.name: path.read_text() for path in tau.project.iterdir() if path.is_file()}


def test_a_turn_is_taken_back_and_brought_again(tau: Program) -> None:
    repository(tau)
    before = contents(tau)
    tau.script(
        Call("write", {"path": "new.txt", "content": "new\n"}),
        Call("read", {"path": "kept.txt"}),
        Call("bash", {"command": "echo changed > kept.txt; rm tracked.txt"}),
        "done",
    )
    assert tau.ask("work").stdout == "done\n"
    after = contents(tau)
    assert after == {"new.txt": "new\n", "kept.txt": "changed\n"}

    undone = tau.run("undo")
    assert undone.returncode == 0, undone.stderr + undone.stdout
    assert contents(tau) == before
    assert "restored" in undone.stdout and "deleted" in undone.stdout

    assert tau.run("undo", "--redo").returncode == 0
    assert contents(tau) == after


def test_what_the_user_changed_since_is_left_alone(tau: Program) -> None:
    tau.script(Call("write", {"path": "new.txt", "content": "new\n"}), "done")
    tau.ask("work")
    (tau.project / "new.txt").write_text("mine now\n")
    (tau.project / "foreign.txt").write_text("not the agent's\n")

    undone = tau.run("undo")

    assert undone.returncode == 1
    assert "new.txt" in undone.stdout
    assert contents(tau) == {"new.txt": "mine now\n", "foreign.txt": "not the agent's\n"}
