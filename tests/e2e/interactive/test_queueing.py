"""Messages while the agent works: steering, follow-ups, dequeued ones."""

from tests.e2e.interactive.launcher import Launcher
from tests.e2e.program import wait_for
from tests.support.fake_answers import Call, Silence

SLOW = Call("bash", {"command": "echo yes > started; until [ -e go ]; do sleep 0.02; done"})


def test_enter_steers_at_the_next_step(launcher: Launcher) -> None:
    launcher.tau.script(SLOW, "Steered.")
    user = launcher.start().send("work")
    wait_for(launcher.tau.project / "started")
    user.send("use blue").see("Next: use blue")
    (launcher.tau.project / "go").touch()
    user.see("Steered.")
    user.miss("Next: use blue")
    assert launcher.tau.user_messages() == ["work", "use blue"]
    assert len(launcher.tau.server.requests) == 2


def test_alt_enter_waits_for_the_end(launcher: Launcher) -> None:
    launcher.tau.script(SLOW, "Work done.", "Afterwards done.")
    user = launcher.start().send("work")
    wait_for(launcher.tau.project / "started")
    user.write("then test").press("alt+enter").see("Later: then test")
    (launcher.tau.project / "go").touch()
    user.see("Work done.", "Afterwards done.")
    assert launcher.tau.user_messages(1) == ["work"]
    assert launcher.tau.user_messages(2) == ["work", "then test"]


def test_alt_up_dequeues_the_last_message(launcher: Launcher) -> None:
    launcher.tau.script(Silence(after_events=3))
    user = launcher.start().send("work")
    user.see("These words")
    user.send("one").see("Next: one")
    user.send("two").see("Next: two")
    user.press("alt+up").miss("Next: two")
    user.see("Next: one")
    user.editor_is("two")


def test_queue_can_be_viewed_and_cleared(launcher: Launcher) -> None:
    launcher.tau.script(Silence(after_events=3))
    user = launcher.start().send("work")
    user.see("These words")
    user.send("one").see("Next: one")
    user.send("/queue").see("Queued messages:")
    user.send("/queue clear").see("1 message dropped.")
    user.miss("Next: one")


def test_command_that_needs_an_idle_agent_says_so_and_stays_typed(launcher: Launcher) -> None:
    launcher.tau.script(Silence(after_events=3))
    user = launcher.start().send("work")
    user.see("These words")
    user.send("/undo").see("The agent is working; Esc stops it.")
    user.editor_is("/undo")


def test_alt_up_with_an_empty_queue_says_so(launcher: Launcher) -> None:
    launcher.start().press("alt+up").see("The queue is empty.")
