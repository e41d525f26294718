"""The session index: what it knows of a file, and that it follows the files."""

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tau.coding.session_index import database, file_scan, index, tables
from tau.coding.session_index.index import SessionIndex, SessionRow
from tau.coding.session_index.records import SessionSummary
from tau.coding.session_index.search import search
from tests.coding.session_index.session_files import (
    answer,
    entry,
    header,
    line,
    named,
    result,
    usage,
    user,
    write,
)

ROOT = Path(__file__).parents[3]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


@pytest.fixture
def known(tmp_path: Path, root: Path) -> Iterator[SessionIndex]:
    with SessionIndex(tmp_path / "home" / "index.db", root) as one:
        yield one
    assert not one.remarks


def only(known: SessionIndex) -> SessionRow:
    (row,) = known.sessions()
    return row


def test_session_is_listed_with_its_summary(known: SessionIndex, root: Path) -> None:
    path = write(
        root,
        entry("1", "model_change", provider="fake", modelId="large"),
        user("2", "Fix the\nparser"),
        answer("3", "Done.", dollars=0.5),
        result("4", "output"),
        entry("5", "usage", kind="title", provider="fake", model="tiny", usage=usage(0.125)),
        entry("6", "compaction", summary="s", firstKeptEntryId="2", usage=usage(1)),
        entry("7", "branch_summary", summary="s", fromId="2", usage=usage(2)),
        named("8", "Parser"),
    )
    row = only(known)
    summary = row.summary
    assert (row.path, row.id, row.size_bytes) == (path, path.stem.rpartition("_")[2], path.stat().st_size)
    assert row.changed_ns == path.stat().st_mtime_ns
    assert (summary.cwd, summary.shown_name, summary.first_prompt) == (
        "/home/me/x",
        "Parser",
        "Fix the\nparser",
    )
    assert (summary.model, summary.messages, summary.prompts) == ("fake/small", 3, 1)
    assert (summary.cost, summary.input_tokens, summary.cache_write_tokens) == (3.625, 40, 4)
    assert (summary.created_ms, summary.problem, summary.damaged) == (1_769_860_800_000, "", 0)


def test_newest_first_with_an_optional_folder_filter(known: SessionIndex, root: Path) -> None:
    old, new, other = write(root), write(root), write(root, cwd="/other")
    for number, path in enumerate((old, other, new)):
        os.utime(path, (1_000 + number, 1_000 + number))
    assert [row.path for row in known.sessions()] == [new, other, old]
    assert [row.path for row in known.sessions(old.parent)] == [new, old]
    assert [row.path for row in known.sessions(limit=1)] == [new]


def test_only_appended_lines_are_read(
    known: SessionIndex, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(root, user("1", "one"), answer("2", "first"))
    assert only(known).summary.cost == 0.25
    with path.open("ab") as file:
        file.write(user("3", "two") + answer("1", "its id is taken") + answer("4", "second", model="m2"))
    read: list[bytes] = []
    records = file_scan._Part.records

    def noted(part: Any) -> Any:
        return ((read.append(line), (place, line))[1] for place, line in records(part))

    monkeypatch.setattr(file_scan._Part, "records", noted)
    summary = only(known).summary
    assert len(read) == 3
    assert (summary.messages, summary.cost, summary.model, summary.first_prompt) == (4, 0.5, "fake/m2", "one")
    assert search(known, ["second"]).total == search(known, ["first"]).total == 1
    assert search(known, ["taken"]).total == 0


def test_change_before_the_end_is_noticed_even_if_the_file_has_grown(known: SessionIndex, root: Path) -> None:
    path = write(root, user("1", "old words"), user("2", "stays"))
    only(known)
    data = path.read_bytes().replace(b"old words", b"new words") + user("3", "more")
    with path.open("r+b") as file:  # the same inode
        file.write(data)
    assert only(known).summary.first_prompt == "new words"
    assert search(known, ["old"]).total == 0 and search(known, ["new", "more"]).total == 1


def test_change_that_keeps_size_and_mtime_is_noticed(known: SessionIndex, root: Path) -> None:
    path = write(root, user("1", "aaaa"))
    times = path.stat()
    only(known)
    with path.open("r+b") as file:
        file.write(path.read_bytes().replace(b"aaaa", b"bbbb"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert only(known).summary.first_prompt == "bbbb"


def test_deleted_renamed_and_moved_files_are_tracked(known: SessionIndex, root: Path) -> None:
    one, two = write(root, user("1", "first")), write(root, user("1", "second"))
    assert len(known.sessions()) == 2
    one.unlink()
    moved = two.rename(two.with_name("talk.jsonl"))
    row = only(known)
    assert (row.path, row.id, row.summary.first_prompt) == (moved, "talk", "second")
    assert search(known, ["first"]).total == 0
    moved.unlink()
    moved.parent.rmdir()
    assert known.sessions() == []


@pytest.mark.parametrize(
    ("content", "problem", "prompt"),
    [
        (b"", "It is empty.", ""),
        (b"no json at all", file_scan.NO_HEADER, ""),
        (user("1", "said"), "", "said"),
        (header()[:20] + b"\n" + user("1", "said"), "", "said"),
        (
            line({"type": "session", "version": 9, "id": "x", "timestamp": "", "cwd": "/"}),
            file_scan.NEWER,
            "",
        ),
        (b"\0" * 5000, file_scan.NO_HEADER, ""),
        (b"[" * 100_000, file_scan.NO_HEADER, ""),
    ],
    ids=["empty", "text", "no-header", "torn-header", "newer", "zeros", "deep"],
)
def test_damaged_files_are_listed_as_far_as_readable(
    known: SessionIndex, root: Path, content: bytes, problem: str, prompt: str
) -> None:
    path = write(root)
    path.write_bytes(content)
    summary = only(known).summary
    assert (summary.problem, summary.first_prompt) == (problem, prompt)


def test_damaged_lines_are_counted_and_skipped(known: SessionIndex, root: Path) -> None:
    write(root, user("1", "one"), b"{broken\n", b"\xff\xfe\n", answer("2", "two"), b'{"type":"mess')
    summary = only(known).summary
    assert (summary.messages, summary.damaged, summary.problem) == (2, 3, "")


def test_implausible_numbers_are_ignored(known: SessionIndex, root: Path) -> None:
    huge = {**usage(), "input": 10**30}
    write(root, entry("1", "usage", kind="x", provider="p", model="m", usage=huge))
    assert only(known).summary.input_tokens == 0


def test_old_versions_are_read_as_if_migrated(known: SessionIndex, root: Path) -> None:
    path = write(root)
    first = {"type": "session", "id": "x", "timestamp": "2026-01-31T12:00:00.000Z", "cwd": "/home/me/x"}
    message = {
        "type": "message",
        "timestamp": "",
        "message": {"role": "user", "content": "old", "timestamp": 1},
    }
    path.write_bytes(line(first) + line(message) + line(message))
    assert only(known).summary.messages == 2
    with path.open("ab") as file:
        file.write(line(message))
    summary = only(known).summary
    assert (summary.messages, summary.first_prompt, summary.problem) == (3, "old", "")


def test_only_regular_files_are_sessions(known: SessionIndex, root: Path) -> None:
    path = write(root)
    (path.parent / "folder.jsonl").mkdir()
    os.mkfifo(path.parent / "pipe.jsonl")
    (path.parent / "link.jsonl").symlink_to("nowhere")
    path.with_suffix("").mkdir()
    (path.with_suffix("") / "agent.jsonl").write_bytes(header())
    assert [row.path for row in known.sessions()] == [path]


def test_undecodable_name_is_listed(known: SessionIndex, root: Path) -> None:
    path = write(root, user("1", "hi"))
    strange = path.rename(path.with_name(os.fsdecode(b"a\xff_b\xfe.jsonl")))
    row = only(known)
    assert row.path == strange and row.id.isprintable()


def test_unreadable_file_is_listed(known: SessionIndex, root: Path) -> None:
    if os.getuid() == 0:
        pytest.skip("root may read everything")
    path = write(root)
    path.chmod(0)
    assert "Permission denied" in only(known).summary.problem
    path.chmod(0o600)
    assert only(known).summary.problem == ""


def test_flat_and_nested_sessions_are_kept_apart(tmp_path: Path, root: Path) -> None:
    below, direct = write(root), write(root, flat=True)
    path = tmp_path / "index.db"
    with SessionIndex(path, root) as nested, SessionIndex(path, root, flat=True) as flat:
        for _ in range(2):
            assert [row.path for row in nested.sessions()] == [below]
            assert [row.path for row in flat.sessions()] == [direct]


def test_deleted_root_is_forgotten(tmp_path: Path) -> None:
    gone, stays = tmp_path / "gone", tmp_path / "stays"
    one, two = write(gone, user("1", "gone")), write(stays)
    path = tmp_path / "index.db"
    for root in (gone, stays):
        with SessionIndex(path, root) as known:
            known.sessions()
    one.unlink()
    one.parent.rmdir()
    gone.rmdir()
    two.unlink()
    with SessionIndex(path, stays) as known:
        assert known.sessions() == []
        counts = known.query(
            lambda db: [
                db.execute(f"SELECT count(*) FROM {t}").fetchone()[0]
                for t in ("sessions", "folders", "texts")
            ]
        )
    assert counts == [0, 0, 0]


def test_database_is_private(known: SessionIndex, root: Path, tmp_path: Path) -> None:
    write(root)
    known.sessions()
    folder = tmp_path / "home"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def damage_of(name: str, path: Path) -> None:
    if name == "no database":
        path.write_bytes(b"this is no database" * 1000)
    elif name == "another version":
        with sqlite3.connect(path) as db:
            db.execute("PRAGMA user_version = 99")
        db.close()
    elif name == "a table is gone":
        with sqlite3.connect(path) as db:
            db.execute("DROP TABLE sessions")
        db.close()
    elif name == "pages overwritten":
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(b"\xa5" * (path.stat().st_size - 4096))
    else:
        os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize(
    "name", ["no database", "another version", "a table is gone", "pages overwritten", "truncated"]
)
def test_unusable_index_is_rebuilt_with_a_remark(tmp_path: Path, name: str) -> None:
    root, path = tmp_path / "sessions", tmp_path / "index.db"
    for number in range(40):
        write(root, *(user(str(i), f"words {number} {i} " * 20) for i in range(20)))
    with SessionIndex(path, root) as known:
        before = known.sessions()
    damage_of(name, path)
    with SessionIndex(path, root) as known:
        assert known.sessions() == before
        assert search(known, ["words"]).total == 40
        (remark,) = known.remarks
    assert str(path) in remark
    kept = (tmp_path / "index.db.damaged").exists()
    assert kept is (name != "another version")
    with SessionIndex(path, root) as known:
        assert known.sessions() == before and not known.remarks


def test_without_a_database_all_files_are_read(tmp_path: Path) -> None:
    root = tmp_path / "sessions"
    write(root, user("1", "needle"))
    (tmp_path / "index.db").mkdir()
    with SessionIndex(tmp_path / "index.db", root) as known:
        assert len(known.sessions()) == 1
        assert search(known, ["needle"]).total == 1
        write(root)
        assert len(known.sessions()) == 2
    assert len(known.remarks) == 1 and "read instead" in known.remarks[0]


def test_stuck_writer_is_not_waited_for_forever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        index, "open_database", lambda path, schema: database.open_database(path, schema, busy_s=0.05)
    )
    root, path = tmp_path / "sessions", tmp_path / "index.db"
    write(root)
    with SessionIndex(path, root) as known:
        known.sessions()
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert len(known.sessions()) == 1  # nothing to write, so no lock is needed
        write(root)
        assert len(known.sessions()) == 2
        other.close()
    assert "locked" in known.remarks[0]


WORKER = """
import os, sys
from pathlib import Path
from tau.coding.session_index.index import SessionIndex
from tests.coding.session_index.session_files import user, write
path, root = map(Path, sys.argv[1:])
with SessionIndex(path, root) as known:
    for number in range(15):
        write(root, user("1", f"from {os.getpid()} {number}"))
        known.sessions()
    assert not known.remarks, known.remarks
"""


def test_several_processes_at_once(tmp_path: Path, root: Path) -> None:
    path = tmp_path / "index.db"
    command = [sys.executable, "-c", WORKER, str(path), str(root)]
    workers = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT) for _ in range(3)]
    for worker in workers:
        _, errors = worker.communicate()
        assert worker.returncode == 0, errors
    with SessionIndex(path, root) as known:
        assert len(known.sessions()) == search(known, ["from"]).total == 45
        assert not known.remarks


def test_search_works_without_fts5(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "index.db"
    write(root, user("1", "Needle in 100% hay_stack"))
    with SessionIndex(path, root) as known:
        assert search(known, ["needle"]).total == 1
    with monkeypatch.context() as patch:
        patch.setattr(index, "has_fts5", lambda db: False)
        with SessionIndex(path, root) as known:
            assert search(known, ["NEEDLE"]).total == search(known, ["100%"]).total == 1
            assert search(known, ["hay_"]).total == 1 and search(known, ["hay-"]).total == 0
            write(root, user("1", "a second needle"))
            assert search(known, ["needle"]).total == 2
            assert not known.fts
    with SessionIndex(path, root) as known:  # later writes are in the full-text index
        assert search(known, ["needle"]).total == 2
        assert known.fts


def test_index_can_be_rebuilt(known: SessionIndex, root: Path) -> None:
    write(root, user("1", "needle"))
    assert known.sessions()
    known.query(lambda db: db.execute("UPDATE sessions SET summary = ?", (tables._encode(SessionSummary()),)))
    assert only(known).summary.first_prompt == ""
    assert known.rebuild() == 1
    assert only(known).summary.first_prompt == "needle"
    assert search(known, ["needle"]).total == 1


def test_progress_is_reported(known: SessionIndex, root: Path) -> None:
    reported: list[tuple[int, int]] = []
    known.on_progress = lambda done, total: reported.append((done, total))
    for _ in range(3):
        write(root)
    known.sessions()
    known.sessions()
    assert reported[0] == (3, 3)


def test_unchanged_files_are_not_opened(
    known: SessionIndex, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[bytes] = []
    reading = index.read_session
    monkeypatch.setattr(
        index, "read_session", lambda path, known: (read.append(path), reading(path, known))[1]
    )
    path = write(root)
    known.sessions()
    known.sessions()
    assert len(read) == 2  # too recent a time to be trusted
    monkeypatch.setattr(index, "COARSE_NS", -(10**18))
    known.sessions()
    known.sessions()
    assert len(read) == 3
    path.touch()
    known.sessions()
    assert len(read) == 4
