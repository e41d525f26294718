"""Titles, notifications and the clipboard: no text can break out of their sequences."""

from base64 import b64decode

import pytest

from tau.tui.terminal.clipboard import MAX_COPY_BYTES, copy_sequence
from tau.tui.terminal.notify import notification
from tau.tui.terminal.sequences import title
from tests.support.terminal.virtual import VirtualTerminal

HOSTILE = "a\x1b]0;owned\x07b\x9c\nc\x1b\\d\u202e"


def test_notification_in_each_format() -> None:
    assert notification("tau", "done", "bell") == "\x07"
    assert notification("tau", "done", "off") == ""
    assert notification("tau", "done", "osc9") == "\x1b]9;tau: done\x1b\\"
    assert notification("4;1;50", "", "osc9") == "\x1b]9; 4;1;50\x1b\\"


def test_osc_99_arrives_as_a_title_and_a_body() -> None:
    terminal = VirtualTerminal()
    terminal.write(notification("tau", "ist fertig: ü", "osc99"))
    shown = terminal.notifications  # one part of a message each
    assert "".join(part.title for part in shown) == "tau"
    assert "".join(part.body for part in shown) == "ist fertig: ü"


@pytest.mark.parametrize("protocol", ["osc9", "osc99"])
def test_notification_cannot_be_escaped_from(protocol: str) -> None:
    terminal = VirtualTerminal()
    terminal.write(notification(HOSTILE, HOSTILE, protocol))  # type: ignore[arg-type]
    assert terminal.title == ""
    assert terminal.tape() == VirtualTerminal().tape()


def test_title_cannot_be_escaped_from() -> None:
    terminal = VirtualTerminal()
    terminal.write(title(HOSTILE))
    assert "owned" in terminal.title
    assert terminal.title.isprintable()
    assert terminal.tape() == VirtualTerminal().tape()


def test_text_is_copied_completely_or_not_at_all() -> None:
    terminal = VirtualTerminal()
    sequence = copy_sequence("héllo\n字")
    assert sequence is not None
    terminal.write(sequence)
    assert terminal.clipboard == ["héllo\n字"]
    longest = copy_sequence("x" * MAX_COPY_BYTES)
    assert longest is not None
    assert len(longest) <= 100_000
    assert copy_sequence("x" * (MAX_COPY_BYTES + 1)) is None


def test_screen_gets_it_in_chunks() -> None:
    text = "x" * 5000
    sequence = copy_sequence(text, screen=True)
    assert sequence is not None
    pieces = sequence.split("\x1b\\")
    assert all(len(piece) < 768 for piece in pieces)
    inner = "".join(piece.removeprefix("\x1bP") for piece in pieces)
    assert b64decode(inner.removeprefix("\x1b]52;c;").removesuffix("\x07")).decode() == text
