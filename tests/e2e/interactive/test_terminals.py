"""Other terminals: without colors, light, narrow, resized, read aloud, inside tmux."""

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.interactive.launcher import OK, RUNS, SEE_SECONDS, SIGN, WELCOME, Launcher, User
from tests.e2e.program import FAKE, TAU
from tests.support.fake_answers import Answer, Call, Status, Text
from tests.support.limits import HANG_S
from tests.support.pty_terminal import PERSON_S
from tests.support.terminal.virtual import Answers

COLOR = re.compile(rb"\x1b\[[0-9;:]*m")


def test_no_color_means_no_color(launcher: Launcher) -> None:
    launcher.tau.script((Text("# Title\n\n**bold** `code`"), Call("bash", {"command": "echo out"})), "Done.")
    user = launcher.start(env={"NO_COLOR": "1"}).send("go")
    user.see("Done.")
    assert user.leave() == 0
    colors = [
        one for one in COLOR.findall(bytes(user.term.output)) if re.search(rb"[;\[:](3|4|9|10)[0-9]", one)
    ]
    assert colors == []


def test_screen_reader_gets_lines_in_order(launcher: Launcher) -> None:
    launcher.tau.script((Text("Some words."), Call("bash", {"command": "echo out-$((1 + 1))"})), "The end.")
    user = launcher.start("--screen-reader").send("go")
    user.see("out-2", "The end.")
    assert b"\x1b[H" not in user.term.output and b"\x1b[2J" not in user.term.output
    output = user.output
    assert not set("╭╮╰╯│┌┐└┘█▓") & set(output)
    assert output.index("Some words.") < output.index("out-2") < output.index("The end.")


def test_light_terminal_gets_the_light_theme(launcher: Launcher) -> None:
    light = launcher.start(answers=Answers(background="rgb:ffff/ffff/ffff")).send("/theme")
    light.see("Theme for light terminals", "paper ✓")


def test_terminal_that_answers_nothing_works_too(launcher: Launcher) -> None:
    launcher.tau.script("Heard.")
    user = launcher.start(answers=False).send("hello")
    user.see("Heard.")
    assert user.leave() == 0


def test_ascii_symbols(launcher: Launcher) -> None:
    launcher.settings(theme__symbols="ascii")
    launcher.tau.script((Text("- a\n- b"), Call("bash", {"command": "echo out"})), "Done.")
    user = launcher.start().send("go")
    user.see("Done.")
    assert user.output.isascii()


def test_resizing_while_streaming_loses_no_line_and_clears_nothing(launcher: Launcher) -> None:
    lines = [f"row-{number:03} of the stream" for number in range(120)]
    launcher.tau.script(Answer((Text("\n\n".join(lines), deltas=240),), delay_s=0.005))
    user = launcher.start().send("go")
    for number, (columns, rows) in enumerate([(60, 20), (100, 30), (50, 12), (80, 24)]):
        mark = f"row-{number * 20 + 5:03}"
        user.until(lambda _, mark=mark: any(mark in row for row in user.term.tape()), mark)  # type: ignore[misc]
        user.term.resize(columns, rows)
    user.see("row-119")
    user.rests()
    last = {row.strip(): at for at, row in enumerate(user.term.tape())}
    places = [last[line] for line in lines]
    assert places == sorted(places)
    assert b"\x1b[3J" not in user.term.output and b"\x1b[2J" not in user.term.output


def test_long_answer_is_once_in_the_scrollback(launcher: Launcher) -> None:
    lines = [f"item-{number:04}" for number in range(300)]
    launcher.tau.script(Answer((Text("\n\n".join(lines), deltas=300),)), "Bye.")
    user = launcher.start().send("go")
    user.see("item-0299")
    user.send("bye").see("Bye.")
    assert user.leave() == 0
    output = user.output
    assert [line for line in lines if output.count(line) != 1] == []


def test_changed_background_switches_the_theme(launcher: Launcher) -> None:
    user = launcher.start()
    user.until(lambda _: user.term.terminal.modes.get(2031, False), "the request for reports")
    user.term.background("rgb:ffff/ffff/ffff")
    user.send("/theme").see("paper ✓")


def test_ctrl_l_redraws_the_screen(launcher: Launcher) -> None:
    launcher.tau.script("Stays here.")
    user = launcher.start().ask("hello", "Stays here.")
    user.term.scribble("\x1b[1;1Hnoise of another program\x1b[5;1Hmore of it")
    user.see("noise of another program")
    user.press("ctrl+l").miss("noise", "more of it")
    user.see("Stays here.", "❯ hello")
    assert user.output.count("Stays here.") == 1


def test_title_names_the_program(launcher: Launcher) -> None:
    user = launcher.start()
    user.until(
        lambda _: "project" in user.term.terminal.title or "tau" in user.term.terminal.title, "a title"
    )


class Tmux:
    """A private server without the user's configuration."""

    def __init__(self, folder: Path) -> None:
        self._socket = str(folder / "tmux.sock")

    def call(self, *words: str) -> str:
        ran = subprocess.run(
            ["tmux", "-S", self._socket, "-f", "/dev/null", *words],
            capture_output=True,
            text=True,
            timeout=HANG_S,
        )
        return ran.stdout

    def send(self, text: str) -> None:
        """Type it, see it, press Enter."""
        self.call("send-keys", "-t", "t", "-l", text)
        self.see(f"{SIGN} {text}")
        time.sleep(PERSON_S)
        self.call("send-keys", "-t", "t", "Enter")

    def paste(self, text: str) -> None:
        """As another program or the mouse does: without marks."""
        self.call("set-buffer", text)
        self.call("paste-buffer", "-t", "t")

    def see(self, text: str, seconds: float = SEE_SECONDS) -> str:
        end = time.monotonic() + seconds
        while text not in (shown := self.call("capture-pane", "-p", "-t", "t")):
            assert time.monotonic() < end, shown
            time.sleep(0.02)
        return shown

    def rests(self) -> None:
        """Wait until nothing runs. A running activity shows its stop key."""
        end = time.monotonic() + SEE_SECONDS
        while RUNS in (shown := self.call("capture-pane", "-p", "-t", "t")):
            assert time.monotonic() < end, shown
            time.sleep(0.02)


@pytest.fixture
def tmux(launcher: Launcher, tmp_path: Path) -> Iterator[Tmux]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    made = Tmux(tmp_path)
    shell = ["-x", "80", "-y", "24", "-c", str(launcher.tau.project), "bash --norc"]
    made.call("new-session", "-d", "-s", "t", *shell)
    try:
        made.call("send-keys", "-t", "t", f"{' '.join([*TAU, *FAKE])}; echo left-$?", "Enter")
        made.see(WELCOME)
        yield made
    finally:
        made.call("kill-server")


def test_conversation_in_tmux(launcher: Launcher, tmux: Tmux) -> None:
    launcher.tau.script("# Title\n\nHello from tmux.", "Second.")
    tmux.send("hi")
    tmux.see("Hello from tmux.")
    tmux.send("more")
    tmux.see("Second.")
    tmux.call("send-keys", "-t", "t", "C-d")
    tmux.see("left-0")
    history = tmux.call("capture-pane", "-p", "-S", "-", "-t", "t")
    assert history.count("Hello from tmux.") == 1


@pytest.mark.parametrize("text", ["!touch broken\n", "!touch broken\n!touch broken\n", "send me\n"])
def test_in_tmux_an_unmarked_paste_neither_sends_nor_runs(launcher: Launcher, tmux: Tmux, text: str) -> None:
    tmux.paste(text)
    tmux.see("% of 128k")  # the session is open
    tmux.see(text.split("\n")[0])
    tmux.call("send-keys", "-t", "t", "C-c")
    tmux.see("Cleared")
    tmux.send("hello")
    tmux.see(OK)
    assert not (launcher.tau.project / "broken").exists()
    assert launcher.tau.user_messages() == ["hello"]


def test_in_tmux_the_transcript_leaves_no_trace(launcher: Launcher, tmux: Tmux) -> None:
    words = "\n\n".join(f"line-{number:03}" for number in range(60))
    launcher.tau.script(Call("bash", {"command": "seq -f row-%g 60"}), words)
    tmux.send("hi")
    tmux.see("line-059")
    tmux.rests()
    before = tmux.call("capture-pane", "-p", "-S", "-", "-t", "t")
    for _ in range(2):
        tmux.call("send-keys", "-t", "t", "C-o")
        tmux.see("Q close")
        tmux.call("send-keys", "-t", "t", "g")
        tmux.see("row-5")
        tmux.call("send-keys", "-t", "t", "q")
        tmux.see("fake-model ─")
    assert tmux.call("capture-pane", "-p", "-S", "-", "-t", "t") == before


def test_in_tmux_an_open_dialog_leaves_no_rows_when_the_window_gets_smaller(
    launcher: Launcher, tmux: Tmux
) -> None:
    launcher.tau.script("Hello.")
    tmux.send("hi")
    tmux.see("Hello.")
    tmux.call("resize-window", "-t", "t", "-x", "120", "-y", "40")
    tmux.send("/model")
    tmux.see("Filter:")
    for columns, rows in (("80", "40"), ("60", "15"), ("110", "24")):
        tmux.call("resize-window", "-t", "t", "-x", columns, "-y", rows)
    tmux.see("thinking levels")
    tmux.call("send-keys", "-t", "t", "Escape")
    tmux.see("fake-model ─")
    history = tmux.call("capture-pane", "-p", "-S", "-", "-t", "t")
    assert "─ Model" not in history and history.count("Hello.") == 1


def test_in_tmux_a_dialog_closed_in_a_larger_window_repeats_no_row(launcher: Launcher, tmux: Tmux) -> None:
    launcher.tau.script("\n".join(f"- row-{number:02} {'wide ' * 17}" for number in range(12)))
    tmux.send("hi")
    tmux.see("row-11")
    tmux.rests()
    tmux.send("/model")
    tmux.see("Filter:")
    tmux.call("resize-window", "-t", "t", "-x", "100", "-y", "36")
    tmux.see("row-00")
    tmux.call("send-keys", "-t", "t", "Escape")
    tmux.see("fake-model ─")
    history = tmux.call("capture-pane", "-p", "-S", "-", "-t", "t")
    assert [history.count(f"row-{number:02}") for number in range(12)] == [1] * 12


def test_in_tmux_escape_stops_and_a_resize_keeps_the_rows(launcher: Launcher, tmux: Tmux) -> None:
    words = "\n\n".join(f"line-{number:03}" for number in range(60))
    launcher.tau.script(
        Answer((Text(words, deltas=60),)), Answer((Text("word " * 900, deltas=900),), delay_s=0.01)
    )
    tmux.send("hi")
    tmux.see("line-059")
    tmux.call("resize-window", "-t", "t", "-x", "60", "-y", "20")
    tmux.send("more")
    tmux.see("word word")
    tmux.call("send-keys", "-t", "t", "Escape")
    tmux.see("Stopped.")


def test_in_tmux_ctrl_z_and_fg(launcher: Launcher, tmux: Tmux) -> None:
    launcher.tau.script("Before.", "After.")
    tmux.send("hi")
    tmux.see("Before.")
    tmux.call("send-keys", "-t", "t", "C-z")
    tmux.see("Stopped")
    tmux.call("send-keys", "-t", "t", "clear; fg", "Enter")
    tmux.see("fake-model ─")
    tmux.send("again")
    tmux.see("After.")


def test_variable_shows_the_native_cursor_for_one_run(launcher: Launcher) -> None:
    launcher.tau.settings(**{"display.hardwareCursor": False, "titles.enabled": False})
    hidden = launcher.start()
    assert not hidden.term.terminal.cursor_visible
    hidden.leave()
    shown = launcher.start(env={"TAU_HARDWARE_CURSOR": "1"})
    assert shown.term.terminal.cursor_visible
    shown.leave()


def unfocused(launcher: Launcher) -> User:
    user = launcher.start()
    user.until(lambda _: user.term.terminal.modes.get(1004, False), "the request for focus reports")
    user.term.focus(False)
    return user


def called(user: User) -> list[str]:
    """The notifications; the title comes in its own sequence."""
    return [one.body for one in user.term.terminal.notifications if one.body]


def test_notification_once_when_the_agent_finishes_out_of_focus(launcher: Launcher) -> None:
    launcher.settings(**{"retry.enabled": True, "retry.baseDelayMs": 10})
    launcher.tau.script(Status(529, "Overloaded"), Status(529, "Overloaded"), "Third time lucky.", "Again.")
    user = unfocused(launcher).ask("hello", "Third time lucky.")
    user.until(lambda _: called(user) == ["The agent has finished."], "one call")
    user.term.focus(True)
    user.ask("more", "Again.")
    assert called(user) == ["The agent has finished."]


def test_notification_when_a_question_is_asked_out_of_focus(launcher: Launcher) -> None:
    launcher.settings(tools__approvalMode="ask")
    launcher.tau.script(Call("bash", {"command": "touch made"}), "Done.")
    user = unfocused(launcher).send("do it")
    user.see("Allow once")
    user.until(lambda _: len(called(user)) == 1, "a call")
    assert "Allow this command?" in called(user)[0]


def test_locale_c_draws_ascii(launcher: Launcher) -> None:
    """Python puts LC_CTYPE=C.UTF-8 into its own environment then."""
    user = launcher.start(env={"LANG": "C", "LC_ALL": "", "LC_CTYPE": ""}, ready="")
    rows = user.see("Type a message, or / for commands")
    assert any(row.startswith("> Type a message") for row in rows)
    assert "".join(rows).isascii()
