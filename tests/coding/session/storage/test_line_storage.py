"""Both storages satisfy one contract; the file storage survives deletion and replacement."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tau.base.errors import SessionError
from tau.coding.session.storage.line_storage import FileStorage, MemoryStorage, SessionLocked, Storage


class Numbered(msgspec.Struct):
    n: int
    fill: str = ""


DECODER = msgspec.json.Decoder(Numbered)
BOTH: list[Callable[[Path], Storage]] = [
    lambda folder: FileStorage(folder / "x.jsonl", new=True),
    lambda folder: MemoryStorage(),
]


def line(number: int, fill: int = 0) -> bytes:
    return b'{"n":%d,"fill":"%s"}' % (number, b"x" * fill)


@pytest.mark.parametrize("make", BOTH)
def test_lines_are_readable_by_offset(tmp_path: Path, make: Callable[[Path], Storage]) -> None:
    storage = make(tmp_path)
    wanted: dict[int, bytes] = {}
    for number in range(300):
        text = line(number, number * 17 % 5_000)
        wanted[storage.append([text], durable=number >= 5)] = text
    assert list(wanted) == sorted(wanted)
    for start, text in [*wanted.items(), *reversed(wanted.items())]:
        assert storage.read(start, len(text)) == text
    found = [(value.n, start, size) for value, start, size in storage.scan(DECODER)]
    assert found == [(number, start, len(text)) for number, (start, text) in enumerate(wanted.items())]
    storage.close()
    start, text = next(iter(wanted.items()))
    assert storage.read(start, len(text)) == text
    start = storage.append([line(999)])
    assert storage.read(start, len(line(999))) == line(999)
    storage.close()


@pytest.mark.parametrize("make", BOTH)
def test_scan_counts_unknown_lines(tmp_path: Path, make: Callable[[Path], Storage]) -> None:
    storage = make(tmp_path)
    storage.append([line(1), b'{"m":2}', line(3)])
    records = storage.scan(DECODER)
    assert [value.n for value, _, _ in records] == [1, 3]
    assert (records.strange, list(records.damaged), records.torn) == (1, [], b"")
    storage.close()


def test_lines_are_held_back_until_something_is_worth_a_file(tmp_path: Path) -> None:
    storage = FileStorage(tmp_path / "deep" / "x.jsonl", new=True)
    starts = [storage.append([line(number)], durable=False) for number in range(3)]
    assert list(tmp_path.iterdir()) == []
    assert [storage.read(start, 99) for start in starts] == [line(0), line(1), line(2)]
    starts.append(storage.append([line(3)]))
    assert storage.path.read_bytes() == b"".join(line(number) + b"\n" for number in range(4))
    assert [storage.read(start, len(line(0))) for start in starts] == [line(n) for n in range(4)]
    starts.append(storage.append([line(4)], durable=False))
    assert storage.path.read_bytes().endswith(line(4) + b"\n")
    storage.close()


def test_second_writer_is_refused(tmp_path: Path) -> None:
    first, second = FileStorage(tmp_path / "x.jsonl"), FileStorage(tmp_path / "x.jsonl")
    first.append([line(1)])
    descriptors = len(list(Path("/dev/fd").iterdir()))
    with pytest.raises(SessionLocked, match="open in another tau"):
        second.append([line(2)])
    assert len(list(Path("/dev/fd").iterdir())) == descriptors
    assert issubclass(SessionLocked, SessionError)
    first.close()
    second.append([line(2)])
    second.close()
    assert (tmp_path / "x.jsonl").read_bytes() == line(1) + b"\n" + line(2) + b"\n"


def test_deleted_file_is_still_readable_and_recreated(tmp_path: Path) -> None:
    storage = FileStorage(tmp_path / "x.jsonl")
    starts = [storage.append([line(number)]) for number in range(3)]
    storage.path.unlink()
    assert storage.read(starts[1], len(line(1))) == line(1)
    starts.append(storage.append([line(3)]))
    assert [storage.read(start, len(line(0))) for start in starts] == [line(n) for n in range(4)]
    storage.close()
    assert storage.path.read_bytes() == b"".join(line(number) + b"\n" for number in range(4))


def test_content_of_a_replaced_file_is_still_readable(tmp_path: Path) -> None:
    storage = FileStorage(tmp_path / "x.jsonl")
    starts = [storage.append([line(number, 100)]) for number in range(3)]
    for round in (1, 2):
        (tmp_path / "new").write_bytes(line(100 * round) + b"\n")
        (tmp_path / "new").replace(storage.path)
        starts.append(storage.append([line(2 + round, 100)]))
    assert starts == sorted(starts)
    size = len(line(0, 100))
    assert [DECODER.decode(storage.read(start, size)).n for start in starts] == [0, 1, 2, 3, 4]
    storage.close()
    assert storage.path.read_bytes() == line(200) + b"\n" + line(4, 100) + b"\n"


def test_reads_in_a_row_fetch_256_kib_and_others_only_their_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = FileStorage(tmp_path / "x.jsonl")
    starts = [storage.append([line(number, 999)]) for number in range(400)]
    size = len(line(0, 999))
    sizes: list[int] = []
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, n, at: sizes.append(n) or pread(fd, n, at))
    for start in (*starts, starts[0], starts[0]):
        assert len(storage.read(start, size)) == size
    storage.close()
    assert sizes == [256 * 1024, 256 * 1024, size]


def test_shrunken_file_yields_fewer_bytes(tmp_path: Path) -> None:
    storage = FileStorage(tmp_path / "x.jsonl")
    storage.append([line(1)])
    start = storage.append([line(2, 300_000)])
    with storage.path.open("rb+") as file:
        file.truncate(start + 5)
    assert storage.read(start, 300_020) == line(2)[:5]
    storage.close()
