"""Terminal replies never become keys."""

import pytest

from tau.tui.input.key import Key
from tau.tui.terminal.replies import (
    CellSize,
    ColorReport,
    CursorReport,
    DeviceAttributes,
    FocusReport,
    KeyboardFlags,
    ModeReport,
    NotificationSupport,
    OtherReply,
    SchemeReport,
    SizeReport,
    TerminalModel,
    TerminalReply,
    TerminalVersion,
)
from tests.tui.input.input_rig import Typed

REPLIES: list[tuple[bytes, TerminalReply]] = [
    (b"\x1b[?62;4;22c", DeviceAttributes((62, 4, 22))),
    (b"\x1b[?6c", DeviceAttributes((6,))),
    (b"\x1b[?7u", KeyboardFlags(7)),
    (b"\x1b[?2026;2$y", ModeReport(2026, 2)),
    (b"\x1b]11;rgb:ffff/8080/0000\x1b\\", ColorReport("background", 1.0, 0x8080 / 0xFFFF, 0.0)),
    (b"\x1b]11;rgb:ff/ff/ff\x07", ColorReport("background", 1.0, 1.0, 1.0)),
    (b"\x1b]11;rgba:0/0/0/ffff\x07", ColorReport("background", 0.0, 0.0, 0.0)),
    (b"\x1b]11;#ffffff\x07", ColorReport("background", 1.0, 1.0, 1.0)),
    (b"\x1b]10;rgb:0/0/0\x07", ColorReport("foreground", 0.0, 0.0, 0.0)),
    (b"\x1b]11;nonsense\x07", OtherReply("\x1b]11;nonsense\x07")),
    (b"\x1b]99;i=tau:p=?;p=title,body\x1b\\", NotificationSupport("i=tau:p=?;p=title,body")),
    (b"\x1b[48;24;80;480;800t", SizeReport(24, 80, 480, 800)),
    (b"\x1b[6;20;10t", CellSize(20, 10)),
    (b"\x1b[?997;1n", SchemeReport("dark")),
    (b"\x1b[?997;2n", SchemeReport("light")),
    (b"\x1b[I", FocusReport(True)),
    (b"\x1b[O", FocusReport(False)),
    (b"\x1b[>1;2;3c", TerminalModel((1, 2, 3))),
    (b"\x1b[?24;80R", CursorReport(24, 80)),
    (b"\x1b[?1;2R", CursorReport(1, 2)),
    (b"\x1b[?1;2;1R", CursorReport(1, 2)),
    (b"\x1b[24;80R", OtherReply("\x1b[24;80R")),
    (b"\x1b[0n", OtherReply("\x1b[0n")),
    (b"\x1bP>|kitty(0.35)\x1b\\", TerminalVersion("kitty(0.35)")),
    (b"\x1b_Gi=1;OK\x1b\\", OtherReply("\x1b_Gi=1;OK\x1b\\")),
]


@pytest.mark.parametrize(("data", "reply"), REPLIES)
def test_reply_is_a_value_and_never_a_key_however_it_is_cut(data: bytes, reply: TerminalReply) -> None:
    assert Typed().feed(b"a" + data + b"b").events == [Key("a", "a", raw="a"), reply, Key("b", "b", raw="b")]
    for cut in range(1, len(data)):
        assert Typed().feed(data[:cut], 1).feed(data[cut:]).events == [reply]
    typed = Typed()
    typed.buffer.patient = True
    for byte in data:
        typed.feed(bytes([byte]), 60)
    assert typed.events == [reply]


def test_background_is_light_or_dark_by_perceived_brightness() -> None:
    assert ColorReport("background", 1.0, 1.0, 0.9).shade == "light"
    assert ColorReport("background", 0.1, 0.1, 0.3).shade == "dark"
    assert ColorReport("background", 0.0, 0.0, 1.0).shade == "dark"
    assert ColorReport("background", 0.0, 1.0, 0.0).shade == "light"
