"""Append-only logs: written records stay readable whatever happens."""

import errno
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.base.jsonl import JsonlFile, Scan, read_jsonl, repair

RECORDS = [b'{"n":1,"text":"plain"}', '{"n":2,"text":"é \u2028 \U0001f600"}'.encode(), b'{"n":3,"a":[{}]}']
REWRITER = Path(__file__).with_name("rewriter.py")
WHOLE = b"\n".join(RECORDS) + b"\n"


def append_to(path: Path, *lines: bytes) -> None:
    with JsonlFile(path) as log:
        log.append(*lines)


def test_log_cut_at_any_byte_loads_reports_and_takes_the_next_record(tmp_path: Path) -> None:
    for length in range(len(WHOLE) + 1):
        path = tmp_path / f"{length}.jsonl"
        path.write_bytes(WHOLE[:length])
        ends = [i for i, byte in enumerate(WHOLE) if byte == 0x0A]
        complete = sum(end <= length for end in ends)  # a record without its newline is complete too
        torn = WHOLE[:length].split(b"\n")[-1] if length not in ends else b""

        before = read_jsonl(path)
        assert before.lines == RECORDS[:complete]
        assert (before.torn, before.damaged) == (torn, ())

        append_to(path, b'{"n":"new"}')
        after = read_jsonl(path)
        assert after.lines == [*RECORDS[:complete], b'{"n":"new"}']
        assert (after.torn, after.damaged) == (b"", ())
        aside = tmp_path / f"{length}.jsonl.torn"
        assert (aside.read_bytes() if torn else b"\n") == torn + b"\n"
        assert aside.exists() == bool(torn)


@pytest.mark.parametrize("zeros", [1, 4096, 200_000])
def test_zeros_after_the_last_record_are_reported_and_cut(tmp_path: Path, zeros: int) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(WHOLE + b"\0" * zeros)
    assert read_jsonl(path).lines == RECORDS
    assert read_jsonl(path).torn == b"\0" * zeros
    append_to(path, b"{}")
    assert path.read_bytes() == WHOLE + b"{}\n"
    assert not (tmp_path / "log.jsonl.torn").exists()


def test_file_of_only_zeros_becomes_a_usable_empty_log(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\0" * 5000)
    assert read_jsonl(path).lines == []
    assert read_jsonl(path).torn == b"\0" * 5000
    append_to(path, b"{}")
    assert path.read_bytes() == b"{}\n"


def test_record_between_zeros_is_found_and_the_damage_reported(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"{}\n\0\0\0" + RECORDS[0] + b"\n\0\0\n" + RECORDS[1] + b"\0\0")
    lines = read_jsonl(path)
    assert lines.lines == [b"{}", RECORDS[0], RECORDS[1]]
    assert lines.damaged == (2, 3)
    assert lines.torn == b"\0\0"
    append_to(path, b'{"n":4}')
    assert read_jsonl(path).lines == [b"{}", RECORDS[0], RECORDS[1], b'{"n":4}']
    assert (tmp_path / "log.jsonl.torn").read_bytes() == RECORDS[1] + b"\n"


def test_non_object_lines_are_skipped_reported_and_kept_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    content = (
        b'{"a":1}\nnot json\n[1]\n"x"\n{"a":1{"b":2}\n\n{"bad":"\xff"}\n' + b'{"a":' * 5000 + b'\n{"b":2}\n'
    )
    path.write_bytes(content)
    lines = read_jsonl(path)
    assert lines.lines == [b'{"a":1}', b'{"b":2}']
    assert lines.damaged == (2, 3, 4, 5, 7, 8)
    append_to(path, b"{}")
    assert path.read_bytes() == content + b"{}\n"


def test_only_a_newline_byte_ends_a_line(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    record = '{"t":"a\u2028b\u2029c\u0085d\x7f"}'.encode()
    append_to(path, record, record)
    assert read_jsonl(path).lines == [record, record]


def test_crlf_and_a_byte_order_mark_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a":1}\r\n\r\n{"b":2}\r\n')
    assert read_jsonl(path).lines == [b'{"a":1}', b'{"b":2}']
    assert read_jsonl(path).damaged == ()
    path.write_bytes(b'\xef\xbb\xbf{"a":1}')
    assert repair(path) == b""
    assert path.read_bytes() == b'{"a":1}\n'


def test_empty_file_is_an_empty_log(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.touch()
    lines = read_jsonl(path)
    assert (lines.lines, lines.damaged, lines.torn) == ([], (), b"")
    assert repair(path) == b""
    assert path.read_bytes() == b""


def test_repair_of_a_missing_file_creates_none(tmp_path: Path) -> None:
    assert repair(tmp_path / "none.jsonl") == b""
    assert list(tmp_path.iterdir()) == []


def test_torn_line_longer_than_a_block_is_set_aside_completely(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    torn = b'{"t":"' + bytes(range(32, 127)) * 3000
    path.write_bytes(b"{}\n" + torn)
    with JsonlFile(path) as log:
        assert log.lock()
        assert log.torn == torn
    assert path.read_bytes() == b"{}\n"
    assert (tmp_path / "log.jsonl.torn").read_bytes() == torn + b"\n"


@pytest.mark.parametrize("end", [b"\n", b"x\n" * 40_000])
def test_torn_line_after_a_long_file_is_cut_off_alone(tmp_path: Path, end: bytes) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"a":"' + b"x" * 70_000 + b'"}' + end + b'{"half')
    assert repair(path) == b'{"half'
    assert path.read_bytes() == b'{"a":"' + b"x" * 70_000 + b'"}' + end


def test_file_is_private_and_created_with_its_folder_on_the_first_append(tmp_path: Path) -> None:
    path = tmp_path / "sessions" / "log.jsonl"
    log = JsonlFile(path)
    assert not path.parent.exists()
    log.append(b"{}")
    log.close()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_append_of_several_lines_is_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    real = os.write

    def note(fd: int, data: Any) -> int:
        written.append(bytes(data))
        return real(fd, data)

    monkeypatch.setattr(os, "write", note)
    append_to(tmp_path / "log.jsonl", b'{"a":1}', b'{"b":2}')
    assert written == [b'{"a":1}\n{"b":2}\n']


def test_line_with_a_newline_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    log = JsonlFile(tmp_path / "log.jsonl")
    with pytest.raises(ValueError, match="newline"):
        log.append(b"{}", b'{"a":\n1}')
    assert list(tmp_path.iterdir()) == []


def test_empty_append_writes_nothing(tmp_path: Path) -> None:
    assert JsonlFile(tmp_path / "log.jsonl").append() == 0
    assert list(tmp_path.iterdir()) == []


def full_disk(room: int) -> Callable[[int, Any], int]:
    """os.write on a disk with `room` bytes left."""
    real = os.write
    left = [room]

    def write(fd: int, data: Any) -> int:
        if left[0] == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        count = real(fd, bytes(data)[: left[0]])
        left[0] -= count
        return count

    return write


def test_full_disk_leaves_no_part_of_a_record_and_the_next_append_works(tmp_path: Path) -> None:
    record = RECORDS[1]
    for room in range(len(record) + 1):
        path = tmp_path / f"{room}.jsonl"
        with JsonlFile(path) as log:
            log.append(RECORDS[0])
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(os, "write", full_disk(room))
                with pytest.raises(OSError, match=f"No space left.*{room}.jsonl"):
                    log.append(record)
            assert path.read_bytes() == RECORDS[0] + b"\n"
            log.append(RECORDS[2])
        assert read_jsonl(path).lines == [RECORDS[0], RECORDS[2]]


def test_unremovable_partial_record_is_repaired_before_the_next_append(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(fd: int, length: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    path = tmp_path / "log.jsonl"
    with JsonlFile(path) as log:
        log.append(RECORDS[0])
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full_disk(5))
            patch.setattr(os, "ftruncate", broken)
            with pytest.raises(OSError, match="No space left"):
                log.append(RECORDS[1])
        assert path.read_bytes() == RECORDS[0] + b"\n" + RECORDS[1][:5]
        log.append(RECORDS[2])
    assert read_jsonl(path).lines == [RECORDS[0], RECORDS[2]]


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_record_that_could_not_be_synced_is_not_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def broken(fd: int) -> None:
        raise OSError(number, os.strerror(number))

    path = tmp_path / "log.jsonl"
    with JsonlFile(path) as log:
        log.append(RECORDS[0])
        with monkeypatch.context() as patch:
            patch.setattr(os, "fdatasync", broken, raising=False)
            with pytest.raises(OSError, match=os.strerror(number)):
                log.append(RECORDS[1])
        assert path.read_bytes() == RECORDS[0] + b"\n"


def test_file_system_without_sync_is_tolerated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(fd: int) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(os, "fdatasync", unsupported, raising=False)
    monkeypatch.setattr(os, "fsync", unsupported)
    append_to(tmp_path / "log.jsonl", b"{}")
    assert read_jsonl(tmp_path / "log.jsonl").lines == [b"{}"]


def test_failed_append_does_not_cut_lines_of_another_writer(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with JsonlFile(path) as log, JsonlFile(path) as other, pytest.MonkeyPatch.context() as patch:
        log.append(RECORDS[0])

        def sync(fd: int) -> None:
            patch.undo()
            other.append(RECORDS[2])
            raise OSError(errno.EIO, "broken disk")

        patch.setattr(os, "fdatasync", sync, raising=False)
        with pytest.raises(OSError, match="broken disk"):
            log.append(RECORDS[1])
    assert read_jsonl(path).lines == [RECORDS[0], RECORDS[1], RECORDS[2]]


SMALL_DISK = """
import pathlib, resource, signal, sys
from tau.base.jsonl import JsonlFile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
log = JsonlFile(pathlib.Path(sys.argv[1]))
for number in range(10):
    try:
        log.append(b'{"n":%d,"fill":"%s"}' % (number, b"x" * 280))
    except OSError as error:
        print(number, error.strerror)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""


def test_file_size_limit_in_the_middle_of_a_record(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", SMALL_DISK, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "3 File too large\n"
    lines = read_jsonl(path)
    assert [msgspec.json.decode(line)["n"] for line in lines.lines] == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert (lines.damaged, lines.torn) == ((), b"")


def test_kill_9_loses_no_record_that_was_reported_as_written(tmp_path: Path) -> None:
    chance = random.Random(3)
    for n in range(15):
        path = tmp_path / f"{n}.jsonl"
        child = subprocess.Popen([sys.executable, str(REWRITER), "append", str(path)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        with child.stdout as output:
            first = output.readline()
            time.sleep(chance.uniform(0, 0.01))
            child.kill()
            reported = int((first + output.read()).split(b"\n")[-2])
            child.wait()
        lines = read_jsonl(path)
        assert lines.damaged == ()
        assert [msgspec.json.decode(line)["n"] for line in lines.lines] == [
            *range(1, max(reported, len(lines.lines)) + 1)
        ]


def test_one_writer_at_a_time_has_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    first, second = JsonlFile(path), JsonlFile(path)
    assert first.lock()
    assert first.lock()
    assert not second.lock()
    first.close()
    assert second.lock()
    second.close()


def test_line_in_progress_by_a_locked_writer_is_not_torn(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with JsonlFile(path) as writer:
        assert writer.lock()
        path.write_bytes(b'{"half":')
        assert repair(path) == b""
        assert path.read_bytes() == b'{"half":'
    assert repair(path) == b'{"half":'
    assert path.read_bytes() == b""


def test_deleted_log_is_recreated_completely_with_the_next_append(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "log.jsonl"
    with JsonlFile(path) as log:
        assert log.lock()
        log.append(*RECORDS[:2])
        path.unlink()
        path.parent.rmdir()
        log.append(RECORDS[2])
        with JsonlFile(path) as other:
            assert not other.lock()
    assert path.read_bytes() == WHOLE


def test_replaced_log_is_continued_under_its_name(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with JsonlFile(path) as log:
        log.append(RECORDS[0])
        (tmp_path / "new").write_bytes(b'{"redacted":true}\n')
        (tmp_path / "new").replace(path)
        log.append(RECORDS[2])
    assert read_jsonl(path).lines == [b'{"redacted":true}', RECORDS[2]]


def test_file_torn_while_closed_is_repaired_before_the_next_append(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = JsonlFile(path)
    log.append(b'{"a":1}')
    log.close()
    with path.open("ab") as file:
        file.write(b'{"half')
    with log:
        log.append(b'{"b":2}')
        log.append(b'{"c":3}')
    assert path.read_bytes() == b'{"a":1}\n{"b":2}\n{"c":3}\n'
    assert log.torn == b'{"half'


def test_appending_beside_a_locked_writer_leaves_its_unfinished_line(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with JsonlFile(path) as writer, JsonlFile(path) as other:
        assert writer.lock()
        with path.open("ab") as file:
            file.write(b'{"half')
        other.append(b'"}')
    assert path.read_bytes() == b'{"half"}\n'


def test_undecodable_bytes_damage_a_line_unless_text_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"a":1}\n{"b":"\xff"}\n{"c":"\xc3\xa4"}\n')
    read = read_jsonl(path)
    assert read.lines == [b'{"a":1}', b'{"c":"\xc3\xa4"}']
    assert read.damaged == (2,)
    with path.open("rb") as file:
        scan = Scan(file.fileno(), msgspec.json.Decoder(msgspec.Raw), texts=False)
        assert len(list(scan)) == 3
        assert scan.damaged == []


def test_closed_file_opens_again(tmp_path: Path) -> None:
    log = JsonlFile(tmp_path / "log.jsonl")
    log.append(b'{"a":1}')
    fd = log.fileno()
    log.close()
    log.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)
    log.append(b'{"b":2}', sync=False)
    log.close()
    assert read_jsonl(log.path).lines == [b'{"a":1}', b'{"b":2}']


class Numbered(msgspec.Struct):
    n: int


def scanned(path: Path) -> tuple[list[tuple[int, bytes]], Scan[Numbered]]:
    """The result of a scan, each record read again from its reported offset."""
    content = path.read_bytes()
    with path.open("rb") as file:
        scan = Scan(file.fileno(), msgspec.json.Decoder(Numbered))
        return [(value.n, content[start : start + size]) for value, start, size in scan], scan


def test_scan_returns_record_offsets_across_blocks_and_long_lines(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    chance = random.Random(5)
    sizes = [chance.choice((0, 3, 500, 70_000)) for _ in range(200)] + [3_000_000, 7, 600_000]
    lines = [b'{"n":%d,"t":"%s"}' % (number, b"x" * size) for number, size in enumerate(sizes)]
    path.write_bytes(b"\n".join(lines) + b"\n")
    found, scan = scanned(path)
    assert found == list(enumerate(lines))
    assert (scan.damaged, scan.strange, scan.torn) == ([], 0, b"")


def test_whole_lines_are_decoded_in_blocks_not_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(b'{"n":%d}\n' % number for number in range(1_000)))
    monkeypatch.setattr(Scan, "_one_by_one", lambda *_: pytest.fail("the slow way"))
    found, _ = scanned(path)
    assert [number for number, _ in found] == list(range(1_000))


def test_scan_says_what_is_wrong_and_where(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"n":1}\r\n\n{"n":2}{"n":3}\n{"m":1}\n'
        b'  {"n":4} \n{"n":\n5}\n{"n":"x"}\n\0{"n":6}\n{"n":7'
    )
    found, scan = scanned(path)
    assert found == [(1, b'{"n":1}'), (4, b'{"n":4}'), (6, b'{"n":6}')]
    assert (scan.damaged, scan.strange, scan.torn) == ([3, 6, 7, 9], 2, b'{"n":7')


@pytest.mark.parametrize(
    "content",
    [
        *(b'{"n":1}\n\n{"n":2}{"n":3}\n', b'{"n":\n1}\n{"n":2}{"n":3}\n'),
        b'{"n":1}\n{"n":2}\n{"n":3}{"n":4}\n',
    ],
)
def test_counts_of_records_and_lines_do_not_hide_damage(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(content)
    found, scan = scanned(path)
    assert all(line == b'{"n":%d}' % number for number, line in found)
    assert scan.damaged[-1] == 3


def test_append_returns_where_the_lines_begin(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with JsonlFile(path) as log:
        starts = [log.append(RECORDS[0], RECORDS[1])]
        with path.open("ab") as somebody:
            somebody.write(b"{}\n")
        starts.append(log.append(RECORDS[2]))
    content = path.read_bytes()
    assert [content[start:].split(b"\n")[0] for start in starts] == [RECORDS[0], RECORDS[2]]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.dictionaries(st.text(), VALUES, max_size=4), max_size=6), st.binary(max_size=20))
def test_any_records_before_any_torn_bytes_are_read_back(records: list[dict[str, Any]], tail: bytes) -> None:
    path = Path(os.environ["HOME"]) / "log.jsonl"
    lines = [msgspec.json.encode(record) for record in records]
    tail = tail.replace(b"\n", b"").replace(b"{", b"")
    path.write_bytes(b"".join(line + b"\n" for line in lines) + tail)
    assert read_jsonl(path).lines == lines
    append_to(path, b'{"last":1}')
    assert read_jsonl(path).lines == [*lines, b'{"last":1}']
    assert read_jsonl(path).damaged == ()
