"""Approvals, plan mode, and unreadable settings."""

import json
import time

from tau.modes.interactive.dialogs.approval import IGNORE_LETTERS_S
from tests.e2e.interactive.launcher import Launcher, User
from tests.support.fake_answers import Call


def asked(launcher: Launcher) -> User:
    launcher.settings(tools__approvalMode="ask")
    launcher.tau.script(Call("bash", {"command": "touch made-$((1 + 1))"}), "After the question.")
    user = launcher.start().send("do it")
    user.see("touch made-$((1 + 1))", "Allow once")
    return user


def test_approval_defaults_to_no(launcher: Launcher) -> None:
    user = asked(launcher)
    user.press("enter").see("After the question.")
    assert not (launcher.tau.project / "made-2").exists()


def test_approved_command_runs(launcher: Launcher) -> None:
    user = asked(launcher)
    user.until(lambda rows: any("❯" in row and "No" in row for row in rows), "the default")
    while not any("❯" in row and "Allow once" in row for row in user.term.screen()):
        before = user.term.screen()
        user.press("up")
        user.until(lambda rows, before=before: rows != before, "another row")  # type: ignore[misc]
    user.press("enter").see("After the question.")
    assert (launcher.tau.project / "made-2").exists()


def test_escape_at_an_approval_stops_the_agent(launcher: Launcher) -> None:
    user = asked(launcher)
    user.press("escape").miss("Allow once")
    user.see("Stopped")
    assert not (launcher.tau.project / "made-2").exists()
    assert len(launcher.tau.server.requests) == 1


def test_yolo_asks_nothing(launcher: Launcher) -> None:
    launcher.tau.script(Call("bash", {"command": "touch made"}), "Done it.")
    launcher.start("--yolo").send("do it").see("Done it.")
    assert (launcher.tau.project / "made").exists()


def test_plan_mode_keeps_the_agent_from_changing_files(launcher: Launcher) -> None:
    launcher.tau.script(Call("write", {"path": "a.txt", "content": "x"}), "I only looked.")
    user = launcher.start().send("/plan")
    user.see("Plan mode on: the agent explores and writes a plan")
    user.send("change it").see("I only looked.")
    assert not (launcher.tau.project / "a.txt").exists()
    user.send("/plan off").see("Plan mode off.")


def test_key_toggles_plan_mode(launcher: Launcher) -> None:
    launcher.start().press("alt+shift+p").see("Plan mode")


def test_invalid_settings_are_one_sentence(launcher: Launcher) -> None:
    (launcher.tau.home / "settings.json").write_text('{"theme": {"dark": 7}}')
    user = launcher.start(ready="")
    user.see("settings.json")
    assert "Traceback" not in user.output


def test_key_changes_the_mode_while_a_call_waits(launcher: Launcher) -> None:
    user = asked(launcher)
    user.see("Alt+Shift+A changes the mode")
    user.press("alt+shift+a").see("Not allowed: plan mode is on.", "After the question.", "· plan mode")
    assert not (launcher.tau.project / "made-2").exists()
    user.press("alt+shift+a").see("Permission mode workspace")
    user.miss("· plan mode")


def test_mode_can_be_changed_by_command_while_the_agent_works(launcher: Launcher) -> None:
    launcher.settings(tools__approvalMode="ask")
    first, second = Call("bash", {"command": "touch one"}), Call("bash", {"command": "touch two"})
    launcher.tau.script(first, second, "Both made.")
    user = launcher.start().send("/permissions yolo")
    user.see("Permission mode yolo", "yolo mode")
    user.send("do it").see("Both made.")
    assert (launcher.tau.project / "one").exists() and (launcher.tau.project / "two").exists()


def test_mode_changed_while_a_turn_runs_holds_for_the_next_call(launcher: Launcher) -> None:
    """The running call keeps its permission; the status line shows the new mode at once."""
    waits = Call("bash", {"command": "touch begun; until [ -e go ]; do sleep 0.05; done"})
    launcher.tau.script(waits, Call("bash", {"command": "touch two"}), "After both.")
    user = launcher.start().send("do it")
    user.until(lambda _: (launcher.tau.project / "begun").exists(), "the first command")
    user.send("/permissions ask").see("Permission mode ask", "· ask mode")
    (launcher.tau.project / "go").write_text("")
    user.see("touch two", "Allow once")
    user.press("enter").see("After both.")
    assert not (launcher.tau.project / "two").exists()


def test_proposed_write_is_shown_once(launcher: Launcher) -> None:
    launcher.settings(tools__approvalMode="ask")
    content = "".join(f"proposed line {number}\n" for number in range(4))
    launcher.tau.script(Call("write", {"path": "a.txt", "content": content}), "After the question.")
    user = launcher.start().send("do it")
    rows = user.see("proposed line 3", "Allow once")
    for number in range(4):
        assert sum(f"proposed line {number}" in row for row in rows) == 1
    time.sleep(IGNORE_LETTERS_S)
    user.press("y").see("After the question.")
    assert user.output.count("proposed line 2") == 1


def test_long_request_is_allowed_only_after_its_end_was_on_the_screen(launcher: Launcher) -> None:
    launcher.settings(tools__approvalMode="ask")
    command = "\n".join(f"echo line-{number} >> made" for number in range(40))
    launcher.tau.script(Call("bash", {"command": command}), "After the question.")
    user = launcher.start().send("do it")
    user.see("line-0 ", "Allow once", "not shown")
    time.sleep(IGNORE_LETTERS_S)
    made = launcher.tau.project / "made"
    presses = 0
    while "not shown" in "\n".join(rows := user.term.screen()):
        assert not made.exists()
        user.press("y")
        presses += 1
        user.until(lambda now, before=rows: now != before, "the next page")  # type: ignore[misc]
    user.see("line-35 ", "line-39 ", "Allow once")
    assert presses > 1 and not made.exists()
    user.press("y").see("After the question.")
    assert made.read_text().count("\n") == 40


def test_refused_command_with_control_characters_is_shown_in_full(launcher: Launcher) -> None:
    launcher.tau.script(Call("bash", {"command": "echo ok \x1b];touch P;\x07 ; echo fine"}), "Refused.")
    user = launcher.start().send("do it")
    user.see("echo ok <U+001B>];touch P;<U+0007> ; echo fine", "control character", "Refused.")
    assert not (launcher.tau.project / "P").exists()


def test_project_can_deny_and_cannot_allow(launcher: Launcher) -> None:
    folder = launcher.tau.project / ".tau"
    folder.mkdir()
    rules = {"tools.allow": ["tool: *"], "tools.approvalMode": "yolo", "tools.deny": ["run: touch"]}
    (folder / "settings.json").write_text(json.dumps(rules))
    launcher.settings(tools__approvalMode="ask")
    launcher.tau.script(Call("bash", {"command": "touch made"}), Call("bash", {"command": "ls"}), "Over.")
    user = launcher.start().send("do it")
    user.see('the rule "run: touch" in tools.deny', "Allow once")
    user.press("enter").see("Over.")
    assert not (launcher.tau.project / "made").exists()
