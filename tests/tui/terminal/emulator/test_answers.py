"""Queries and answers: what a terminal reports, and what it stores."""

import base64

import pytest

from tests.support.terminal.virtual import Answers, Notification, VirtualTerminal


def replies(text: str, answers: bool | Answers = True) -> list[str]:
    terminal = VirtualTerminal(80, 24, answers=answers)
    terminal.write(text)
    return terminal.replies


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("\x1b[c", "\x1b[?62;4;22;52c"),
        ("\x1b[0c", "\x1b[?62;4;22;52c"),
        ("\x1b[>c", "\x1b[>1;10;0c"),
        ("\x1b[5n", "\x1b[0n"),
        ("\x1b[3;4H\x1b[6n", "\x1b[3;4R"),
        ("\x1b[3;4H\x1b[?6n", "\x1b[?3;4R"),
        ("\x1b[?2026$p", "\x1b[?2026;2$y"),
        ("\x1b[?2026h\x1b[?2026$p", "\x1b[?2026;1$y"),
        ("\x1b[?9999$p", "\x1b[?9999;0$y"),
        ("\x1b[4$p", "\x1b[4;2$y"),
        ("\x1b[>q", "\x1bP>|tau virtual 1\x1b\\"),
        ("\x1b]11;?\x07", "\x1b]11;rgb:1111/1111/1111\x1b\\"),
        ("\x1b]10;?\x1b\\", "\x1b]10;rgb:dddd/dddd/dddd\x1b\\"),
        ("\x1b[?996n", "\x1b[?997;1n"),
        ("\x1b[?u", "\x1b[?0u"),
        ("\x1b[?4m", "\x1b[>4;0m"),
        ("\x1b[14t", "\x1b[4;432;720t"),
        ("\x1b[16t", "\x1b[6;18;9t"),
        ("\x1b[18t", "\x1b[8;24;80t"),
        ("\x1b[?2048h", "\x1b[48;24;80;432;720t"),
        ("\x1b]99;i=1:p=?;\x1b\\", "\x1b]99;i=1:p=?;o=always:p=title,body,?:u=0,1,2\x1b\\"),
        ("\x1bP+q544e\x1b\\", "\x1bP1+r544e=787465726D2D323536636F6C6F72\x1b\\"),
        ("\x1bP+q7878\x1b\\", "\x1bP0+r7878\x1b\\"),
        ("\x1bP$qm\x1b\\", "\x1bP0$r\x1b\\"),
    ],
)
def test_modern_terminal_answers(question: str, answer: str) -> None:
    assert replies(question) == [answer]
    assert replies(question, answers=False) == []


def test_answers_can_be_changed_or_disabled() -> None:
    old = Answers(attributes="1;2", background="", kitty_keyboard=False, modes=frozenset(), notifications="")
    assert replies("\x1b]11;?\x07\x1b[?u\x1b[?2026$p\x1b]99;i=1:p=?;\x07\x1b[c", old) == ["\x1b[?1;2c"]
    light = Answers(background="rgb:ff/ff/ee")
    assert replies("\x1b[?996n", light) == ["\x1b[?997;2n"]


def test_answers_go_to_the_listener() -> None:
    terminal, replies = VirtualTerminal(), []
    terminal.on_reply(replies.append)
    terminal.write("\x1b[5n")
    assert replies == ["\x1b[0n"]


def test_keyboard_flags_are_a_stack_per_screen() -> None:
    terminal = VirtualTerminal()
    terminal.write(
        "\x1b[>1u\x1b[>7u\x1b[?u\x1b[<u\x1b[?u\x1b[?1049h\x1b[?u\x1b[?1049l\x1b[=8;2u\x1b[?u\x1b[=1;3u\x1b[?u"
    )
    terminal.write("\x1b[<9u\x1b[?u")
    assert terminal.replies == [f"\x1b[?{flags}u" for flags in (7, 1, 0, 9, 8, 0)]


def test_modify_other_keys() -> None:
    terminal = VirtualTerminal()
    terminal.write("\x1b[>4;2m")
    assert terminal.keyboard.modify_other_keys == 2
    terminal.write("\x1b[>4m")
    assert terminal.keyboard.modify_other_keys == 0


def test_titles_are_kept_and_stacked() -> None:
    terminal = VirtualTerminal()
    terminal.write("\x1b]0;one\x07\x1b[22;0t\x1b]2;two\x1b\\")
    assert terminal.title == "two"
    terminal.write("\x1b[23;0t")
    assert terminal.title == "one"


def test_notifications_of_three_kinds() -> None:
    terminal = VirtualTerminal()
    terminal.write("\x1b]9;done\x07\x1b]9;4;1;50\x07\x1b]777;notify;Title;Body; more\x07")
    terminal.write("\x1b]99;i=1:d=0;Title\x1b\\\x1b]99;i=1:p=body:e=1;Qm9keQ==\x1b\\")
    assert terminal.notifications == [
        Notification(9, "", "done"),
        Notification(777, "Title", "Body; more"),
        Notification(99, "Title", ""),
        Notification(99, "", "Body"),
    ]


def test_clipboard_is_write_only() -> None:
    terminal = VirtualTerminal()
    terminal.write(f"\x1b]52;c;{base64.b64encode('käse'.encode()).decode()}\x07\x1b]52;c;?\x07")
    assert terminal.clipboard == ["käse"]
    assert terminal.replies == []


def test_bells_are_counted() -> None:
    terminal = VirtualTerminal()
    terminal.write("\x07\x07\x1b]0;t\x07")
    assert terminal.bells == 2


def test_new_size_is_reported_if_requested() -> None:
    terminal = VirtualTerminal(80, 24)
    terminal.write("\x1b[?2048h")
    terminal.resize(40, 10)
    assert terminal.replies[-1] == "\x1b[48;10;40;180;360t"
