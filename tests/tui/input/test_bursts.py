"""Unmarked pastes are distinguished from typing by their pace."""

import pytest

from tau.tui.input.key import Paste
from tau.tui.input.unmarked_pastes import PasteDetector
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


def test_line_and_its_end_in_one_read_are_a_paste() -> None:
    for line in (b"!touch x\r", b"$open('x')\r", b"fix the test\r", b"y\r", b"\rls", b"x" * 500 + b"\r"):
        typed = Typed().feed(line, PasteDetector.QUIET_MS + 1)
        assert typed.events == [Paste(line.decode().replace("\r", "\n"))]


def test_line_end_right_after_the_text_is_part_of_it() -> None:
    typed = Typed().feed(b"!touch x", 15).feed(b"\r", 50)
    assert "enter" not in typed.names and typed.pastes == ["\n"]


def test_enter_in_its_own_read_after_a_pause_submits() -> None:
    typed = Typed().feed(b"!touch x", PasteDetector.QUIET_MS + 1).feed(b"\r")
    assert typed.names[-1] == "enter" and typed.pastes == []


def test_enter_after_a_pause_submits_although_the_terminal_answers_a_query_meanwhile() -> None:
    typed = Typed().feed(b"early", 15).feed(b"\x1b[?64;1c", 15).feed(b"\x1b[?64;1c", 15).feed(b"\r", 50)
    assert typed.names[-1] == "enter" and typed.pastes == []


@pytest.mark.parametrize(
    "text", [b"fix the test\r", b"y\r", b"!touch x\r", b"$x\r", b"one\rtwo\r", b"x" * 80 + b"\r"]
)
def test_lines_that_arrive_before_the_program_reads_are_text_without_the_last_line_end(text: bytes) -> None:
    early = Typed()
    early.buffer.feed(text, early=True)
    early.wait(50)
    assert early.events == [Paste(text.decode().removesuffix("\r").replace("\r", "\n"))]
    early.feed(b"z\r", 50)
    assert early.pastes[-1] == "z\n", "only the first read is early"


def test_keys_that_arrive_before_the_program_reads_are_typed() -> None:
    early = Typed()
    early.buffer.feed(b"fix the test", early=True)
    early.wait(50)
    assert "".join(early.names).replace("space", " ") == "fix the test"
    assert early.feed(b"\r").names[-1] == "enter"


def test_typing_is_never_mistaken_for_a_paste() -> None:
    text = b"a line of text typed by a person\rand another one\r\rand more of it, quite long\r" * 4
    typed = Typed().slowly(text, each_ms=8)
    assert typed.pastes == []
    assert typed.names.count("enter") == 16


@pytest.mark.parametrize("stalled", [b"\r\r\r", b"\r" * 40, b"a" * 40, b"\r\n"])
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


def test_burst_is_a_paste_even_if_the_terminal_marks_pastes() -> None:
    typed = Typed().feed(START + b"x" + END, 50).feed(b"!touch x\r", 50)
    assert typed.pastes == ["x", "!touch x\n"]
    assert typed.names == []


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
