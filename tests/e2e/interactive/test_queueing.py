"""Messages while the agent works: the next step, afterwards, taken back."""

from tests.e2e.interactive.desk import Desk
from tests.e2e.program import wait_for
from tests.support.fake_answers import Call, Silence

SLOW = Call("bash", {"command": "echo yes > started; until [ -e go ]; do sleep 0.02; done"})


def test_enter_steers_at_the_next_step(desk: Desk) -> None:
    desk.tau.script(SLOW, "Steered.")
    seat = desk.start().send("work")
    wait_for(desk.tau.project / "started")
    seat.send("use blue").see("Next: use blue")
    (desk.tau.project / "go").touch()
    seat.see("Steered.")
    seat.miss("Next: use blue")
    assert desk.tau.said() == ["work", "use blue"]
    assert len(desk.tau.server.requests) == 2


def test_alt_enter_waits_for_the_end(desk: Desk) -> None:
    desk.tau.script(SLOW, "Work done.", "Afterwards done.")
    seat = desk.start().send("work")
    wait_for(desk.tau.project / "started")
    seat.write("then test").press("alt+enter").see("Afterwards: then test")
    (desk.tau.project / "go").touch()
    seat.see("Work done.", "Afterwards done.")
    assert desk.tau.said(1) == ["work"]
    assert desk.tau.said(2) == ["work", "then test"]


def test_alt_up_takes_back_the_last_one(desk: Desk) -> None:
    desk.tau.script(Silence(after_events=3))
    seat = desk.start().send("work")
    seat.see("These words")
    seat.send("one").see("Next: one")
    seat.send("two").see("Next: two")
    seat.press("alt+up").miss("Next: two")
    seat.see("Next: one")
    seat.editor_is("two")


def test_the_queue_can_be_seen_and_cleared(desk: Desk) -> None:
    desk.tau.script(Silence(after_events=3))
    seat = desk.start().send("work")
    seat.see("These words")
    seat.send("one").see("Next: one")
    seat.send("/queue").see("Queued messages:")
    seat.send("/queue clear").see("1 message dropped.")
    seat.miss("Next: one")


def test_a_command_that_needs_rest_says_so_and_is_typed_again(desk: Desk) -> None:
    desk.tau.script(Silence(after_events=3))
    seat = desk.start().send("work")
    seat.see("These words")
    seat.send("/undo").see("The agent is working; Esc stops it.")
    seat.editor_is("/undo")


def test_alt_up_with_nothing_waiting_says_so(desk: Desk) -> None:
    desk.start().press("alt+up").see("The queue is empty.")
