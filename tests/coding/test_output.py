"""Output limits: what is shown, what the notice says, and where the rest goes."""

import errno
import re
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tau.agent.ports import Sink
from tau.coding.artifacts import FolderArtifacts
from tau.coding.output import (
    COLORED_BYTES,
    LimitedText,
    OutputKeep,
    OutputLimits,
    OutputSink,
    format_bytes,
    lines_of,
    notice,
    truncate,
    with_notice,
)

KEEPS: tuple[OutputKeep, ...] = ("head", "tail", "ends")
SMALL = OutputLimits(lines=10, bytes=200, columns=30)
TEXT = st.text(alphabet="ab é😀\n\n\t", max_size=400)


def numbered(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, count + 1))


@given(TEXT, st.sampled_from(KEEPS))
@example("x" * 1000, "head")
@example("😀" * 1000, "tail")
@example("\n" * 1000, "ends")
def test_truncated_text_respects_its_limits(text: str, keep: OutputKeep) -> None:
    shown = truncate(text, SMALL, keep)
    if shown.truncation is None:
        assert shown.text == text
        return
    gap = [line for line in lines_of(shown.text) if line.startswith("[… ")]
    kept = [line for line in lines_of(shown.text) if line not in gap]
    assert len(kept) <= SMALL.lines
    assert sum(len(line.encode()) + 1 for line in kept) <= SMALL.bytes
    assert all(len(line) <= SMALL.columns for line in kept)
    assert shown.truncation.total_lines == len(lines_of(text))
    assert shown.truncation.total_bytes == len(text.encode())


@given(TEXT, st.sampled_from(KEEPS))
def test_text_within_the_limits_is_unchanged(text: str, keep: OutputKeep) -> None:
    limits = OutputLimits(lines=500, bytes=10_000, columns=500)
    assert truncate(text, limits, keep) == LimitedText(text)


@given(st.integers(11, 300), st.sampled_from(KEEPS))
def test_ranges_match_the_lines_shown(count: int, keep: OutputKeep) -> None:
    text = numbered(count)
    shown = truncate(text, OutputLimits(lines=10, bytes=10_000), keep)
    assert shown.truncation is not None
    reply = [f"line {n}" for first, last in shown.truncation.ranges for n in range(first, last + 1)]
    assert reply == [line for line in lines_of(shown.text) if not line.startswith("[… ")]
    assert len(reply) == 10
    wanted = {"head": [(1, 10)], "tail": [(count - 9, count)], "ends": [(1, 5), (count - 4, count)]}
    assert shown.truncation.ranges == wanted[keep]


def test_text_exactly_at_the_limit_is_complete() -> None:
    assert truncate("ab\nc", OutputLimits(bytes=4)).truncation is None
    assert truncate("ab\ncd", OutputLimits(bytes=4)).truncation is not None


def test_character_is_never_split() -> None:
    shown = truncate("😀" * 100, OutputLimits(bytes=50, columns=1000))
    assert set(shown.text) == {"😀", "…"}


def test_gap_says_how_many_lines_are_missing() -> None:
    shown = truncate(numbered(100), OutputLimits(lines=4), "ends")
    assert shown.text == "line 1\nline 2\n[… 96 lines not shown …]\nline 99\nline 100\n"


@pytest.mark.parametrize(
    ("shown", "more", "expected"),
    [
        (truncate("a\n", OutputLimits()), "", ""),
        (
            truncate(numbered(9), OutputLimits(lines=3)),
            "continue with x:4-",
            "[Showing lines 1-3 of 9; continue with x:4-]",
        ),
        (truncate(numbered(9), OutputLimits(lines=1)), "", "[Showing line 1 of 9]"),
        (truncate(numbered(9), OutputLimits(lines=4), "ends"), "", "[Showing lines 1-2 and 8-9 of 9]"),
        (
            truncate("x" * 4096, OutputLimits(columns=1024)),
            "",
            "[Showing 1 KiB of 4 KiB; 1 long line cut]",
        ),
        (
            truncate("\n".join(["x" * 99] * 4), OutputLimits(columns=10, lines=3)),
            "",
            "[Showing lines 1-3 of 4; 3 long lines cut]",
        ),
    ],
)
def test_notices_share_one_wording(shown: LimitedText, more: str, expected: str) -> None:
    assert notice(shown.truncation, more=more) == expected


def test_notice_gets_its_own_line() -> None:
    assert with_notice("a", "[n]") == "a\n[n]"
    assert with_notice("a\n", "[n]") == "a\n[n]"
    assert with_notice("", "[n]") == "[n]"
    assert with_notice("a", "") == "a"


def test_sizes_are_readable() -> None:
    sizes = [0, 1, 1023, 1024, 1536, 1024**2, 5 * 1024**3]
    assert [format_bytes(size) for size in sizes] == [
        "0 bytes",
        "1 byte",
        "1023 bytes",
        "1 KiB",
        "1.5 KiB",
        "1 MiB",
        "5 GiB",
    ]


@given(st.lists(st.binary(max_size=120), max_size=12))
@example([b"\xf0\x9f", b"\x98\x80" * 200, b"\n"])
def test_sink_counts_everything_and_the_artifact_is_complete(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[bytes]
) -> None:
    artifacts = FolderArtifacts(tmp_path_factory.mktemp("artifacts"))
    whole = b"".join(chunks)
    with OutputSink(artifacts, "bash", SMALL) as sink:
        for chunk in chunks:
            sink.push(chunk)
            assert len(sink.tail(50)) <= 50
        shown = sink.finish()
    assert sink.total_bytes == len(whole)
    assert sink.total_lines == whole.count(b"\n") + (not whole.endswith(b"\n") and whole != b"")
    if shown.truncation is not None:
        assert shown.truncation.total_bytes == len(whole)
        stored = artifacts.open(str(shown.truncation.artifact_id)).read_bytes()
        assert stored == whole or b"[masked" in stored
        assert len(shown.text.encode()) <= 3 * SMALL.bytes  # invalid UTF-8 is shown as three bytes
    elif whole.isascii() and b"\r" not in whole and whole.decode().replace("\n", "").isprintable():
        assert shown.text == whole.decode()


@given(st.integers(1, 400), st.integers(1, 64))
def test_result_does_not_depend_on_chunking(
    tmp_path_factory: pytest.TempPathFactory, lines: int, size: int
) -> None:
    artifacts = FolderArtifacts(tmp_path_factory.mktemp("artifacts"))
    data = numbered(lines).encode()
    shown = []
    for step in (size, len(data)):
        with OutputSink(artifacts, "bash", SMALL) as sink:
            for start in range(0, len(data), step):
                sink.push(data[start : start + step])
            shown.append(sink.finish().text)
    assert shown[0] == shown[1]
    assert shown[0].startswith("line 1\n") and shown[0].endswith(f"line {lines}\n")


def test_every_line_shown_is_complete_wherever_memory_was_cut(tmp_path: Path) -> None:
    artifacts = FolderArtifacts(tmp_path)
    for count in range(1, 120):
        with OutputSink(artifacts, "bash", SMALL) as sink:
            for byte in numbered(count).encode():
                sink.push(bytes([byte]))
            shown = [line for line in lines_of(sink.finish().text) if not line.startswith("[… ")]
        assert set(shown) <= set(lines_of(numbered(count)))


def test_partially_held_long_line_is_not_shown_as_a_short_one(tmp_path: Path) -> None:
    with OutputSink(FolderArtifacts(tmp_path), "bash", SMALL) as sink:
        sink.push((b"x" * 190 + b"\n") * 5)
        shown = [line for line in lines_of(sink.finish().text) if not line.startswith("[… ")]
    assert {len(line) for line in shown} == {SMALL.columns}
    assert all("…" in line for line in shown)


def test_sink_stays_small_and_the_artifact_is_capped_with_a_note(tmp_path: Path) -> None:
    artifacts = FolderArtifacts(tmp_path)
    chunk = b"0123456789abcde\n" * 4096
    with OutputSink(artifacts, "bash", artifact_cap_bytes=1024 * 1024) as sink:
        tracemalloc.start()
        try:
            for _ in range(320):
                sink.push(chunk)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        shown = sink.finish()
    assert sink.total_bytes == 20 * 1024 * 1024
    assert peak < 1024 * 1024
    assert len(shown.text) < 60 * 1024
    assert artifacts.open("0").stat().st_size == 1024 * 1024
    assert notice(shown.truncation).endswith("; first 1 MiB of the output: artifact://0]")


def test_one_enormous_line_shows_both_ends(tmp_path: Path) -> None:
    with OutputSink(FolderArtifacts(tmp_path), "bash") as sink:
        sink.push(b"begin")
        for _ in range(100):
            sink.push(b"x" * 10_000)
        sink.push(b"end")
        shown = sink.finish()
    assert shown.text.startswith("begin") and shown.text.endswith("end")
    assert len(shown.text) <= 2 * 2_000 + 1
    reply = notice(shown.truncation)
    assert reply.startswith("[Showing ") and "of 976.5 KiB" in reply and reply.endswith("artifact://0]")


def test_escape_sequences_and_redrawn_lines_do_not_reach_the_model(tmp_path: Path) -> None:
    with OutputSink(FolderArtifacts(tmp_path), "bash") as sink:
        sink.push(b"\x1b[31mred\x1b[0m\r\n10%\r50%\r100%\r\nlast\r")
        assert sink.finish().text == "red\n100% [… 2 earlier states]\nlast"


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ("line1\rline2\rline3", "line1\nline2\nline3"),
        ("line1\rline2\r", "line1\nline2"),
        ("a\r\rb\r\n{\r}\r\r\nc", "a\nb\n{\n}\nc"),
        ("1\r2\r3\n", "1\n2\n3\n"),
        ("building\rfailed: x.c\rdone", "building\nfailed: x.c\ndone"),
        ("Get 10%\rGet 99%\rGet: disk full\n", "Get 99% [… 1 earlier state]\nGet: disk full\n"),
        ("Get 10%\rCheck 5%\rCheck 9%", "Get 10%\nCheck 9% [… 1 earlier state]"),
        ("⠋ Wait\r⠙ Wait\r⠹ Wait\r       \rDone", "⠹ Wait [… 2 earlier states]\nDone"),
        ("[#   ] a\r[##  ] a\r[####] a", "[#   ] a\n[##  ] a\n[####] a"),
        ("\x1b[2K\x1b[1m 1/30\x1b[0m\r\x1b[2K\x1b[1m30/30\x1b[0m", "30/30 [… 1 earlier state]"),
    ],
)
def test_lines_that_end_in_a_carriage_return_are_all_shown(tmp_path: Path, output: str, shown: str) -> None:
    with OutputSink(FolderArtifacts(tmp_path), "bash") as sink:
        sink.push(output.encode())
        assert sink.finish().text == shown


def test_long_output_of_old_mac_lines_shows_both_ends_and_says_what_is_missing(tmp_path: Path) -> None:
    with OutputSink(FolderArtifacts(tmp_path), "bash") as sink:
        for number in range(50_000):
            sink.push(b"line %05d\r" % number)
        shown = sink.finish()
    assert shown.text.startswith("line 00000\nline 00001\n") and shown.text.endswith("line 49999")
    assert "lines not shown" in shown.text
    assert " of 5000" in notice(shown.truncation)


class FullDisk:
    """Artifacts on a disk that soon runs full."""

    def __init__(self, room: int, *, create: bool = True) -> None:
        self.room = room
        self.may_create = create
        self.id = "0"
        self.path: Path | None = None

    def create(self, tool: str, suffix: str = "log") -> Sink:
        if not self.may_create:
            raise OSError(errno.EACCES, "Permission denied")
        return self

    def open(self, id: str) -> Path:
        raise NotImplementedError

    def write(self, data: bytes) -> None:
        self.room -= len(data)
        if self.room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")

    def close(self) -> None:
        if self.room == 0:
            raise OSError(errno.EIO, "Input/output error")


@pytest.mark.parametrize(
    ("disk", "reply"),
    [
        (
            FullDisk(300),
            "the rest of the output could not be saved (No space left on device); the start: artifact://0]",
        ),
        (FullDisk(0, create=False), "the full output could not be saved (Permission denied)]"),
        (
            FullDisk(700),
            "the rest of the output could not be saved (Input/output error); the start: artifact://0]",
        ),
    ],
)
def test_full_disk_does_not_fail_the_command(disk: FullDisk, reply: str) -> None:
    with OutputSink(disk, "bash", SMALL) as sink:
        for _ in range(7):
            sink.push(b"x" * 99 + b"\n")
        shown = sink.finish()
    assert notice(shown.truncation).endswith(reply)


def test_tail_is_the_newest_output_in_whole_lines(tmp_path: Path) -> None:
    with OutputSink(FolderArtifacts(tmp_path), "bash", SMALL) as sink:
        sink.push(numbered(5).encode())
        assert sink.tail() == numbered(5)
        sink.push(numbered(100).encode())
        assert sink.tail(20) == "line 99\nline 100\n"


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        (b"\x1b[31mred\x1b[0m\n", "\x1b[31mred\x1b[0m\n"),
        (b"plain\n", ""),
        (b"\x1b]0;title\x07\x1b[2J\x1b[Hcleared\n", ""),
        (b"\x1b[38;2;1;2;3mx\x1b]8;;http://a\x1b\\y\x1b[m\x1b[6n\n", "\x1b[38;2;1;2;3mxy\x1b[m\n"),
        (b"\x1b]0;\x1b[31mtitle\x07\n", "0;\x1b[31mtitle\n"),
        (b"\x1b[?25l\x1b[1mbold\x1b[0m\x1b[?25h", "\x1b[1mbold\x1b[0m"),
    ],
)
def test_colors_of_an_output_are_kept_for_people_and_nothing_else(
    written: bytes, kept: str, tmp_path: Path
) -> None:
    with OutputSink(FolderArtifacts(tmp_path), "bash", SMALL) as sink:
        sink.push(written)
        assert sink.colored_tail() == kept
        text = sink.finish().text
    assert "\x1b" not in text
    assert not kept or re.sub(r"\x1b\[[0-9;]*m", "", kept) == text


def test_colored_end_of_a_long_output_has_whole_lines(tmp_path: Path) -> None:
    with OutputSink(FolderArtifacts(tmp_path), "bash") as sink:
        sink.push(b"".join(b"\x1b[32mline %d\x1b[0m\n" % number for number in range(2_000)))
        kept = sink.colored_tail()
    assert kept.startswith("\x1b[32mline ") and kept.endswith("\x1b[32mline 1999\x1b[0m\n")
    assert len(kept) <= COLORED_BYTES
