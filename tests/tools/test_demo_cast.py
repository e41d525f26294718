"""The recording of `tau demo` is a valid cast that shows the demo, and nothing of the machine it ran on."""

import json
import re
from pathlib import Path

import pytest

from tau.modes.interactive.demo.script import REQUEST
from tests.support.terminal.virtual import VirtualTerminal
from tools.demo_cast import showable

CAST = Path(__file__).parents[2] / "docs" / "images" / "demo.cast"
LARGEST_BYTES = 300_000


def test_recording_is_a_valid_cast() -> None:
    header, *events = map(json.loads, CAST.read_text(encoding="utf-8").splitlines())
    assert (header["version"], header["width"], header["height"]) == (2, 100, 30)
    assert CAST.stat().st_size < LARGEST_BYTES
    assert all(kind == "o" and isinstance(text, str) for _, kind, text in events)
    times = [when for when, _, _ in events]
    assert times == sorted(times)
    assert times[0] < 1
    assert 30 < times[-1] < 120


def test_recording_shows_the_bug_its_fix_and_the_passing_test() -> None:
    _, *events = map(json.loads, CAST.read_text(encoding="utf-8").splitlines())
    player = VirtualTerminal(100, 30)
    for _, _, text in events:
        player.write(text)
    shown = "\n".join(player.tape())
    steps = (f"❯ {REQUEST}", "FAILED (errors=1)", "Edit prices.py", "  OK", "The test passes now.")
    assert [shown.index(step) for step in steps] == sorted(shown.index(step) for step in steps)
    assert "scripted-demo" in "".join(player.screen())
    assert not re.search(r"/home/|/root/|tau-demo-(?!a1b2c3d4)", shown)
    assert player.cursor_visible


def test_recording_asks_the_viewers_terminal_nothing() -> None:
    """Answers would end up on the viewer's command line."""
    _, *events = map(json.loads, CAST.read_text(encoding="utf-8").splitlines())
    player = VirtualTerminal(100, 30)
    for _, _, text in events:
        player.write(text)
    assert player.replies == []
    assert not [mode for mode, is_set in player.modes.items() if is_set and mode not in (7, 25)]
    assert all(showable(text) == text for _, _, text in events)


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("\x1b[1mbold\x1b[22m", "\x1b[1mbold\x1b[22m"),
        ("\x1b[?2026h\x1b[3A\x1b[2Kx\x1b[?25l\x1b[?2026l", "\x1b[?2026h\x1b[3A\x1b[2Kx\x1b[?25l\x1b[?2026l"),
        (
            "\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x07",
            "\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x07",
        ),
        ("\x1b[c\x1b[>q\x1b[?u\x1b[?6n\x1b[14t\x1b[?2026$pa", "a"),
        ("\x1b[>1u\x1b[?2004h\x1b[?1004h\x1b[=5;1ub", "b"),
        ("\x1b]11;?\x07\x1b]0;title\x1b\\\x1bP+q544e\x1b\\\x1b_Gi=1,a=q;AAAA\x1b\\c", "c"),
        ("\x1b7\x1b[r\x1b8\x1b=d", "\x1b7\x1b[r\x1b8d"),
    ],
    ids=["style", "frame", "link", "queries", "keyboard", "strings", "escapes"],
)
def test_recording_keeps_only_what_draws(written: str, kept: str) -> None:
    assert showable(written) == kept
