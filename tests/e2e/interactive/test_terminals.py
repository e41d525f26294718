"""Other terminals: without colours, light, narrow, resized, read aloud, inside tmux."""

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.interactive.desk import SEE_SECONDS, WELCOME, Desk, Seat
from tests.e2e.program import FAKE, TAU
from tests.support.fake_answers import Answer, Call, Status, Text
from tests.support.terminal.virtual import Answers

COLOR = re.compile(rb"\x1b\[[0-9;:]*m")


def test_no_color_means_no_colour(desk: Desk) -> None:
    desk.tau.script((Text("# Title\n\n**bold** `code`"), Call("bash", {"command": "echo out"})), "Done.")
    seat = desk.start(env={"NO_COLOR": "1"}).send("go")
    seat.see("Done.")
    assert seat.leave() == 0
    colours = [
        one for one in COLOR.findall(bytes(seat.term.output)) if re.search(rb"[;\[:](3|4|9|10)[0-9]", one)
    ]
    assert colours == []


def test_a_screen_reader_gets_lines_in_order(desk: Desk) -> None:
    desk.tau.script((Text("Some words."), Call("bash", {"command": "echo out-$((1 + 1))"})), "The end.")
    seat = desk.start("--screen-reader").send("go")
    seat.see("out-2", "The end.")
    assert b"\x1b[H" not in seat.term.output and b"\x1b[2J" not in seat.term.output
    told = seat.told
    assert not set("╭╮╰╯│┌┐└┘█▓") & set(told)
    assert told.index("Some words.") < told.index("out-2") < told.index("The end.")


def test_a_light_terminal_gets_the_light_theme(desk: Desk) -> None:
    light = desk.start(answers=Answers(background="rgb:ffff/ffff/ffff")).send("/theme")
    light.see("Theme for light terminals", "paper ✓")


def test_a_terminal_that_answers_nothing_works_too(desk: Desk) -> None:
    desk.tau.script("Heard.")
    seat = desk.start(answers=False).send("hello")
    seat.see("Heard.")
    assert seat.leave() == 0


def test_ascii_symbols(desk: Desk) -> None:
    desk.settings(theme__symbols="ascii")
    desk.tau.script((Text("- a\n- b"), Call("bash", {"command": "echo out"})), "Done.")
    seat = desk.start().send("go")
    seat.see("Done.")
    assert seat.told.isascii()


def test_resizing_while_it_streams_loses_no_line_and_clears_nothing(desk: Desk) -> None:
    lines = [f"row-{number:03} of the stream" for number in range(120)]
    desk.tau.script(Answer((Text("\n\n".join(lines), deltas=240),), delay_s=0.005))
    seat = desk.start().send("go")
    for number, (columns, rows) in enumerate([(60, 20), (100, 30), (50, 12), (80, 24)]):
        mark = f"row-{number * 20 + 5:03}"
        seat.until(lambda _, mark=mark: any(mark in row for row in seat.term.tape()), mark)  # type: ignore[misc]
        seat.term.resize(columns, rows)
    seat.see("row-119")
    seat.rests()
    last = {row.strip(): at for at, row in enumerate(seat.term.tape())}
    places = [last[line] for line in lines]
    assert places == sorted(places)
    assert b"\x1b[3J" not in seat.term.output and b"\x1b[2J" not in seat.term.output


def test_a_long_answer_is_once_in_the_history(desk: Desk) -> None:
    lines = [f"item-{number:04}" for number in range(300)]
    desk.tau.script(Answer((Text("\n\n".join(lines), deltas=300),)), "Bye.")
    seat = desk.start().send("go")
    seat.see("item-0299")
    seat.send("bye").see("Bye.")
    assert seat.leave() == 0
    told = seat.told
    assert [line for line in lines if told.count(line) != 1] == []


def test_a_background_that_changes_brings_the_other_theme(desk: Desk) -> None:
    seat = desk.start()
    seat.until(lambda _: seat.term.terminal.modes.get(2031, False), "the wish to be told")
    seat.term.background("rgb:ffff/ffff/ffff")
    seat.send("/theme").see("paper ✓")


def test_ctrl_l_draws_the_screen_anew(desk: Desk) -> None:
    desk.tau.script("Stays here.")
    seat = desk.start().ask("hello", "Stays here.")
    seat.term.scribble("\x1b[1;1Hnoise of another program\x1b[5;1Hmore of it")
    seat.see("noise of another program")
    seat.press("ctrl+l").miss("noise", "more of it")
    seat.see("Stays here.", "❯ hello")
    assert seat.told.count("Stays here.") == 1


def test_the_title_names_the_program(desk: Desk) -> None:
    seat = desk.start()
    seat.until(
        lambda _: "project" in seat.term.terminal.title or "tau" in seat.term.terminal.title, "a title"
    )


class Tmux:
    """A server of our own, without the user's configuration."""

    def __init__(self, folder: Path) -> None:
        self._socket = str(folder / "tmux.sock")

    def call(self, *words: str) -> str:
        ran = subprocess.run(
            ["tmux", "-S", self._socket, "-f", "/dev/null", *words],
            capture_output=True,
            text=True,
            timeout=10,
        )
        return ran.stdout

    def see(self, text: str, seconds: float = SEE_SECONDS) -> str:
        end = time.monotonic() + seconds
        while text not in (shown := self.call("capture-pane", "-p", "-t", "t")):
            assert time.monotonic() < end, shown
            time.sleep(0.02)
        return shown


@pytest.fixture
def tmux(desk: Desk, tmp_path: Path) -> Iterator[Tmux]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    made = Tmux(tmp_path)
    shell = ["-x", "80", "-y", "24", "-c", str(desk.tau.project), "bash --norc"]
    made.call("new-session", "-d", "-s", "t", *shell)
    try:
        made.call("send-keys", "-t", "t", f"{' '.join([*TAU, *FAKE])}; echo left-$?", "Enter")
        made.see(WELCOME)
        yield made
    finally:
        made.call("kill-server")


def test_in_tmux_a_conversation(desk: Desk, tmux: Tmux) -> None:
    desk.tau.script("# Title\n\nHello from tmux.", "Second.")
    tmux.call("send-keys", "-t", "t", "hi", "Enter")
    tmux.see("Hello from tmux.")
    tmux.call("send-keys", "-t", "t", "more", "Enter")
    tmux.see("Second.")
    tmux.call("send-keys", "-t", "t", "C-d")
    tmux.see("left-0")
    history = tmux.call("capture-pane", "-p", "-S", "-", "-t", "t")
    assert history.count("Hello from tmux.") == 1


def test_in_tmux_escape_stops_and_a_resize_keeps_the_rows(desk: Desk, tmux: Tmux) -> None:
    words = "\n\n".join(f"line-{number:03}" for number in range(60))
    desk.tau.script(
        Answer((Text(words, deltas=60),)), Answer((Text("word " * 900, deltas=900),), delay_s=0.01)
    )
    tmux.call("send-keys", "-t", "t", "hi", "Enter")
    tmux.see("line-059")
    tmux.call("resize-window", "-t", "t", "-x", "60", "-y", "20")
    tmux.call("send-keys", "-t", "t", "more", "Enter")
    tmux.see("word word")
    tmux.call("send-keys", "-t", "t", "Escape")
    tmux.see("Stopped.")


def test_in_tmux_ctrl_z_and_fg(desk: Desk, tmux: Tmux) -> None:
    desk.tau.script("Before.", "After.")
    tmux.call("send-keys", "-t", "t", "hi", "Enter")
    tmux.see("Before.")
    tmux.call("send-keys", "-t", "t", "C-z")
    tmux.see("Stopped")
    tmux.call("send-keys", "-t", "t", "clear; fg", "Enter")
    tmux.see("fake-model ─")
    tmux.call("send-keys", "-t", "t", "again", "Enter")
    tmux.see("After.")


def test_a_variable_shows_the_terminals_own_cursor_for_one_run(desk: Desk) -> None:
    desk.tau.settings(**{"display.hardwareCursor": False, "titles.enabled": False})
    hidden = desk.start()
    assert not hidden.term.terminal.cursor_visible
    hidden.leave()
    shown = desk.start(env={"TAU_HARDWARE_CURSOR": "1"})
    assert shown.term.terminal.cursor_visible
    shown.leave()


def unfocused(desk: Desk) -> Seat:
    seat = desk.start()
    seat.until(lambda _: seat.term.terminal.modes.get(1004, False), "the wish to be told of the focus")
    seat.term.focus(False)
    return seat


def called(seat: Seat) -> list[str]:
    """What was told; the title comes in a sequence of its own."""
    return [one.body for one in seat.term.terminal.notifications if one.body]


def test_who_looks_elsewhere_is_called_once_when_the_agent_has_finished(desk: Desk) -> None:
    desk.settings(**{"retry.enabled": True, "retry.baseDelayMs": 10})
    desk.tau.script(Status(529, "Overloaded"), Status(529, "Overloaded"), "Third time lucky.", "Again.")
    seat = unfocused(desk).ask("hello", "Third time lucky.")
    seat.until(lambda _: called(seat) == ["The agent has finished."], "one call")
    seat.term.focus(True)
    seat.ask("more", "Again.")
    assert called(seat) == ["The agent has finished."]


def test_who_looks_elsewhere_is_called_when_something_is_asked(desk: Desk) -> None:
    desk.settings(tools__approvalMode="ask")
    desk.tau.script(Call("bash", {"command": "touch made"}), "Done.")
    seat = unfocused(desk).send("do it")
    seat.see("Allow once")
    seat.until(lambda _: len(called(seat)) == 1, "a call")
    assert "Allow this command?" in called(seat)[0]
