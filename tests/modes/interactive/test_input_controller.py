"""What the keys do while the editor has focus, and what they never lose."""

import os
from pathlib import Path
from typing import Any

import pytest

from tau.ai.faux import FauxStep, Say, Use, Wait
from tau.ai.wire import UserMessage
from tau.modes.interactive.app import App
from tau.modes.interactive.composer.interrupts import QUIT_S
from tau.modes.interactive.early_screen import EarlyScreen
from tau.tui.input.key import Key
from tests.modes.interactive.rig import Rig, rigged, run
from tests.support.terminal.virtual import VirtualTerminal


def user_texts(rig: Rig) -> list[str]:
    """The recorded user messages."""
    messages = rig.session.log.context().messages
    return [str(message.content) for message in messages if isinstance(message, UserMessage)]


async def begin(rig: Rig, text: str = "begin") -> None:
    """A run that does not end on its own."""
    await rig.send(text)
    await rig.until(lambda: rig.current.running and bool(rig.faux.requests), "the run")


class RecordedCommands:
    """Replaces the commands and records what was run."""

    def __init__(self, rig: Rig) -> None:
        self.ran: list[str] = []
        rig.parts.commands.run = self.run  # type: ignore[method-assign,assignment]

    async def run(self, text: str) -> None:
        self.ran.append(text)


def test_escape_stops_the_run_and_puts_queued_messages_before_the_draft(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Working."), Wait()]]) as rig:
            await begin(rig)
            await rig.send("first thought")
            await rig.type("second thought")
            await rig.press("alt+enter")
            await rig.type("a draft")
            assert len(rig.session.queue) == 2
            await rig.press("escape")
            await rig.idle()
            assert len(rig.session.queue) == 0
            assert rig.front.editor.text == "first thought\n\nsecond thought\n\na draft"
            await rig.type("!")
            assert rig.front.editor.text.endswith("a draft!")

    run(test)


def test_escape_keeps_a_folded_paste_in_the_draft(tmp_path: Path) -> None:
    pasted = "\n".join(f"line {number}" for number in range(50))

    async def test() -> None:
        async with rigged(tmp_path, [[Wait()]]) as rig:
            await begin(rig)
            await rig.send("queued")
            rig.terminal.paste(pasted)
            await rig.show("[Pasted text #1 +50 lines]")
            await rig.press("escape")
            await rig.idle()
            await rig.show("[Pasted text #1 +50 lines]")
            assert rig.front.editor.text == f"queued\n\n{pasted}"

    run(test)


def test_enter_steers_and_alt_enter_follows_up(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    reading: list[FauxStep] = [Wait(0.5), Use("read", path="a.txt")]
    answers: list[list[FauxStep]] = [reading, [Say("Steered.")], [Say("Followed.")]]

    async def test() -> None:
        async with rigged(tmp_path, answers) as rig:
            await begin(rig)
            await rig.type("at the end")
            await rig.press("alt+enter")
            await rig.send("at once")
            await rig.show("Followed.")
            await rig.idle()
            assert user_texts(rig) == ["begin", "at once", "at the end"]

    run(test)


def test_alt_up_dequeues_the_last_message(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Wait()]]) as rig:
            await begin(rig)
            await rig.send("one")
            await rig.send("two")
            await rig.press("alt+up")
            assert rig.front.editor.text == "two"
            await rig.press("alt+up")
            assert rig.front.editor.text == "one\n\ntwo"
            await rig.press("alt+up")
            await rig.show("The queue is empty.")
            assert rig.front.editor.text == "one\n\ntwo"

    run(test)


def test_escape_first_closes_the_completion_list(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()

    async def test() -> None:
        async with rigged(tmp_path, [[Wait()]]) as rig:
            await begin(rig)
            await rig.type("@not")
            await rig.show("❯ notes.txt")
            await rig.press("escape")
            await rig.gone("❯ notes.txt")
            assert rig.session.busy
            await rig.press("escape")
            await rig.idle()
            assert rig.front.editor.text == "@not"

    run(test)


@pytest.mark.parametrize(
    ("wanted", "ran"), [("rewind", ["/rewind"]), ("tree", ["/tree"]), ("branch", ["/branch"]), ("none", [])]
)
def test_double_escape_on_an_empty_editor_runs_the_configured_command(
    tmp_path: Path, wanted: str, ran: list[str]
) -> None:
    async def test() -> None:
        async with rigged(tmp_path, settings={"interaction.doubleEscape": wanted}) as rig:
            asked = RecordedCommands(rig)
            await rig.press("escape")
            await rig.rested()
            assert asked.ran == []
            await rig.press("escape")
            await rig.rested()
            assert asked.ran == ran
            await rig.press("escape")
            await rig.rested()
            assert asked.ran == ran

    run(test)


def test_double_escape_with_text_opens_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            asked = RecordedCommands(rig)
            await rig.type("text")
            await rig.press("escape", "escape")
            await rig.rested()
            assert asked.ran == []
            assert rig.front.editor.text == "text"

    run(test)


def test_escape_that_stopped_a_run_does_not_count_toward_a_double(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Wait()]]) as rig:
            asked = RecordedCommands(rig)
            rig.terminal.type("begin\n")
            await rig.until(lambda: rig.current.running, "the run")
            await rig.press("escape")
            await rig.idle()
            await rig.press("escape")
            await rig.rested()
            assert asked.ran == []

    run(test)


def test_shell_and_python_modes_show_and_escape_leaves_them(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            editor = rig.front.editor
            for text, token, sign in (("!ls", "bashMode", "sh !ls"), ("$1+1", "pythonMode", "py $1+1")):
                await rig.type(text)
                await rig.show(sign)
                assert editor.border_token == token
                await rig.press("escape")
                assert editor.is_empty
                assert editor.border_token == "border"
            await rig.type("${HOME} is a text")
            assert editor.border_token == "border"
            await rig.press("escape")
            assert editor.text == "${HOME} is a text"

    run(test)


def test_modes_are_announced_to_a_screen_reader(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, settings={"display.screenReader": True}) as rig:
            await rig.type("!ls")
            await rig.show("Shell: !ls")

    run(test)


def test_ctrl_c_clears_explains_a_second_press_and_can_be_undone(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("something")
            await rig.press("ctrl+c")
            await rig.show("Press Ctrl+C again to quit.")
            assert rig.front.editor.is_empty
            await rig.press("ctrl+-")
            assert rig.front.editor.text == "something"

    run(test)


def test_ctrl_c_twice_quickly_quits(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("something")
            await rig.press("ctrl+c", "ctrl+c")
            await rig.until(lambda: rig.current.session is None, "the end")

    run(test)


def test_ctrl_c_after_typing_again_clears_and_does_not_quit(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("something")
            await rig.press("ctrl+c")
            await rig.type("else")
            await rig.press("ctrl+c")
            assert rig.front.editor.is_empty and rig.current.session is not None
            await rig.press("ctrl+c")
            await rig.until(lambda: rig.current.session is None, "the end")

    run(test)


def test_second_ctrl_c_quits_as_long_as_the_hint_is_shown(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("something")
            await rig.press("ctrl+c")
            rig.skip(QUIT_S - 0.1)
            await rig.show("Press Ctrl+C again to quit.")
            await rig.press("ctrl+c")
            await rig.until(lambda: rig.current.session is None, "the end")

    run(test)


def test_ctrl_c_on_an_empty_editor_stops_the_run(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Wait()]]) as rig:
            await begin(rig)
            await rig.type("draft")
            await rig.press("ctrl+c")
            assert rig.session.busy
            rig.skip(QUIT_S)
            await rig.press("ctrl+c")
            await rig.show("Stopped. Press Ctrl+C again to quit.")
            await rig.idle()

    run(test)


def test_held_key_counts_once(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            held = [Key("ctrl+c"), Key("ctrl+c", kind="repeat"), Key("ctrl+c", kind="release")]
            rig.front.screen.on_input([*held])
            await rig.rested()
            assert rig.current.session is not None

    run(test)


def test_ctrl_d_quits_only_on_an_empty_editor(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.type("ab")
            await rig.press("left", "ctrl+d")
            assert rig.front.editor.text == "a"
            await rig.press("backspace", "ctrl+d")
            await rig.until(lambda: rig.current.session is None, "the end")

    run(test)


def test_ctrl_z_releases_and_reacquires_the_terminal(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            seen: list[Any] = []
            rig.terminal.suspend = lambda: seen.append(rig.terminal.watcher)  # type: ignore[method-assign]
            await rig.type("kept")
            await rig.press("ctrl+z")
            assert seen == [None]
            assert rig.terminal.watcher is rig.front.screen
            await rig.show("kept")

    run(test)


def test_dialog_keys_go_to_the_dialog(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Wait()]]) as rig:
            await begin(rig)
            rig.parts.tasks.start(_ask(rig))
            await rig.until(lambda: rig.parts.dialogs.open, "the dialog")
            thinking = rig.session.thinking
            await rig.press("ctrl+d", "shift+tab", "escape")
            await rig.until(lambda: not rig.parts.dialogs.open, "the end of the dialog")
            assert rig.session.busy
            assert rig.session.thinking == thinking

    run(test)


async def _ask(rig: Rig) -> None:
    await rig.parts.ui.select("Which?", ["one", "two"])


@pytest.mark.parametrize(
    ("key", "command"),
    [("alt+m", "/model"), ("f1", "/hotkeys")],
)
def test_some_keys_run_a_command(tmp_path: Path, key: str, command: str) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            asked = RecordedCommands(rig)
            await rig.press(key)
            await rig.rested()
            assert asked.ran == [command]

    run(test)


def test_plan_mode_toggles(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.press("alt+shift+p")
            await rig.show("Plan mode on: ")
            assert rig.session.plan.on
            await rig.press("alt+shift+p")
            await rig.show("Plan mode off.")
            assert not rig.session.plan.on

    run(test)


def test_failed_action_is_reported_and_the_screen_works_on(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, settings={"plan.enabled": False}) as rig:
            await rig.press("alt+shift+p")
            await rig.show("Plan mode is disabled")
            await rig.type("still here")
            await rig.show("still here")

    run(test)


def test_prompt_and_last_answer_are_copied(tmp_path: Path) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"):
        os.environ.pop(name, None)

    async def test() -> None:
        async with rigged(tmp_path, [[Say("The answer.")]]) as rig:
            await rig.send("a question")
            await rig.show("The answer.")
            await rig.idle()
            await rig.type("a draft")
            await rig.press("alt+shift+c")
            await rig.show("Copied 7 characters.")
            await rig.press("alt+c")
            await rig.show("Copied 11 characters.")
            assert rig.terminal.clipboard == ["a draft", "The answer."]

    run(test)


def test_large_paste_is_folded_and_shown_on_demand(tmp_path: Path) -> None:
    pasted = "\n".join(f"line {number}" for number in range(12))

    async def test() -> None:
        async with rigged(tmp_path, [[Say("Read.")]]) as rig:
            rig.terminal.paste(pasted)
            await rig.show("[Pasted text #1 +12 lines]")
            await rig.press("alt+p")
            await rig.gone("[Pasted text")
            await rig.press("alt+p")
            await rig.show("[Pasted text #1 +12 lines]")
            await rig.press("enter")
            await rig.show("Read.")
            assert user_texts(rig) == [pasted]

    run(test)


def test_messages_sent_at_once_arrive_in_order(tmp_path: Path) -> None:
    """Three lines arriving at once are three messages: one prompt, and two that steer it."""

    async def test() -> None:
        async with rigged(tmp_path, [[Say("One.")], [Say("Two.")], [Say("Three.")]]) as rig:
            rig.terminal.type("first\nsecond\nthird\n")
            await rig.until(lambda: len(user_texts(rig)) == 3, "three messages")
            await rig.idle()
            assert user_texts(rig) == ["first", "second", "third"]

    run(test)


def test_messages_sent_before_the_session_opens_are_sent_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = VirtualTerminal()
    open_front, run_app = EarlyScreen.open, App.run

    def opened(front: EarlyScreen) -> None:
        open_front(front)
        terminal.type("before the app\n")

    async def began(app: App, *arguments: Any) -> int:
        app.parts.context.display.timer.call_soon(terminal.type, "before the session\nand on")
        return await run_app(app, *arguments)

    monkeypatch.setattr(EarlyScreen, "open", opened)
    monkeypatch.setattr(App, "run", began)

    async def test() -> None:
        prompts = ["from the command line"]
        async with rigged(tmp_path, [[Say("Yes.")]], prompts=prompts, terminal=terminal) as rig:
            await rig.until(lambda: len(user_texts(rig)) == 3, "three messages")
            await rig.idle()
            assert user_texts(rig) == ["from the command line", "before the app", "before the session"]
            assert rig.front.editor.text == "and on"

    run(test)


def test_blank_message_is_not_sent(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.send("   ")
            await rig.rested()
            assert rig.faux.requests == []
            assert rig.front.editor.is_empty

    run(test)


def test_message_refused_by_the_queue_stays_in_the_editor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tau.agent.queue.MAX_WAITING", 1)

    async def test() -> None:
        async with rigged(tmp_path, [[Wait()]]) as rig:
            await begin(rig)
            await rig.send("waits")
            await rig.until(lambda: len(rig.session.queue) == 1, "the first one in the queue")
            await rig.send("one too many")
            await rig.show("The queue is full")
            assert rig.front.editor.text == "one too many"

    run(test)


def test_hint_disappears_automatically(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            rig.parts.notices.hint("for a moment", seconds=1)
            await rig.show("for a moment")
            rig.skip(1)
            await rig.gone("for a moment")

    run(test)


@pytest.mark.parametrize("columns", [20, 40, 200])
def test_hints_and_modes_fit_every_width(tmp_path: Path, columns: int) -> None:
    async def test() -> None:
        async with rigged(tmp_path, columns=columns) as rig:
            await rig.type("!" + "word " * 20)
            await rig.press("ctrl+c")
            await rig.show("Ctrl+C")
            assert all(len(row) <= columns for row in rig.terminal.screen())

    run(test)


def test_invisible_changes_are_reported(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            for key, words in (
                ("ctrl+t", "Thinking is hidden from now on; Ctrl+O shows all of it."),
                ("ctrl+t", "Thinking is shown from now on; Ctrl+O shows all of it."),
            ):
                await rig.press(key)
                await rig.show(words)

    run(test)
