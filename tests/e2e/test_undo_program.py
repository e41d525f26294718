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


def test_turn_is_undone_and_redone(tau: Program) -> None:
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


def test_user_changes_made_since_are_left_alone(tau: Program) -> None:
    tau.script(Call("write", {"path": "new.txt", "content": "new\n"}), "done")
    tau.ask("work")
    (tau.project / "new.txt").write_text("mine now\n")
    (tau.project / "foreign.txt").write_text("not the agent's\n")

    undone = tau.run("undo")

    assert undone.returncode == 1
    assert "new.txt" in undone.stdout
    assert contents(tau) == {"new.txt": "mine now\n", "foreign.txt": "not the agent's\n"}


def test_undo_claimed_that_no_file_changed_after_a_command_it_could_not_watch(tau: Program) -> None:
    (tau.project / "kept.txt").write_text("as it was\n")
    tau.script(Call("bash", {"command": "echo changed > kept.txt"}), "done")
    tau.ask("work")

    undone = tau.run("undo")

    assert undone.returncode == 2 and contents(tau) == {"kept.txt": "changed\n"}
    assert "A command ran outside the watched Git repositories" in undone.stderr


def test_undo_says_that_it_passes_over_a_later_session(tau: Program) -> None:
    tau.script(Call("write", {"path": "new.txt", "content": "new\n"}), "done")
    tau.ask("work")
    tau.script(Call("bash", {"command": "echo changed > kept.txt"}), "done")
    tau.ask("more")

    undone = tau.run("undo")

    assert contents(tau) == {"kept.txt": "changed\n"}
    assert "A later session has no recorded changes. A command ran outside" in undone.stderr
