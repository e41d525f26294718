"""Escape leads to idle from every state: reported correctly, with nothing lost and nothing left behind."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.backends.ssh.loopback import running_sshd
from tests.e2e.interactive.escape_rig import NEXT, STOPPED, Stage, full_port, is_dialled, is_idle
from tests.e2e.interactive.escape_states import BRANCH, DEAF, FOR_EVER, STATES, connecting, remote
from tests.e2e.interactive.launcher import Launcher
from tests.e2e.program import is_alive, wait_for
from tests.support.fake_answers import Call, Silence
from tests.support.limits import HANG_S

NOWHERE = 9
SLOW = Call("bash", {"command": "echo yes > started; until [ -e go ]; do sleep 0.02; done"})
DRAFT = "half a thought"


@pytest.mark.parametrize("name", STATES)
def test_escape_leads_to_idle(launcher: Launcher, name: str) -> None:
    stage = Stage(launcher, STATES[name], NOWHERE)
    stage.play()
    stop(stage)
    if STATES[name].provider == "fake":
        go_on(stage)


def test_escape_stops_a_connection_attempt(launcher: Launcher) -> None:
    with full_port() as port:
        stage = Stage(launcher, connecting(lambda: is_dialled(port)), port)
        stage.play()
        stop(stage)


def test_escape_stops_a_remote_command(launcher: Launcher) -> None:
    with running_sshd() as server:
        stage = Stage(launcher, remote(server), NOWHERE)
        stage.play()
        there = int(wait_for(stage.mark))
        stop(stage)
        until_gone(there)
        go_on(stage)


def test_escape_stops_a_branch_summary_and_returns_to_the_tree(launcher: Launcher) -> None:
    stage = Stage(launcher, BRANCH, NOWHERE)
    stage.play()
    stage.user.press("escape").miss("stops it")
    stage.user.see("Session tree")
    stage.user.press("escape").until(stage.rests, "rest")
    go_on(stage)


def test_ctrl_c_on_an_empty_editor_stops_like_escape(launcher: Launcher) -> None:
    stage = Stage(launcher, STATES["a command that is deaf"], NOWHERE)
    stage.play()
    stage.user.press("ctrl+c").see(STOPPED)
    stage.user.until(stage.rests, "rest")
    none_left(stage)
    go_on(stage)


def test_ctrl_c_clears_the_editor_first_and_the_agent_works_on(launcher: Launcher) -> None:
    stage = Stage(launcher, STATES["a stalled answer"], NOWHERE)
    stage.play()
    stage.user.write("not this").press("ctrl+c").see("Cleared")
    stage.user.editor_is("")
    stage.user.see("stops it")


def test_message_sent_while_the_agent_stops_goes_out_afterwards(launcher: Launcher) -> None:
    stage = Stage(launcher, STATES["a command that is deaf"], NOWHERE)
    stage.play()
    stage.user.press("escape")
    stage.user.send("do this instead")
    stage.user.see(STOPPED, NEXT)
    assert launcher.tau.user_messages() == ["go", "do this instead"]
    stage.user.until(stage.rests, "rest")
    stage.user.editor_is("")


def test_two_messages_sent_while_it_stops_go_out_in_order(launcher: Launcher) -> None:
    stage = Stage(launcher, STATES["a command that is deaf"], NOWHERE)
    stage.play()
    stage.user.press("escape")
    stage.user.send("first this").editor_is("")
    stage.user.send("then that")
    stage.user.see(NEXT)
    stage.user.until(
        lambda _: launcher.tau.user_messages() == ["go", "first this", "then that"], "both messages"
    )


def test_escape_stops_a_shell_command_and_the_agent_works_on(launcher: Launcher) -> None:
    launcher.tau.script(SLOW, "Work done.")
    user = launcher.start().send("work")
    wait_for(launcher.tau.project / "started")
    user.send("use blue").see("Next: use blue")
    user.send("!echo $$ > line; sleep 1000").see("Running your command")
    line = int(wait_for(launcher.tau.project / "line"))
    user.press("escape").see("Running bash", "Esc stops it", "Next: use blue")
    user.miss("Stopping")
    until_gone(line)
    user.editor_is("")
    (launcher.tau.project / "go").touch()
    user.see("Work done.")
    assert launcher.tau.user_messages()[-1] == "use blue"


def test_escape_stops_one_of_two_commands_and_says_the_other_still_runs(launcher: Launcher) -> None:
    user = launcher.start().send("!echo $$ > one; sleep 1001")
    first = int(wait_for(launcher.tau.project / "one"))
    user.send("!echo $$ > two; sleep 1002")
    second = int(wait_for(launcher.tau.project / "two"))
    user.press("escape")
    until_gone(second)
    user.see("  stopped", "Running your command", "Esc stops it")
    assert is_alive(first)
    user.press("escape").until(is_idle, "rest")
    until_gone(first)


def test_escape_at_a_question_stops_the_asking_agent_but_not_a_parallel_command(launcher: Launcher) -> None:
    launcher.tau.script(SLOW, Call("write", {"path": "/outside.txt", "content": "x"}), NEXT)
    user = launcher.start().send("work")
    wait_for(launcher.tau.project / "started")
    user.send("!echo $$ > line; sleep 1000")
    line = int(wait_for(launcher.tau.project / "line"))
    (launcher.tau.project / "go").touch()
    user.see("Allow once")
    user.press("escape").see(STOPPED, "Running your command")
    assert is_alive(line) and len(launcher.tau.server.requests) == 2
    user.press("escape").until(is_idle, "rest")
    until_gone(line)
    user.send("again").see(NEXT)


def test_remaining_command_line_messages_move_into_the_editor(launcher: Launcher) -> None:
    launcher.tau.script(Silence(after_events=3), NEXT)
    user = launcher.start("one", "two", "three")
    user.see("These words")
    user.press("escape").see(STOPPED)
    user.editor_is("two\n\nthree")
    assert len(launcher.tau.server.requests) == 1
    user.press("enter").see(NEXT)


def test_background_job_survives_escape_at_idle(launcher: Launcher) -> None:
    command = "echo $$ > job; sleep 1000"
    launcher.tau.script(Call("bash", {"command": command, "async": True}), "Begun.")
    user = launcher.start().send("go")
    job = int(wait_for(launcher.tau.project / "job"))
    user.see("Begun.")
    user.until(is_idle, "rest")
    user.press("escape").write("still here").see("1 running")
    assert is_alive(job)
    user.press("ctrl+c")
    assert user.leave() == 0
    until_gone(job)


@pytest.mark.parametrize("name", ["a cell that is deaf", "a command that is deaf"])
def test_quitting_at_once_leaves_nothing_behind(launcher: Launcher, name: str) -> None:
    stage = Stage(launcher, STATES[name], NOWHERE)
    stage.play()
    stage.user.press("escape", "ctrl+d")
    assert stage.user.term.wait() == 0
    none_left(stage, but="")


def test_cell_after_an_unresponsive_one_gets_a_new_kernel(launcher: Launcher) -> None:
    code = "import signal, time\nsignal.signal(2, signal.SIG_IGN)\nopen('begun', 'w').write('x')\n"
    deaf = Call("eval", {"cells": [{"language": "py", "code": f"{code}while True: time.sleep(1)"}]})
    after = Call("eval", {"cells": [{"language": "py", "code": "print(6 * 7)"}]})
    launcher.tau.script(deaf, after, "Both ran.")
    user = launcher.start().send("go")
    wait_for(launcher.tau.project / "begun")
    user.press("escape").see(STOPPED)
    user.send("again").see("The Python kernel was restarted: it had to be ended.", "42", "Both ran.")


def test_changes_of_a_stopped_command_can_be_undone(launcher: Launcher) -> None:
    file = launcher.tau.project / "a.txt"
    file.write_text("old\n")
    read = Call("read", {"path": "a.txt"})
    write = Call("bash", {"command": f"{DEAF}; echo new > a.txt; echo x > begun; {FOR_EVER}"})
    launcher.tau.script((read,), (write,), NEXT)
    user = launcher.start().send("go")
    wait_for(launcher.tau.project / "begun")
    user.press("escape").see(STOPPED)
    user.send("/undo").until(lambda _: file.read_text() == "old\n", "the old text")


def stop(stage: Stage) -> None:
    """Press Escape while the user types, and check the outcome."""
    state, user = stage.state, stage.user
    if state.writes:
        user.write(DRAFT[:6])
    user.press("escape")
    if state.writes:
        user.term.type(DRAFT[6:])
    rows = user.until(stage.rests, "rest")
    rows = user.see(*state.says)
    assert not any(text in row for text in state.never for row in rows)
    user.editor_is("\n\n".join(part for part in (state.queued, DRAFT if state.writes else "") if part))
    none_left(stage)


def go_on(stage: Stage) -> None:
    """The next message is answered, and the session is acceptable to a model."""
    user = stage.user
    if user.editor() == "/":
        user.press("backspace")
    if user.editor() in ("", "/"):
        user.write("and now").editor_is("and now")
    words = user.editor()
    user.press("enter").see(NEXT)
    assert stage.launcher.tau.user_messages()[-1] == words
    assert stage.launcher.tau.server.problems == []
    check_session(stage)


def check_session(stage: Stage) -> None:
    """Every call that was to run has one result after it."""
    (lines,) = stage.launcher.tau.sessions()
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


def wait_until(holds: Callable[[], bool], problem: Callable[[], str], seconds: float = HANG_S) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, problem()
        time.sleep(0.01)


def until_gone(pid: int) -> None:
    wait_until(
        lambda: not is_alive(pid), lambda: f"{pid} lives: {Path(f'/proc/{pid}/cmdline').read_bytes()!r}"
    )
