"""The parser is independent of chunking, and recovers from every partial sequence."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.support.terminal.emulator import parser as parsers
from tests.support.terminal.emulator.parser import Parser
from tests.support.terminal.virtual import VirtualTerminal


class ParserLog:
    """Records the parser's calls; runs of text are joined, since their boundaries mean nothing."""

    def __init__(self) -> None:
        self.all: list[tuple[str, ...]] = []

    def text(self, text: str) -> None:
        if self.all and self.all[-1][0] == "text":
            text = self.all.pop()[1] + text
        self.all.append(("text", text))

    def control(self, char: str) -> None:
        self.all.append(("control", char))

    def escape(self, intermediates: str, final: str) -> None:
        self.all.append(("escape", intermediates, final))

    def csi(self, params: str, intermediates: str, final: str) -> None:
        self.all.append(("csi", params, intermediates, final))

    def string(self, kind: str, data: str) -> None:
        self.all.append((kind, data))


def parsed(*pieces: str) -> list[tuple[str, ...]]:
    found = ParserLog()
    parser = Parser(found)
    for piece in pieces:
        parser.feed(piece)
    return found.all


PIECES = st.sampled_from(
    [
        *(
            "plain",
            "é日👍",
            "\r\n",
            "\t",
            "\x1b",
            "\x1b[",
            "\x1b[1;2",
            "\x1b[31m",
            "\x1b[38:2::1:2:3m",
            "\x1b[?25h",
        ),
        *(
            "\x1b[>4;2m",
            "\x1b[1$r",
            "\x1b[ 1A",
            "\x1b(0",
            "\x1b#8",
            "\x1b]0;title\x07",
            "\x1b]8;;u\x1b\\",
            "\x1b]5",
        ),
        *(
            "\x1b_Gi=1;AAAA\x1b\\",
            "\x1bPq#0~\x1b\\",
            "\x1bX sos\x1b\\",
            "\x1b^pm\x9c",
            "\x18",
            "\x1a",
            "\x9b5A",
            "\x9d2;t\x9c",
        ),
        *("\x85", "\x7f", "\\", "\x1b\\", "\x07", "0", ";", "m", "\x00"),
    ]
)


@given(st.lists(PIECES, max_size=12).map("".join), st.lists(st.integers(0, 60), max_size=6))
def test_chunking_does_not_matter(data: str, cuts: list[int]) -> None:
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    pieces = [data[start:end] for start, end in pairwise(places)]
    assert parsed(*pieces) == parsed(data) == parsed(*data)


@given(
    st.text(
        alphabet=st.sampled_from([*"\x1b[]PX^_\\;:0129?<>=$ !mHJq\x07\x18\x1a\x9b\x9c\x9d\x90aé日\r\n"]),
        max_size=60,
    )
)
def test_any_bytes_leave_a_usable_terminal(data: str) -> None:
    terminal = VirtualTerminal(20, 5)
    terminal.write(data)
    terminal.write("\x18\x1b\\\x1bc\x1b[2;3Hstill here")
    assert terminal.screen()[1] == "  still here"


def test_each_kind_of_sequence_is_distinguished() -> None:
    data = "a\n\x1b7\x1b(B\x1b[?2;3h\x1b[2 q\x1b]0;t\x07\x1bP1$q\x1b\\\x1b_Gx\x1b\\\x1b^p\x1b\\\x1bXs\x1b\\b"
    assert parsed(data) == [
        ("text", "a"),
        ("control", "\n"),
        ("escape", "", "7"),
        ("escape", "(", "B"),
        ("csi", "?2;3", "", "h"),
        ("csi", "2", " ", "q"),
        ("OSC", "0;t"),
        ("DCS", "1$q"),
        ("APC", "Gx"),
        ("PM", "p"),
        ("SOS", "s"),
        ("text", "b"),
    ]


def test_eight_bit_controls_equal_seven_bit_ones() -> None:
    assert parsed("\x9b5A\x9d0;t\x9c\x84") == parsed("\x1b[5A\x1b]0;t\x1b\\\x1bD")


def test_controls_within_a_sequence_are_executed_at_once() -> None:
    assert parsed("\x1b[3\r1m") == [("control", "\r"), ("csi", "31", "", "m")]


def test_cancel_drops_a_partial_sequence_and_escape_starts_over() -> None:
    assert parsed("\x1b[3\x18m") == [("text", "m")]
    assert parsed("\x1b]0;half\x1ax") == [("text", "x")]
    assert parsed("\x1b[3\x1b[4m") == [("csi", "4", "", "m")]


def test_string_ends_at_the_next_escape_even_if_not_its_terminator() -> None:
    assert parsed("\x1b]0;t\x1b[1m") == [("OSC", "0;t"), ("csi", "1", "", "m")]


def test_bell_ends_only_an_osc() -> None:
    assert parsed("\x1b_a\x07b\x1b\\") == [("APC", "ab")]


def test_parameters_after_an_intermediate_invalidate_the_sequence() -> None:
    assert parsed("\x1b[1 2Ax") == [("text", "x")]


def test_endless_string_is_not_kept(monkeypatch) -> None:
    monkeypatch.setattr(parsers, "STRING_LIMIT", 1000)
    found = ParserLog()
    parser = Parser(found)
    parser.feed("\x1b]0;")
    for _ in range(20):
        parser.feed("x" * 100)
    parser.feed("\x1b\\after")
    assert found.all == [("text", "after")]
    assert parser.strings_dropped == 1
