"""A paste is one event, whatever it contains and however it arrives."""

import random

import pytest

from tau.tui.input import decoder as buffer_module
from tau.tui.input.decoder import PASTE_MS
from tau.tui.input.key import Key, Paste
from tests.tui.input.input_rig import END, START, Typed


def test_paste_is_one_event_with_newlines() -> None:
    typed = Typed().feed(b"x" + START + b"one\r\ntwo\rthree\n\xc3\xa9\x1b[31m" + END + b"y")
    assert typed.events == [
        Key("x", "x", raw="x"),
        Paste("one\ntwo\nthree\né\x1b[31m"),
        Key("y", "y", raw="y"),
    ]
    assert typed.timer.pending == 0


def test_paste_cut_at_any_byte_is_the_same_paste() -> None:
    data = b"a" + START + "zwei\r\nübel".encode() + END + b"b"
    for cut in range(1, len(data)):
        typed = Typed().feed(data[:cut], 1).feed(data[cut:])
        assert typed.pastes == ["zwei\nübel"]
        assert typed.names == ["a", "b"]


def test_paste_of_ten_thousand_chunks_is_one_event() -> None:
    text = "".join(random.Random(7).choices("abc é字\n", k=10_000))
    data = START + text.encode() + END
    typed = Typed()
    for at in range(0, len(data), 2):
        typed.feed(data[at : at + 2], 1)
    assert typed.events == [Paste(text)]


def test_five_megabytes_are_one_paste() -> None:
    text = "0123456789abcdef\n" * 300_000
    typed = Typed()
    data = START + text.encode() + END
    for at in range(0, len(data), 4096):
        typed.feed(data[at : at + 4096])
    assert typed.pastes == [text]


def test_unterminated_paste_is_delivered_and_nothing_is_lost() -> None:
    typed = Typed().feed(START + b"one\rtwo\x1b[20", PASTE_MS - 1)
    assert typed.events == []
    assert typed.wait(2).pastes == ["one\ntwo\x1b[20"]
    assert typed.feed(b"x").names == ["x"]
    assert typed.feed(END).names == ["x"]
    assert typed.timer.pending == 0


def test_input_after_an_unterminated_paste_does_not_submit_line_by_line() -> None:
    typed = Typed().feed(START + b"one\r", PASTE_MS + 1)
    typed.feed(b"and the second line\rand the third line\r" + END, 100)
    assert typed.pastes == ["one\n", "and the second line\nand the third line\n"]
    assert typed.names == []


def test_slow_paste_waits_while_data_arrives() -> None:
    typed = Typed().feed(START)
    for _ in range(20):
        typed.feed(b"piece ", PASTE_MS * 0.9)
    assert typed.events == []
    assert typed.feed(END).pastes == ["piece " * 20]


def test_end_marker_inside_the_text_does_not_release_keys() -> None:
    assert Typed().feed(START + b"a" + END + b"rm -rf\r" + END + b"z").events == [
        Paste("arm -rf\n"),
        Key("z", "z", raw="z"),
    ]
    assert Typed().feed(START + b"a" + START + b"b" + END + b"c").events == [
        Paste("ab"),
        Key("c", "c", raw="c"),
    ]
    two = Typed().feed(START + b"a" + END + START + b"b" + END)
    assert two.pastes == ["a", "b"]


def test_empty_paste_is_an_event_too() -> None:
    assert Typed().feed(START + END).events == [Paste("")]


def test_oversized_paste_comes_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffer_module, "MAX_PASTE_BYTES", 1000)
    typed = Typed().feed(START)
    for _ in range(50):
        typed.feed(b"x" * 100)
    typed.feed(END)
    assert len(typed.pastes) > 1
    assert "".join(typed.pastes) == "x" * 5000
