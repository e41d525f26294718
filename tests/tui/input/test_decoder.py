"""Bytes from a terminal, in any chunking and at any pace, become whole keys, in order."""

import random

import pytest

from tau.tui.input.decoder import ESCAPE_MS, PARTIAL_MS
from tau.tui.input.key import Key, Paste
from tau.tui.terminal.replies import ColorReport, DeviceAttributes, OtherReply
from tests.tui.input.input_rig import END, START, Typed


def test_input_is_delivered_at_once_and_in_order() -> None:
    typed = Typed().feed(b"a\x1b[A\x03\xc3\xa9\x1bb\r")
    assert typed.names == ["a", "up", "ctrl+c", "é", "alt+b", "enter"]
    assert typed.calls == 1
    assert typed.timer.pending == 0


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (b"\x1b[1;5C", ["ctrl+right"]),
        (b"\x1bOA", ["up"]),
        (b"\x1b\x1b[A", ["alt+up"]),
        (b"\x1b[97:65;2;65u", ["A"]),
        (b"\x1b[[A", ["f1"]),
        (b"\x1b[3$", ["shift+delete"]),
        (b"\x1b\xc3\xa9", ["alt+é"]),
        ("🙂é字".encode(), ["🙂", "é", "字"]),
        (b"\x1b[<0;10;10M\x1b[<0;10;10mx", ["x"]),
        (b"\x1b[M !!x", ["x"]),
        (b"\x1b[M\xe3\xa0\xb0x", ["x"]),
        (b"\x1b[32;10;10Mx", ["x"]),
    ],
)
def test_sequence_cut_at_any_byte_is_the_same_sequence(data: bytes, names: list[str]) -> None:
    assert Typed().feed(data).names == names
    for cut in range(1, len(data)):
        assert Typed().feed(data[:cut], 1).feed(data[cut:]).names == names
    typed = Typed()
    for byte in data:
        typed.feed(bytes([byte]), 1)
    assert typed.names == names


def test_lone_escape_is_the_key_after_a_timeout() -> None:
    typed = Typed().feed(b"\x1b", ESCAPE_MS - 1)
    assert typed.names == []
    assert typed.wait(2).names == ["escape"]
    assert typed.timer.pending == 0


def test_escape_timeout_can_be_set() -> None:
    typed = Typed(escape_ms=300).feed(b"\x1b", 299)
    assert typed.names == []
    assert typed.wait(2).names == ["escape"]


def test_double_escape_is_two_keys_even_in_one_read() -> None:
    assert Typed().feed(b"\x1b\x1b", 200).names == ["escape", "escape"]
    assert Typed().feed(b"\x1b\x1b\x1b", 200).names == ["escape"] * 3
    assert Typed().feed(b"\x1b", 200).feed(b"\x1b", 200).names == ["escape", "escape"]


def test_escape_right_before_a_reply_or_a_paste_is_still_a_key() -> None:
    typed = Typed().feed(b"\x1b\x1b[?62;22c")
    assert typed.events == [Key("escape", raw="\x1b"), DeviceAttributes((62, 22))]
    typed = Typed().feed(b"\x1b\x1b]11;rgb:00/00/00\x1b\\")
    assert typed.names == ["escape"]
    assert isinstance(typed.events[1], ColorReport)
    assert Typed().feed(b"\x1b" + START + b"x" + END).events == [Key("escape", raw="\x1b"), Paste("x")]


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"\x1b[", "alt+["),
        (b"\x1bO", "alt+shift+o"),
        (b"\x1b]", "alt+]"),
        (b"\x1bP", "alt+shift+p"),
        (b"\x1b_", "alt+_"),
    ],
)
def test_lone_sequence_introducer_is_a_key_with_alt(data: bytes, name: str) -> None:
    assert Typed().feed(data, PARTIAL_MS).names == [name]


def test_endless_sequence_types_nothing() -> None:
    typed = Typed().feed(b"\x1b[1;5", PARTIAL_MS - 1)
    assert typed.events == []
    typed.wait(2)
    assert typed.events == [Key("unknown", raw="\x1b[1;5")]
    assert typed.feed(b"x").names == ["unknown", "x"]


def test_key_pressed_in_the_middle_of_a_sequence_arrives() -> None:
    assert Typed().feed(b"\x1b[?62\x03").events == [OtherReply("\x1b[?62"), Key("ctrl+c", raw="\x03")]
    assert Typed().feed(b"\x1b]11;rgb:\x1b[A").names == ["up"]
    assert Typed().feed(b"\x1b[1;\x1b[B").names == ["unknown", "down"]
    assert Typed().feed(b"\x1b[?2026\x1b[99;5u").names == ["ctrl+c"]


def test_overlong_sequence_is_abandoned_and_keys_arrive() -> None:
    typed = Typed().feed(b"\x1b[?" + b"1;" * 150)
    assert len(typed.events) > 1
    assert Typed().feed(b"\x1b[?" + b"1;" * 500 + b"\x1b[A").names[-1] == "up"
    assert Typed().feed(b"\x1b]11;" + b"x" * 5000, 50).feed(b"\r").names[-1] == "enter"


def test_invalid_utf8_is_replaced_and_never_raises() -> None:
    assert Typed().feed(b"a\xffb\xc3(").names == ["a", "\ufffd", "b", "\ufffd", "("]
    assert Typed().feed(b"\xed\xa0\x80").names == ["\ufffd"] * 3  # half of a pair
    assert Typed().feed(b"\xe2\x82", PARTIAL_MS + 1).names == ["\ufffd"]
    assert Typed().feed(b"\xf0\x9f").feed(b"x").names == ["\ufffd", "x"]


def test_multi_codepoint_emoji_is_one_key() -> None:
    family = "👨‍👩‍👧"
    assert Typed().feed(f"{family}a".encode()).events == [
        Key(family, family, raw=family),
        Key("a", "a", raw="a"),
    ]


def test_crlf_for_enter_presses_it_once() -> None:
    assert Typed().feed(b"\r\n").names == ["enter"]


def test_backspace_follows_the_line_discipline() -> None:
    assert Typed().feed(b"\x7f\x08").names == ["backspace", "ctrl+backspace"]
    assert Typed(backspace="\x08").feed(b"\x7f\x08\x1b\x08").names == [
        "backspace",
        "backspace",
        "alt+backspace",
    ]


def test_nothing_is_delivered_after_close() -> None:
    typed = Typed().feed(b"\x1b").feed(START + b"abc")
    typed.buffer.close()
    assert typed.wait(5000).pastes == []
    assert typed.timer.pending == 0


def test_flush_delivers_pending_input() -> None:
    typed = Typed().feed(START + b"abc")
    typed.buffer.flush()
    typed.feed(b"\x1b")
    typed.buffer.flush()
    assert typed.pastes == ["abc"]
    assert typed.names == ["escape"]


def test_random_bytes_in_random_chunks_never_raise_or_yield_controls() -> None:
    rng = random.Random(4)
    pieces = [
        b"\x1b",
        b"[",
        b"]",
        b"O",
        b"P",
        b"_",
        b"?",
        b"200~",
        b"201~",
        b";",
        b"1",
        b"$",
        b"M",
        b"\x07",
        b"\\",
        b"u",
    ]
    for _ in range(400):
        typed = Typed()
        for _ in range(rng.randrange(1, 60)):
            piece = rng.choice(pieces) if rng.random() < 0.6 else rng.randbytes(rng.randrange(1, 4))
            typed.feed(piece, rng.choice((0, 0, 1, 30, 300)))
        typed.wait(3000)
        assert typed.timer.pending == 0
        for event in typed.events:
            if isinstance(event, Key):
                assert not any(char < " " or "\x7f" <= char < "\xa0" for char in event.text)
            if isinstance(event, Paste):
                event.text.encode()
