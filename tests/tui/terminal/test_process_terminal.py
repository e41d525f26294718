"""A real program on a real pty: its keys, its size, and its queries."""

import termios

from tests.tui.terminal.pty_child import (
    RUN,
    SWITCHES,
    answers_like_a_modern_terminal,
    assert_as_found,
    pty_child,
)


def test_keys_arrive_as_pressed_including_signal_keys() -> None:
    with pty_child(RUN) as child:
        child.wait_for("ready")
        child.type(b"a\x03\x1a\x1c\x04\x13\x11\x0f\x16\r")
        child.wait_for("key", "enter")
        child.type(b"q")
        assert child.ends() == 0
        names = [entry[1] for entry in child.log if entry[0] == "key"]
        assert names == [
            *(
                "a",
                "ctrl+c",
                "ctrl+z",
                "ctrl+\\",
                "ctrl+d",
                "ctrl+s",
                "ctrl+q",
                "ctrl+o",
                "ctrl+v",
                "enter",
                "q",
            )
        ]
        assert_as_found(child)


def test_paste_and_focus_are_reported() -> None:
    with pty_child(RUN) as child:
        child.wait_for("ready")
        child.type(b"\x1b[200~one\rtwo\x1b[201~\x1b[O\x1b[I")
        child.wait_for("focus", True)
        child.type(b"q")
        assert child.ends() == 0
        assert ["paste", "one\ntwo"] in child.log
        assert child.log.index(["focus", False]) < child.log.index(["focus", True])


def test_size_is_known_and_changes_are_reported_once() -> None:
    with pty_child(RUN) as child:
        child.wait_for("ready")
        child.resize(100, 30)
        child.wait_for("size", 100, 30)
        child.type(b"\x1b[48;40;120;800;1200t")  # the terminal may report it on its own
        child.wait_for("size", 120, 40)
        child.type(b"q")
        assert child.ends() == 0
        assert [entry for entry in child.log if entry[0] == "size"] == [["size", 100, 30], ["size", 120, 40]]


def test_terminal_features_are_enabled_and_disabled_at_the_end() -> None:
    with pty_child(RUN) as child:
        child.answer = answers_like_a_modern_terminal
        child.wait_for("background", "light")
        child.until(lambda: b"\x1b[?2048h" in child.shown, "in-band sizes")
        child.type(b"xq")
        assert child.ends() == 0
        assert [entry[1] for entry in child.log if entry[0] == "key"] == ["x", "q"]
        for on, _ in SWITCHES[:5]:
            assert child.shown.count(on) == 1
        assert b"\x1b[>4;2m" not in child.shown
        assert_as_found(child)


def test_input_typed_before_the_start_is_not_lost() -> None:
    with pty_child(RUN) as child:
        child.type(b"abc")
        child.wait_for("key", "c")
        child.type(b"q")
        assert child.ends() == 0
        assert [entry[1] for entry in child.log if entry[0] == "key"] == ["a", "b", "c", "q"]


def test_backspace_is_the_erase_character_of_the_tty() -> None:
    with pty_child(RUN) as child:
        attributes = termios.tcgetattr(child.slave)
        attributes[6][termios.VERASE] = b"\x08"
        termios.tcsetattr(child.slave, termios.TCSANOW, attributes)
        child.wait_for("ready")
        child.type(b"\x08q")
        assert child.ends() == 0
        assert ["key", "backspace"] in child.log


def test_escape_timeout_can_be_set() -> None:
    with pty_child(RUN, TAU_ESC_TIMEOUT_MS="5000", TERM="linux") as child:
        child.wait_for("ready")
        child.type(b"\x1b")
        child.until(lambda: child.unread == 0, "reading of the Escape")
        child.type(b"q")  # in time: both are one key
        child.wait_for("key", "alt+q")
        child.type(b"q")
        assert child.ends() == 0
