"""The approval dialog: what it shows, its answers, and their effect."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from tau.agent.effects import Effects
from tau.ai.faux import Say, Use
from tau.coding.approval.permissions import Permissions
from tau.coding.approval.policy import Workspace, decide
from tau.coding.approval.request import ApprovalRequest
from tau.coding.approval.request_text import MAX_SHOWN_CHARS
from tau.coding.approval.session_permissions import RuleStore
from tau.config.paths import user_paths
from tau.modes.interactive.dialogs.approval import IGNORE_KEYS_S, IGNORE_LETTERS_S
from tau.tui.text.width import visible_width
from tests.modes.interactive.rig import Rig, rigged, run

ASK = {"tools.approvalMode": "ask"}


def tool_result(rig: Rig, request: int = 1) -> str:
    """The tool result the model got."""
    message = rig.faux.requests[request].messages[-1]
    return str(message.content)


async def answer(rig: Rig, letter: str) -> None:
    """Type it, once letters are accepted."""
    rig.skip(IGNORE_LETTERS_S)
    await rig.type(letter)


def offered(rig: Rig) -> list[str]:
    """The letters of the question on the screen."""
    return [found[1] for row in rig.terminal.screen() if (found := re.match(r"[❯ ] \[(.)\] ", row))]


def test_command_is_shown_in_full_and_enter_alone_declines(tmp_path: Path) -> None:
    async def test() -> None:
        answers = [[Use("bash", command="touch made && echo done")], [Say("All right.")]]
        async with rigged(tmp_path, answers, settings=ASK) as rig:
            await rig.send("go")
            shown = await rig.show("Allow this command?")
            assert "│ touch made && echo done" in shown
            assert "[y] Allow once" in shown and "No, and tell the agent why" in shown
            selected = [row for row in rig.terminal.screen() if row.startswith("❯")][-1]
            assert selected.endswith("No")
            await rig.press("enter")
            shown = await rig.show("All right.")
            assert not (tmp_path / "made").exists()
            assert "The user declined this call" in tool_result(rig)
            rows = [row.rstrip() for row in shown.split("\n")]
            assert "! $ touch made && echo done" in rows  # neither a failure nor a duration
            assert rows[rows.index("! $ touch made && echo done") + 1] == "  You declined."

    run(test)


def test_once_and_session_scopes(tmp_path: Path) -> None:
    async def test() -> None:
        call = [Use("bash", command="echo x >> made")]
        answers = [call, call, call, [Say("Done.")]]
        async with rigged(tmp_path, answers, settings=ASK) as rig:
            await rig.send("go")
            await rig.show("Allow this command?")
            await answer(rig, "y")
            await rig.until(
                lambda: len(rig.faux.requests) == 2 and rig.parts.dialogs.open, "the second question"
            )
            assert "Covers this exact command." in await rig.show("[s] Allow for this session")
            await rig.press("enter")  # a key that comes too soon was meant for the previous question
            rig.skip(IGNORE_KEYS_S)
            assert rig.parts.dialogs.open
            await answer(rig, "s")
            await rig.show("Done.")
            assert (tmp_path / "made").read_text() == "x\n" * 3
            assert not rig.parts.dialogs.open

    run(test)


def test_letters_mean_the_same_in_every_question_and_digits_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        plain, bent = "git status", "git status $(touch made)"
        answers = [[Use("bash", command=plain)], [Use("bash", command=bent)], [Say("Over.")]]
        async with rigged(tmp_path, answers, settings=ASK) as rig:
            rig.session.permissions.store = RuleStore()
            await rig.send("go")
            await rig.show("Allow this command?")
            assert offered(rig) == ["y", "s", "a", "n", "w"]
            rig.skip(IGNORE_LETTERS_S)
            for digit in "12345":
                await rig.type(digit)
            assert rig.parts.dialogs.open
            await rig.type("n")
            await rig.show("touch made")
            assert offered(rig) == ["y", "s", "n", "w"]
            await answer(rig, "a")  # not offered here, so it does nothing
            assert rig.parts.dialogs.open
            await rig.type("N")
            await rig.show("Over.")
            assert not (tmp_path / "made").exists()

    run(test)


def test_typing_ahead_does_not_answer_the_question(tmp_path: Path) -> None:
    async def test() -> None:
        answers = [[Use("bash", command="touch made")], [Say("All right.")]]
        async with rigged(tmp_path, answers, settings=ASK) as rig:
            await rig.send("go")
            await rig.until(lambda: rig.parts.dialogs.open, "the question")
            for part in ("yes", " ", "and", " also"):
                await rig.type(part)
                rig.skip(IGNORE_LETTERS_S / 2)
            assert rig.parts.dialogs.open
            assert rig.front.editor.text == "yes and also"
            await answer(rig, "n")
            await rig.show("All right.")
            assert not (tmp_path / "made").exists()
            assert rig.front.editor.text == "yes and also"

    run(test)


def test_refusal_can_be_explained(tmp_path: Path) -> None:
    async def test() -> None:
        answers = [[Use("bash", command="make deploy")], [Say("I see.")]]
        async with rigged(tmp_path, answers, settings=ASK) as rig:
            await rig.send("go")
            await rig.show("Allow this command?")
            await answer(rig, "w")
            await rig.show("No, because:")
            await rig.press("escape")
            await rig.show("[y] Allow once")
            await rig.type("w")
            await rig.show("No, because:")
            await rig.send("not on a Friday 1")
            await rig.show("I see.")
            assert "They say: not on a Friday 1" in tool_result(rig)
            assert "You declined: not on a Friday 1" in rig.screen()

    run(test)


def test_escape_stops_the_agent(tmp_path: Path) -> None:
    async def test() -> None:
        answers = [[Use("bash", command="make")], [Say("Never said.")]]
        async with rigged(tmp_path, answers, settings=ASK) as rig:
            await rig.send("go")
            await rig.show("Esc stops the agent")
            await rig.press("escape")
            await rig.idle()
            assert len(rig.faux.requests) == 1
            assert "Never said." not in rig.tape()
            assert rig.front.screen.focused is rig.front.editor

    run(test)


def test_always_is_saved_as_a_pattern_in_the_user_settings(tmp_path: Path) -> None:
    async def test() -> None:
        git = [Use("bash", command="git status -s")]
        other = [Use("bash", command="git status $(touch made)")]
        answers = [git, [Use("bash", command="git status")], other, [Say("Done.")]]
        async with rigged(tmp_path, answers, settings=ASK) as rig:
            paths = user_paths()
            await rig.send("go")
            await rig.show("[a] Always allow run: git status *")
            await answer(rig, "a")
            shown = await rig.show("$(touch made)")  # the second call was not asked about, the third is
            assert "Always allow" not in shown
            rig.skip(IGNORE_KEYS_S)
            await rig.press("enter")
            await rig.show("Done.")
            assert json.loads(paths.settings.read_text()) == {"tools": {"allow": ["run: git status *"]}}
            assert not (tmp_path / "made").exists()

    run(test)


def test_always_lasts_for_the_session_if_settings_are_unwritable(tmp_path: Path) -> None:
    async def test() -> None:
        call = [Use("bash", command="ls -l")]
        async with rigged(tmp_path, [call, call, [Say("Done.")]], settings=ASK) as rig:
            paths = user_paths()
            paths.settings.parent.mkdir(parents=True, exist_ok=True)
            paths.settings.write_text('{"tools": 5}')
            await rig.send("go")
            await rig.show("Always allow run: ls *")
            await answer(rig, "a")
            await rig.show("Done.")
            assert "Allowed for this session only." in rig.tape()
            assert paths.settings.read_text() == '{"tools": 5}'

    run(test)


def test_long_command_scrolls_and_its_end_stays_visible(tmp_path: Path) -> None:
    async def test() -> None:
        command = "\n".join(f"echo line {number}" for number in range(200)) + "\nrm -rf /"
        async with rigged(tmp_path, [[Use("bash", command=command)], [Say("No.")]], settings=ASK) as rig:
            await rig.send("go")
            shown = await rig.show("Allow this command?")
            assert "echo line 0" in shown and "rm -rf /" in shown and "not shown" in shown
            assert "echo line 60" not in shown
            for _ in range(8):
                await rig.press("pageDown")
            shown = await rig.show("echo line 70")
            assert "rm -rf /" in shown and "[y] Allow once" in shown
            await rig.press("enter")
            await rig.show("No.")

    run(test)


@pytest.mark.parametrize("letter", ["y", "s"])
def test_nothing_is_allowed_before_its_end_was_on_the_screen(tmp_path: Path, letter: str) -> None:
    async def test() -> None:
        command = "\n".join(f"echo line {number} >> made" for number in range(60))
        async with rigged(tmp_path, [[Use("bash", command=command)], [Say("Done.")]], settings=ASK) as rig:
            await rig.send("go")
            await rig.show("Allow this command?")
            seen: set[int] = set()
            pages = 0
            while rig.parts.dialogs.open:
                screen = rig.screen()
                before = len(seen)
                seen |= {number for number in range(60) if f"echo line {number} >>" in screen}
                assert len(seen) > before or len(seen) == 60
                await answer(rig, letter)
                pages += 1
                if len(seen) < 60:
                    assert rig.parts.dialogs.open, "allowed unread"
                    await rig.show("Scroll to the end of the request before you allow it.")
                assert pages < 100
            await rig.show("Done.")
            assert pages > 2 and (tmp_path / "made").read_text().count("line") == 60

    run(test)


def test_request_that_is_too_long_to_show_cannot_be_allowed(tmp_path: Path) -> None:
    async def test() -> None:
        call = [Use("write", path="a.txt", content="x" * MAX_SHOWN_CHARS)]
        async with rigged(tmp_path, [call, [Say("No.")]], settings=ASK) as rig:
            await rig.send("go")
            await rig.show("No, and tell the agent why")
            assert offered(rig) == ["n", "w"]
            await answer(rig, "n")
            await rig.idle()

    run(test)


def test_hidden_characters_are_visible_in_the_question_and_in_the_block(tmp_path: Path) -> None:
    async def test() -> None:
        call = [Use("bash", command="echo ok \u202e; echo \U000e0041fine")]
        async with rigged(tmp_path, [call, [Say("Over.")]], settings=ASK) as rig:
            await rig.send("go")
            shown = await rig.show("Allow this command?")
            assert shown.count("echo ok <U+202E>; echo <U+E0041>fine") == 2
            await answer(rig, "n")
            await rig.show("Over.")

    run(test)


def test_change_of_a_file_shows_its_hidden_characters(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")

    async def test() -> None:
        call = [Use("write", path="a.txt", content="one\x1b]0;x\x07\x08two\n")]
        async with rigged(tmp_path, [call, [Say("Over.")]], settings=ASK) as rig:
            await rig.send("go")
            shown = await rig.show("Allow this write?")
            assert "one<U+001B>]0;x<U+0007><U+0008>two" in shown
            await answer(rig, "y")
            shown = await rig.show("Over.")
            assert "one<U+001B>]0;x<U+0007><U+0008>two" in shown

    run(test)


def test_command_with_control_characters_is_refused_and_shown(tmp_path: Path) -> None:
    async def test() -> None:
        call = [Use("bash", command="echo ok \x1b];touch P;\x07 ; echo fine")]
        async with rigged(tmp_path, [call, [Say("Over.")]]) as rig:
            await rig.send("go")
            shown = await rig.show("Over.")
            assert "echo ok <U+001B>];touch P;<U+0007> ; echo fine" in shown
            assert "control character" in shown
            assert not (tmp_path / "P").exists()

    run(test)


@pytest.mark.parametrize(("presses", "made"), [(2, True), (1, False)])
def test_key_changes_the_mode_while_a_call_waits(tmp_path: Path, presses: int, made: bool) -> None:
    """From ask, the key goes to plan, then to workspace."""

    async def test() -> None:
        answers = [[Use("bash", command="touch made")], [Say("Over.")]]
        async with rigged(tmp_path, answers, settings=ASK) as rig:
            assert "ask mode" in rig.screen()
            await rig.send("go")
            await rig.show("Alt+Shift+A changes the mode")
            if presses == 2:
                rig.session.permissions.add_rule("ask", "tool: read")  # nothing that the question is about
                rig.session.permissions.set_mode("workspace")
            else:
                await rig.press("alt+shift+a")
            shown = await rig.show("Over.")
            assert (tmp_path / "made").exists() is made
            assert ("plan mode" in shown) is not made
            assert "Not allowed: plan mode is on." in shown or made

    run(test)


def test_variables_folder_and_details_are_part_of_the_question(tmp_path: Path) -> None:
    effects = Effects(
        runs=("git diff",),
        env=(("GIT_EXTERNAL_DIFF", "./evil\x1b[8m"),),
        run_cwd=tmp_path / "there",
        details=(("timeout", "300 s"), ("interpreter", "/repo/.venv/bin/python")),
    )
    permissions = Permissions(mode="ask")
    decision = decide(effects, permissions, Workspace.of((tmp_path,)), demo=False, contained=True)

    async def test() -> None:
        async with rigged(tmp_path, columns=160, rows=40) as rig:
            request = ApprovalRequest(
                tool="bash",
                label="Bash",
                arguments={"command": "git diff"},
                cwd=tmp_path / "there",
                session_cwd=tmp_path,
                questions=decision.questions,
                for_session=False,
                env=effects.env,
                details=effects.details,
                contained=True,
            )
            question = asyncio.ensure_future(rig.parts.ui.approve(request))
            shown = await rig.show("Allow this command?")
            assert f"It would run in the sandbox, in {tmp_path / 'there'}." in shown
            assert "variable GIT_EXTERNAL_DIFF: ./evil<U+001B>[8m" in shown
            assert "timeout: 300 s" in shown and "interpreter: /repo/.venv/bin/python" in shown
            await rig.press("escape")
            await question

    run(test)


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_mark_of_a_long_command_is_never_cut(tmp_path: Path, columns: int) -> None:
    async def test() -> None:
        command = "\n".join(f"echo {number}" for number in range(200))
        call = [Use("bash", command=command)]
        async with rigged(tmp_path, [call, [Say("No.")]], settings=ASK, columns=columns) as rig:
            await rig.send("go")
            await rig.show("not shown")
            mark = next(row for row in rig.terminal.screen() if "not shown" in row)
            assert mark.startswith("… ") and not mark.rstrip().endswith("…")
            assert ("PageDown" in mark) is (columns >= 40)
            await rig.press("enter")
            await rig.idle()

    run(test)


def test_write_shows_its_target_and_the_change(tmp_path: Path) -> None:
    work, other = tmp_path / "work", tmp_path.parent / f"{tmp_path.name}-other"
    work.mkdir()
    other.mkdir()
    (other / "notes.txt").write_text("one\ntwo\n")

    async def test() -> None:
        call = [Use("write", path=str(other / "notes.txt"), content="one\nthree\n")]
        settings = {"tools.approvalMode": "ask"}
        async with rigged(work, [call, [Say("Fine.")]], settings=settings, columns=140, rows=40) as rig:
            await rig.send("go")
            shown = await rig.show("Allow this write?")
            assert f"It would write outside the workspace: {other / 'notes.txt'}." in shown
            assert "-" in shown and "two" in shown and "three" in shown
            await answer(rig, "y")
            await rig.show("Fine.")
            assert (other / "notes.txt").read_text() == "one\nthree\n"

    run(test)


def test_demo_model_is_approved_with_a_warning_and_without_always(tmp_path: Path) -> None:
    yolo = Permissions(mode="yolo")
    decision = decide(Effects(runs=("ls",)), yolo, Workspace.of((tmp_path,)), demo=True, contained=False)

    async def test() -> None:
        async with rigged(tmp_path) as rig:
            request = ApprovalRequest(
                tool="bash",
                label="Bash",
                arguments={"command": "ls"},
                cwd=tmp_path,
                questions=decision.questions,
                for_session=False,
            )
            question = asyncio.ensure_future(rig.parts.ui.approve(request))
            shown = await rig.show("It would run a command of the demo model.")
            assert "session" not in shown and "Always" not in shown
            await rig.press("escape")
            await question

    run(test)


@pytest.mark.parametrize("columns", [20, 40, 200])
def test_it_fits_any_width(tmp_path: Path, columns: int) -> None:
    async def test() -> None:
        command = "git log --format='" + "x" * 300 + "' | head"
        call = [Use("bash", command=command)]
        async with rigged(tmp_path, [call, [Say("No.")]], settings=ASK, columns=columns) as rig:
            rig.session.permissions.store = RuleStore()
            await rig.send("go")
            await rig.until(lambda: rig.parts.dialogs.open, "the question")
            await rig.show("head")
            shown = await rig.show("Allow once")
            assert all(visible_width(row) <= columns for row in rig.terminal.screen())
            assert "No" in shown
            await rig.press("enter")
            await rig.idle()

    run(test)
