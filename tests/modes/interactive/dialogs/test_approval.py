"""A call that needs a yes, on the screen: what is shown, what can be answered, what comes of it."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from tau.agent.effects import Effects
from tau.ai.faux import Say, Use
from tau.coding.approval.hook import ApprovalHook, ApprovalRequest
from tau.coding.approval.policy import Workspace, decide
from tau.config.paths import user_paths
from tau.config.setting_values import add_allow_rules
from tau.modes.interactive.dialogs.approval import DEAF_S, LETTERS_DEAF_S
from tau.tui.text.width import visible_width
from tests.modes.interactive.rig import Rig, rigged, run

ASK = {"tools.approvalMode": "ask"}


def hook_of(rig: Rig) -> ApprovalHook:
    hooks = rig.session._parts.hooks._hooks  # type: ignore[attr-defined]
    return next(hook for hook in hooks if isinstance(hook, ApprovalHook))


def told(rig: Rig, request: int = 1) -> str:
    """What the model was told of its call."""
    message = rig.faux.requests[request].messages[-1]
    return str(message.content)


async def answer(rig: Rig, letter: str) -> None:
    """Type it, once letters count."""
    rig.skip(LETTERS_DEAF_S)
    await rig.type(letter)


def offered(rig: Rig) -> list[str]:
    """The letters of the question on the screen."""
    return [found[1] for row in rig.terminal.screen() if (found := re.match(r"[❯ ] \[(.)\] ", row))]


def test_a_command_is_shown_in_full_and_enter_alone_says_no(tmp_path: Path) -> None:
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
            assert "The user declined this call" in told(rig)
            rows = [row.rstrip() for row in shown.split("\n")]
            assert "! $ touch made && echo done" in rows  # neither a failure nor a time that was the person's
            assert rows[rows.index("! $ touch made && echo done") + 1] == "  You declined."

    run(test)


def test_once_is_once_and_the_session_is_the_session(tmp_path: Path) -> None:
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
            await rig.press("enter")  # a key that comes too soon was meant for the question before
            rig.skip(DEAF_S)
            assert rig.parts.dialogs.open
            await answer(rig, "s")
            await rig.show("Done.")
            assert (tmp_path / "made").read_text() == "x\n" * 3
            assert not rig.parts.dialogs.open

    run(test)


def test_a_letter_means_the_same_in_every_question_and_digits_mean_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        plain, bent = "git status", "git status $(touch made)"
        answers = [[Use("bash", command=plain)], [Use("bash", command=bent)], [Say("Over.")]]
        async with rigged(tmp_path, answers, settings=ASK) as rig:
            hook_of(rig)._remember = lambda patterns: None
            await rig.send("go")
            await rig.show("Allow this command?")
            assert offered(rig) == ["y", "s", "a", "n", "w"]
            rig.skip(LETTERS_DEAF_S)
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


def test_a_word_begun_when_the_question_comes_does_not_answer_it(tmp_path: Path) -> None:
    async def test() -> None:
        answers = [[Use("bash", command="touch made")], [Say("All right.")]]
        async with rigged(tmp_path, answers, settings=ASK) as rig:
            await rig.send("go")
            await rig.until(lambda: rig.parts.dialogs.open, "the question")
            for part in ("yes", " ", "and", " also"):
                await rig.type(part)
                rig.skip(LETTERS_DEAF_S / 2)
            assert rig.parts.dialogs.open
            assert rig.front.editor.text == "yes and also"
            await answer(rig, "n")
            await rig.show("All right.")
            assert not (tmp_path / "made").exists()
            assert rig.front.editor.text == "yes and also"

    run(test)


def test_a_no_can_be_explained(tmp_path: Path) -> None:
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
            assert "They say: not on a Friday 1" in told(rig)
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


def test_always_is_kept_as_a_pattern_in_the_users_settings(tmp_path: Path) -> None:
    async def test() -> None:
        git = [Use("bash", command="git status -s")]
        other = [Use("bash", command="git status $(touch made)")]
        answers = [git, [Use("bash", command="git status")], other, [Say("Done.")]]
        async with rigged(tmp_path, answers, settings=ASK) as rig:
            paths = user_paths()
            hook = hook_of(rig)
            hook._remember = lambda patterns: add_allow_rules(paths, patterns)
            await rig.send("go")
            await rig.show("[a] Always allow run: git status *")
            await answer(rig, "a")
            shown = await rig.show("$(touch made)")  # the second call was not asked about, the third is
            assert "Always allow" not in shown
            rig.skip(DEAF_S)
            await rig.press("enter")
            await rig.show("Done.")
            assert json.loads(paths.settings.read_text()) == {"tools": {"allow": ["run: git status *"]}}
            assert not (tmp_path / "made").exists()

    run(test)


def test_where_the_settings_cannot_be_written_always_lasts_for_the_session(tmp_path: Path) -> None:
    async def test() -> None:
        call = [Use("bash", command="ls -l")]
        async with rigged(tmp_path, [call, call, [Say("Done.")]], settings=ASK) as rig:
            paths = user_paths()
            paths.settings.parent.mkdir(parents=True, exist_ok=True)
            paths.settings.write_text('{"tools": 5}')
            hook_of(rig)._remember = lambda patterns: add_allow_rules(paths, patterns)
            await rig.send("go")
            await rig.show("Always allow run: ls *")
            await answer(rig, "a")
            await rig.show("Done.")
            assert "Allowed for this session only." in rig.tape()
            assert paths.settings.read_text() == '{"tools": 5}'

    run(test)


def test_a_long_command_scrolls_and_its_end_is_always_in_sight(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_the_mark_of_a_long_command_is_never_cut(tmp_path: Path, columns: int) -> None:
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


def test_a_write_shows_where_it_leads_and_what_would_change(tmp_path: Path) -> None:
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
            assert f"It would write {other / 'notes.txt'}." in shown
            assert "-" in shown and "two" in shown and "three" in shown
            await answer(rig, "y")
            await rig.show("Fine.")
            assert (other / "notes.txt").read_text() == "one\nthree\n"

    run(test)


def test_the_demo_model_is_asked_about_with_a_warning_and_without_always(tmp_path: Path) -> None:
    decision = decide(Effects(runs=("ls",)), "yolo", Workspace.of((tmp_path,)), demo=True)

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
            hook_of(rig)._remember = lambda patterns: None
            await rig.send("go")
            await rig.until(lambda: rig.parts.dialogs.open, "the question")
            await rig.show("head")
            shown = await rig.show("Allow once")
            assert all(visible_width(row) <= columns for row in rig.terminal.screen())
            assert "No" in shown
            await rig.press("enter")
            await rig.idle()

    run(test)
