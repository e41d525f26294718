"""Escape leads to rest from every state: told in true words, with nothing lost and nothing left behind."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.backends.ssh.loopback import running_sshd
from tests.e2e.interactive.desk import Desk
from tests.e2e.interactive.escape_stage import NEXT, STOPPED, Stage, full_port, is_dialled, is_idle
from tests.e2e.interactive.escape_states import BRANCH, DEAF, FOR_EVER, STATES, connecting, remote
from tests.e2e.program import is_alive, wait_for
from tests.support.fake_answers import Call, Silence

NOWHERE = 9
SLOW = Call("bash", {"command": "echo yes > started; until [ -e go ]; do sleep 0.02; done"})
DRAFT = "half a thought"


@pytest.mark.parametrize("name", STATES)
def test_escape_leads_to_rest(desk: Desk, name: str) -> None:
    stage = Stage(desk, STATES[name], NOWHERE)
    stage.play()
    stop(stage)
    if STATES[name].provider == "fake":
        go_on(stage)


def test_escape_stops_a_connection_that_is_being_made(desk: Desk) -> None:
    with full_port() as port:
        stage = Stage(desk, connecting(lambda: is_dialled(port)), port)
        stage.play()
        stop(stage)


def test_escape_stops_a_command_on_another_machine(desk: Desk) -> None:
    with running_sshd() as server:
        stage = Stage(desk, remote(server), NOWHERE)
        stage.play()
        there = int(wait_for(stage.mark))
        stop(stage)
        until_gone(there)
        go_on(stage)


def test_escape_stops_the_summary_of_a_branch_and_leads_back_to_the_tree(desk: Desk) -> None:
    stage = Stage(desk, BRANCH, NOWHERE)
    stage.play()
    stage.seat.press("escape").miss("stops it")
    stage.seat.see("Session tree")
    stage.seat.press("escape").until(stage.rests, "rest")
    go_on(stage)


def test_ctrl_c_on_an_empty_editor_stops_as_escape_does(desk: Desk) -> None:
    stage = Stage(desk, STATES["a command that is deaf"], NOWHERE)
    stage.play()
    stage.seat.press("ctrl+c").see(STOPPED)
    stage.seat.until(stage.rests, "rest")
    none_left(stage)
    go_on(stage)


def test_ctrl_c_clears_the_editor_first_and_the_agent_works_on(desk: Desk) -> None:
    stage = Stage(desk, STATES["a stalled answer"], NOWHERE)
    stage.play()
    stage.seat.write("not this").press("ctrl+c").see("Cleared")
    stage.seat.editor_is("")
    stage.seat.see("stops it")


def test_what_is_sent_while_the_agent_stops_goes_out_when_it_has(desk: Desk) -> None:
    stage = Stage(desk, STATES["a command that is deaf"], NOWHERE)
    stage.play()
    stage.seat.press("escape")
    stage.seat.term.type("do this instead\r")
    stage.seat.see(STOPPED, NEXT)
    assert desk.tau.said() == ["go", "do this instead"]
    stage.seat.until(stage.rests, "rest")
    stage.seat.editor_is("")


def test_two_messages_that_are_sent_while_it_stops_go_out_in_order(desk: Desk) -> None:
    stage = Stage(desk, STATES["a command that is deaf"], NOWHERE)
    stage.play()
    stage.seat.press("escape")
    stage.seat.term.type("first this\rthen that\r")
    stage.seat.see(NEXT)
    stage.seat.until(lambda _: desk.tau.said() == ["go", "first this", "then that"], "both messages")


def test_escape_stops_a_line_of_the_shell_and_the_agent_beside_it_works_on(desk: Desk) -> None:
    desk.tau.script(SLOW, "Work done.")
    seat = desk.start().send("work")
    wait_for(desk.tau.project / "started")
    seat.send("use blue").see("Next: use blue")
    seat.send("!echo $$ > line; sleep 1000").see("Running your command")
    line = int(wait_for(desk.tau.project / "line"))
    seat.press("escape").see("Running bash", "Esc stops it", "Next: use blue")
    seat.miss("Stopping")
    until_gone(line)
    seat.editor_is("")
    (desk.tau.project / "go").touch()
    seat.see("Work done.")
    assert desk.tau.said()[-1] == "use blue"


def test_escape_stops_one_of_two_lines_and_says_that_the_other_runs(desk: Desk) -> None:
    seat = desk.start().send("!echo $$ > one; sleep 1001")
    first = int(wait_for(desk.tau.project / "one"))
    seat.send("!echo $$ > two; sleep 1002")
    second = int(wait_for(desk.tau.project / "two"))
    seat.press("escape")
    until_gone(second)
    seat.see("Running your command", "Esc stops it")
    assert is_alive(first)
    seat.press("escape").until(is_idle, "rest")
    until_gone(first)


def test_escape_at_a_question_stops_the_agent_that_asks_and_not_a_line_beside_it(desk: Desk) -> None:
    desk.tau.script(SLOW, Call("write", {"path": "/outside.txt", "content": "x"}), NEXT)
    seat = desk.start().send("work")
    wait_for(desk.tau.project / "started")
    seat.send("!echo $$ > line; sleep 1000")
    line = int(wait_for(desk.tau.project / "line"))
    (desk.tau.project / "go").touch()
    seat.see("Allow once")
    seat.press("escape").see(STOPPED, "Running your command")
    assert is_alive(line) and len(desk.tau.server.requests) == 2
    seat.press("escape").until(is_idle, "rest")
    until_gone(line)
    seat.send("again").see(NEXT)


def test_what_was_to_be_said_next_on_the_command_line_comes_into_the_editor(desk: Desk) -> None:
    desk.tau.script(Silence(after_events=3), NEXT)
    seat = desk.start("one", "two", "three")
    seat.see("These words")
    seat.press("escape").see(STOPPED)
    seat.editor_is("two\n\nthree")
    assert len(desk.tau.server.requests) == 1
    seat.press("enter").see(NEXT)


def test_a_job_in_the_background_outlives_escape_at_rest(desk: Desk) -> None:
    command = "echo $$ > job; sleep 1000"
    desk.tau.script(Call("bash", {"command": command, "async": True}), "Begun.")
    seat = desk.start().send("go")
    job = int(wait_for(desk.tau.project / "job"))
    seat.see("Begun.")
    seat.until(is_idle, "rest")
    seat.press("escape").write("still here").see("1 running")
    assert is_alive(job)
    seat.press("ctrl+c")
    assert seat.leave() == 0
    until_gone(job)


@pytest.mark.parametrize("name", ["a cell that is deaf", "a command that is deaf"])
def test_leaving_at_once_leaves_nothing_behind(desk: Desk, name: str) -> None:
    stage = Stage(desk, STATES[name], NOWHERE)
    stage.play()
    stage.seat.press("escape", "ctrl+d")
    assert stage.seat.term.wait() == 0
    none_left(stage, but="")


def test_a_cell_that_follows_one_that_would_not_stop_gets_a_new_kernel(desk: Desk) -> None:
    code = "import signal, time\nsignal.signal(2, signal.SIG_IGN)\nopen('begun', 'w').write('x')\n"
    deaf = Call("eval", {"cells": [{"language": "py", "code": f"{code}while True: time.sleep(1)"}]})
    after = Call("eval", {"cells": [{"language": "py", "code": "print(6 * 7)"}]})
    desk.tau.script(deaf, after, "Both ran.")
    seat = desk.start().send("go")
    wait_for(desk.tau.project / "begun")
    seat.press("escape").see(STOPPED)
    seat.send("again").see("The Python kernel was restarted: it had to be ended.", "42", "Both ran.")


def test_what_a_stopped_command_changed_can_be_undone(desk: Desk) -> None:
    file = desk.tau.project / "a.txt"
    file.write_text("old\n")
    read = Call("read", {"path": "a.txt"})
    write = Call("bash", {"command": f"{DEAF}; echo new > a.txt; echo x > begun; {FOR_EVER}"})
    desk.tau.script((read,), (write,), NEXT)
    seat = desk.start().send("go")
    wait_for(desk.tau.project / "begun")
    seat.press("escape").see(STOPPED)
    seat.send("/undo").until(lambda _: file.read_text() == "old\n", "the old text")


def stop(stage: Stage) -> None:
    """Press Escape while somebody writes, and look at what has become of it all."""
    state, seat = stage.state, stage.seat
    if state.writes:
        seat.write(DRAFT[:6])
    seat.press("escape")
    if state.writes:
        seat.term.type(DRAFT[6:])
    rows = seat.until(stage.rests, "rest")
    rows = seat.see(*state.says)
    assert not any(text in row for text in state.never for row in rows)
    seat.editor_is("\n\n".join(part for part in (state.queued, DRAFT if state.writes else "") if part))
    none_left(stage)


def go_on(stage: Stage) -> None:
    """The next message gets its answer, and the session is one that a model takes."""
    seat = stage.seat
    if seat.editor() == "/":
        seat.press("backspace")
    if seat.editor() in ("", "/"):
        seat.write("and now").editor_is("and now")
    words = seat.editor()
    seat.press("enter").see(NEXT)
    assert stage.desk.tau.said()[-1] == words
    assert stage.desk.tau.server.problems == []
    check_session(stage)


def check_session(stage: Stage) -> None:
    """Every call that was to run has one result, behind it."""
    (lines,) = stage.desk.tau.sessions()
    open_calls: list[str] = []
    for entry in lines:
        message = entry.get("message", {})
        if message.get("role") == "assistant" and message["stopReason"] not in ("aborted", "error"):
            assert open_calls == []
            open_calls = [part["id"] for part in message["content"] if part["type"] == "toolCall"]
        elif message.get("role") == "toolResult":
            open_calls.remove(message["toolCallId"])
    assert open_calls == []


def none_left(stage: Stage, but: str | None = None) -> None:
    allowed = stage.state.lives_on if but is None else but
    wait_until(lambda: not stage.processes(allowed), lambda: f"still there: {stage.processes(allowed)}")


def wait_until(holds: Callable[[], bool], problem: Callable[[], str], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, problem()
        time.sleep(0.01)


def until_gone(pid: int) -> None:
    wait_until(
        lambda: not is_alive(pid), lambda: f"{pid} lives: {Path(f'/proc/{pid}/cmdline').read_bytes()!r}"
    )
