"""When tau asks: approvals, plan mode, and settings that cannot be read."""

from tests.e2e.interactive.desk import Desk, Seat
from tests.support.fake_answers import Call


def asked(desk: Desk) -> Seat:
    desk.settings(tools__approvalMode="ask")
    desk.tau.script(Call("bash", {"command": "touch made-$((1 + 1))"}), "After the question.")
    seat = desk.start().send("do it")
    seat.see("touch made-$((1 + 1))", "Allow once")
    return seat


def test_an_approval_is_no_by_default(desk: Desk) -> None:
    seat = asked(desk)
    seat.press("enter").see("After the question.")
    assert not (desk.tau.project / "made-2").exists()


def test_an_approval_that_is_given_runs_the_command(desk: Desk) -> None:
    seat = asked(desk)
    seat.until(lambda rows: any("❯" in row and "No" in row for row in rows), "the default")
    while not any("❯" in row and "Allow once" in row for row in seat.term.screen()):
        before = seat.term.screen()
        seat.press("up")
        seat.until(lambda rows, before=before: rows != before, "another row")  # type: ignore[misc]
    seat.press("enter").see("After the question.")
    assert (desk.tau.project / "made-2").exists()


def test_escape_at_an_approval_stops_the_agent(desk: Desk) -> None:
    seat = asked(desk)
    seat.press("escape").miss("Allow once")
    seat.see("Stopped")
    assert not (desk.tau.project / "made-2").exists()
    assert len(desk.tau.server.requests) == 1


def test_yolo_asks_nothing(desk: Desk) -> None:
    desk.tau.script(Call("bash", {"command": "touch made"}), "Done it.")
    desk.start("--yolo").send("do it").see("Done it.")
    assert (desk.tau.project / "made").exists()


def test_plan_mode_keeps_the_agent_from_changing_files(desk: Desk) -> None:
    desk.tau.script(Call("write", {"path": "a.txt", "content": "x"}), "I only looked.")
    seat = desk.start().send("/plan")
    seat.see("Plan mode on: the agent explores and writes a plan")
    seat.send("change it").see("I only looked.")
    assert not (desk.tau.project / "a.txt").exists()
    seat.send("/plan off").see("Plan mode off.")


def test_a_key_turns_plan_mode_on(desk: Desk) -> None:
    desk.start().press("alt+shift+p").see("Plan mode")


def test_bad_settings_are_one_sentence(desk: Desk) -> None:
    (desk.tau.home / "settings.json").write_text('{"theme": {"dark": 7}}')
    seat = desk.start(ready="")
    seat.see("settings.json")
    assert "Traceback" not in seat.told
