"""The simulated user: keys, pastes, sizes, and recorded writes."""

import pytest

from tau.tui.input.key import InputEvent, Key, Paste
from tau.tui.terminal.port import Background, Capabilities
from tests.support.terminal.emulator.keys import encoded
from tests.support.terminal.virtual import WRITES_KEPT, VirtualTerminal


class RecordingWatcher:
    def __init__(self) -> None:
        self.events: list[object] = []

    def on_input(self, events: list[InputEvent]) -> None:
        self.events.append(events)

    def on_resize(self) -> None:
        self.events.append("resize")

    def on_cursor(self, row: int, column: int) -> None:
        self.events.append((row, column))

    def on_background(self, background: Background) -> None:
        self.events.append(background)

    def on_focus(self, focused: bool) -> None:
        self.events.append(focused)

    def on_capabilities(self) -> None:
        self.events.append("capabilities")

    def on_closed(self) -> None:
        self.events.append("closed")


def test_user_actions_reach_the_watcher() -> None:
    terminal, emitted = VirtualTerminal(), RecordingWatcher()
    terminal.start(emitted)
    terminal.type("a \n")
    terminal.press("ctrl+c", "x")
    terminal.paste("two\nlines")
    terminal.resize(40, 10)
    terminal.resize(40, 10)
    terminal.focus(False)
    terminal.background("light")
    terminal.close()
    assert emitted.events == [
        [Key("a", "a"), Key("space", " "), Key("enter")],
        [Key("ctrl+c"), Key("x", "x")],
        [Paste("two\nlines")],
        "resize",
        False,
        "light",
        "closed",
    ]


def test_stopped_terminal_notifies_nobody_but_still_displays() -> None:
    terminal, emitted = VirtualTerminal(), RecordingWatcher()
    terminal.start(emitted)
    terminal.stop()
    terminal.type("a")
    terminal.resize(10, 10)
    terminal.write("shown")
    assert emitted.events == []
    assert terminal.tape() == ["shown"]


def test_writes_are_recorded_within_limits_and_bytes_counted() -> None:
    terminal = VirtualTerminal()
    for _ in range(WRITES_KEPT + 10):
        terminal.write("é")
    assert len(terminal.writes) == WRITES_KEPT
    assert terminal.bytes_written == 2 * (WRITES_KEPT + 10)


def test_capabilities_default_to_a_modern_terminal() -> None:
    assert VirtualTerminal().capabilities.synchronized_output
    assert VirtualTerminal(multiplexer=True).capabilities.multiplexer
    assert VirtualTerminal(capabilities=Capabilities()).capabilities == Capabilities()


@pytest.mark.parametrize(
    ("name", "legacy", "kitty"),
    [
        ("a", "a", "a"),
        ("A", "A", "A"),
        ("+", "+", "+"),
        ("ctrl+c", "\x03", "\x1b[99;5u"),
        ("ctrl+space", "\0", "\x1b[32;5u"),
        ("ctrl++", "+", "\x1b[43;5u"),
        ("alt+x", "\x1bx", "\x1b[120;3u"),
        ("enter", "\r", "\r"),
        ("shift+enter", "\r", "\x1b[13;2u"),
        ("tab", "\t", "\t"),
        ("shift+tab", "\x1b[Z", "\x1b[9;2u"),
        ("escape", "\x1b", "\x1b[27u"),
        ("backspace", "\x7f", "\x7f"),
        ("up", "\x1b[A", "\x1b[A"),
        ("ctrl+left", "\x1b[1;5D", "\x1b[1;5D"),
        ("pageUp", "\x1b[5~", "\x1b[5~"),
        ("shift+delete", "\x1b[3;2~", "\x1b[3;2~"),
        ("f1", "\x1bOP", "\x1bOP"),
        ("f5", "\x1b[15~", "\x1b[15~"),
    ],
)
def test_keys_are_sent_in_the_requested_encoding(name: str, legacy: str, kitty: str) -> None:
    terminal = VirtualTerminal()
    assert terminal.bytes_of(name) == legacy
    terminal.write("\x1b[>1u")
    assert terminal.bytes_of(name) == kitty


def test_other_key_encodings() -> None:
    assert encoded("ctrl+shift+p", modify_other_keys=2) == "\x1b[27;6;112~"
    assert encoded("shift+enter", modify_other_keys=2) == "\x1b[27;2;13~"
    assert encoded("up", application_cursor=True) == "\x1bOA"
