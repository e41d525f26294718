"""Unmarked pastes are distinguished from typing by their pace."""

import pytest

from tau.tui.input.key import Key, Paste
from tau.tui.input.paste_detector import PasteDetector
from tau.tui.terminal.replies import DeviceAttributes
from tests.tui.input.input_rig import END, START, Typed

LINES = b"first line of it\rsecond line\rthe third\r"


def test_burst_of_lines_is_a_paste_if_pastes_are_not_marked() -> None:
    typed = Typed().feed(LINES, PasteDetector.QUIET_MS + 1)
    assert typed.events == [Paste("first line of it\nsecond line\nthe third\n")]


def test_enter_submits_after_a_pause() -> None:
    typed = Typed().feed(LINES, PasteDetector.QUIET_MS + 1).feed(b"\r")
    assert typed.names == ["enter"]


def test_burst_across_many_reads_is_one_paste() -> None:
    typed = Typed()
    for at in range(0, len(LINES * 100), 1000):
        typed.feed((LINES * 100)[at : at + 1000], 2)
    typed.wait(50)
    assert typed.pastes == [(LINES * 100).decode().replace("\r", "\n")]
    assert typed.names == []


def test_burst_byte_by_byte_submits_nothing() -> None:
    typed = Typed()
    for byte in LINES:
        typed.feed(bytes([byte]), 0.5)
    typed.wait(100)
    assert "enter" not in typed.names
    assert "".join(typed.names).replace("space", " ") + "".join(typed.pastes) == LINES.decode().replace(
        "\r", "\n"
    )


def test_single_line_with_enter_from_a_program_submits() -> None:
    short = Typed().feed(b"fix the test\r")
    assert short.names == ["f", "i", "x", "space", "t", "h", "e", "space", "t", "e", "s", "t", "enter"]
    longer = Typed().feed(b"please fix the test that fails\r", 50)
    assert longer.names[-1] == "enter"
    assert longer.pastes == []
    long = Typed().feed(b"x" * 500 + b"\r", 50)
    assert long.events == [Paste("x" * 500), Key("enter", raw="\r")]


def test_typing_is_never_mistaken_for_a_paste() -> None:
    text = b"a line of text typed by a person\rand another one\r\rand more of it, quite long\r" * 4
    typed = Typed().slowly(text, each_ms=8)
    assert typed.pastes == []
    assert typed.names.count("enter") == 16


@pytest.mark.parametrize(
    "stalled", [b"ls -la\r", b"yes\rno\r", b"hello\rworld", b"\r\r\r", b"\r" * 40, b"a" * 40]
)
def test_typing_during_a_stall_is_not_a_paste(stalled: bytes) -> None:
    typed = Typed().feed(stalled, 50)
    assert typed.pastes == []
    assert typed.names.count("enter") == stalled.count(b"\r")


def test_keys_after_a_burst_stay_after_it() -> None:
    typed = Typed().feed(LINES).feed(b"\x1b[A")
    assert isinstance(typed.events[0], Paste)
    assert typed.names == ["up"]
    typed = Typed().feed(LINES + b"\x03")
    assert isinstance(typed.events[0], Paste)
    assert typed.names == ["ctrl+c"]


def test_terminal_that_marks_pastes_is_trusted() -> None:
    typed = Typed().feed(START + b"x" + END).feed(LINES)
    assert typed.pastes == ["x"]
    assert typed.names.count("enter") == 3
    assert Typed(bursts=False).feed(LINES).names.count("enter") == 3


def test_burst_of_megabytes_is_one_paste() -> None:
    typed = Typed()
    for _ in range(500):
        typed.feed(b"some text in lines\r" * 200, 0.1)
    typed.wait(50)
    assert typed.pastes == ["some text in lines\n" * 100_000]


def test_replies_in_a_burst_do_not_split_it() -> None:
    typed = Typed().feed(LINES).feed(b"\x1b[?6c").feed(LINES, 50)
    assert typed.replies == [DeviceAttributes((6,))]
    assert typed.pastes == [(LINES * 2).decode().replace("\r", "\n")]
