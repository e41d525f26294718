"""Edits of the real program: across a restart, and of several programs at once."""

import json
import os
import subprocess

import pytest

from tau.hashline.snapshots import tag_of
from tests.e2e.program import TAU, Program
from tests.support.fake_answers import Call

TEXT = "one\ntwo\nthree\n"


def test_tag_read_before_a_restart_was_refused_with_the_advice_to_use_that_tag(tau: Program) -> None:
    file = tau.project / "a.txt"
    file.write_text(TEXT)
    tau.script(Call("read", {"path": "a.txt"}), "seen")
    assert tau.ask("look").stdout == "seen\n"
    tau.script(Call("edit", {"input": f"¶a.txt#{tag_of(TEXT)}\nreplace 2..2:\n+TWO\n"}), "done")

    assert tau.ask("-c", "go on").stdout == "done\n"

    assert file.read_text() == "one\nTWO\nthree\n"


def test_resumed_session_knows_which_text_a_tag_was_for(tau: Program) -> None:
    """The digits of a tag are few: another text may have the same ones."""
    file = tau.project / "a.txt"
    file.write_text(TEXT)
    texts = (f"{number}\n" for number in range(1_000_000))
    other = next(text for text in texts if tag_of(text) == tag_of(TEXT))
    tau.script(Call("read", {"path": "a.txt"}), "seen")
    tau.ask("look")
    file.write_text(other)
    tau.script(Call("edit", {"input": f"¶a.txt#{tag_of(TEXT)}\nreplace 1..1:\n+TWO\n"}), "done")

    tau.ask("-c", "go on")

    assert file.read_text() == other
    results = [
        entry["message"]["content"][0]["text"]
        for entry in tau.sessions()[0]
        if entry["type"] == "message" and entry["message"]["role"] == "toolResult"
    ]
    assert f"a.txt has changed since #{tag_of(TEXT)} was shown" in results[-1], json.dumps(results)


def test_whole_file_written_after_a_restart_took_the_users_lines_with_it(tau: Program) -> None:
    file = tau.project / "a.txt"
    file.write_text(TEXT)
    tau.script(Call("read", {"path": "a.txt"}), "seen")
    tau.ask("look")
    file.write_text(f"{TEXT}mine\n")
    tau.script(Call("write", {"path": "a.txt", "content": "ONE\n"}, id="write"), "done")

    tau.ask("-c", "go on")

    assert file.read_text() == f"{TEXT}mine\n"
    result = tau.server.requests[-1].body["messages"][-1]["content"]
    assert "has changed on disk since you last saw it" in str(result)
    tau.script(Call("read", {"path": "a.txt"}), Call("write", {"path": "a.txt", "content": "ONE\n"}), "done")
    tau.ask("-c", "go on")
    assert file.read_text() == "ONE\n"


def test_unchanged_file_can_be_written_after_a_restart(tau: Program) -> None:
    file = tau.project / "a.txt"
    file.write_text(TEXT)
    tau.script(Call("read", {"path": "a.txt"}), "seen")
    tau.ask("look")
    tau.script(Call("write", {"path": "a.txt", "content": "ONE\n"}), "done")
    tau.ask("-c", "go on")
    tau.script(Call("write", {"path": "a.txt", "content": "TWO\n"}), "done")
    tau.ask("-c", "go on")
    assert file.read_text() == "TWO\n"


@pytest.mark.parametrize("runs", [6, pytest.param(48, marks=pytest.mark.soak)])
def test_concurrent_runs_of_tau_edit_threw_away_each_others_lines(tau: Program, runs: int) -> None:
    file = tau.project / "a.txt"
    file.write_text("".join(f"line {number};\n" for number in range(runs)))
    started = []
    for number in range(runs):
        edit = {"path": "a.txt", "old_text": f"line {number};", "new_text": f"new {number};"}
        process = subprocess.Popen(
            [*TAU, "edit"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            cwd=tau.project,
            env={**os.environ, "TAU_EDIT_MODE": "replace"},
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(edit).encode())
        process.stdin.close()
        started.append(process)

    assert [process.wait() for process in started] == [0] * runs
    assert file.read_text() == "".join(f"new {number};\n" for number in range(runs))
