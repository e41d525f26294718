"""Whatever happens to the files, the index matches a fresh scan."""

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tau.base.errors import SessionError
from tau.coding.session.stats import UsageStats
from tau.coding.session.storage.log import SessionLog
from tau.coding.session_index.file_scan import NEWER
from tau.coding.session_index.index import SessionIndex, SessionRow
from tests.coding.session_index.session_files import answer, entry, line, named, result, usage, user, write

STEPS = 25
EXAMPLES = 15
WORDS = ("parser", "naïve", "日本語", "lock", "\0", "a" * 5_000, '"', "\u202e", "")


class World:
    """Some session files, and everything people and programs do to such files."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        self.root = root
        self.chance = chance
        self.next = 0

    def step(self) -> None:
        acts: list[Callable[[], None]] = [self.create, self.append, self.append, self.append]
        acts += [self.delete, self.rename, self.truncate, self.flip, self.insert, self.replace, self.rewrite]
        acts += [self.tear, self.copy, self.set_time, self.drop_folder, self.swap]
        self.chance.choice(acts)()

    def files(self) -> list[Path]:
        return sorted(self.root.glob("*/*.jsonl"))

    def any(self) -> Path:
        files = self.files()
        if not files:
            self.create()
            files = self.files()
        return self.chance.choice(files)

    def lines(self) -> bytes:
        return b"".join(self.line() for _ in range(self.chance.randrange(1, 4)))

    def line(self) -> bytes:
        self.next += 1
        id = f"{self.next:08x}" if self.chance.random() < 0.9 else "00000001"
        word = " ".join(self.chance.choice(WORDS) for _ in range(3))
        return self.chance.choice(
            (
                user(id, word),
                answer(id, word, dollars=self.chance.random()),
                result(id, word),
                named(id, word[:50]),
                named(id, None),
                entry(id, "usage", kind="title", provider="p", model="m", usage=usage(self.chance.random())),
                entry(id, "compaction", summary=word, firstKeptEntryId="1", usage=usage(1)),
                entry(id, "branch_summary", summary=word, fromId="1"),
                entry(id, "model_change", provider="p", modelId=word[:10]),
                entry(id, "something_new", data=[1]),
                entry(id, "session_info", name=5),
                entry(id, "message", message={"role": "assistant", "usage": usage(1), "provider": "x"}),
                line({"type": "message"}),
                b"{damaged\n",
                b"\n",
                b'{"type":"usage"} {"type":"usage"}\n',
            )
        )

    def create(self) -> None:
        write(self.root, self.lines(), cwd=f"/w{self.chance.randrange(3)}")

    def append(self) -> None:
        with self.any().open("ab") as file:
            file.write(self.lines())

    def tear(self) -> None:
        with self.any().open("ab") as file:
            file.write(self.line()[: self.chance.randrange(80)])

    def delete(self) -> None:
        self.any().unlink()

    def rename(self) -> None:
        path = self.any()
        path.rename(path.with_name(f"t_{self.chance.randrange(5)}.jsonl"))

    def copy(self) -> None:
        path = self.any()
        target = path.with_name(f"c_{self.chance.randrange(5)}.jsonl")
        if target != path:
            shutil.copy2(path, target)

    def truncate(self) -> None:
        path = self.any()
        os.truncate(path, self.chance.randrange(path.stat().st_size + 1))

    def flip(self) -> None:
        """One byte in place: the size stays, and the mtime is restored."""
        path = self.any()
        info = path.stat()
        if info.st_size:
            with path.open("r+b") as file:
                file.seek(self.chance.randrange(info.st_size))
                file.write(bytes([self.chance.randrange(256)]))
            os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))

    def insert(self) -> None:
        """In place, in the middle: the file grows and its end is unchanged."""
        path = self.any()
        lines = path.read_bytes().splitlines(keepends=True)
        lines.insert(self.chance.randrange(len(lines) + 1), self.line())
        with path.open("r+b") as file:
            file.write(b"".join(lines))

    def replace(self) -> None:
        """Like editors: a new file under the old name."""
        path = self.any()
        new = path.with_suffix(".tmp")
        lines = path.read_bytes().splitlines(keepends=True)
        self.chance.shuffle(lines)
        new.write_bytes(b"".join(lines))
        new.replace(path)

    def rewrite(self) -> None:
        """The same inode with other content, and more appended."""
        path = self.any()
        data = path.read_bytes().replace(b"parser", b"lexers") + self.lines()
        with path.open("r+b") as file:
            file.write(data)

    def set_time(self) -> None:
        os.utime(self.any(), (1_000 + self.chance.randrange(9), 1_000 + self.chance.randrange(9)))

    def swap(self) -> None:
        one, other = self.any(), self.any()
        aside = one.with_suffix(".tmp")
        one.rename(aside)
        if other.exists():
            other.rename(one)
        aside.rename(other)

    def drop_folder(self) -> None:
        if self.chance.random() < 0.3:
            shutil.rmtree(self.any().parent)


def everything(index: SessionIndex) -> dict[Path, tuple[SessionRow, list[tuple[str, str]]]]:
    """All rows with all texts, except for what depends on the time of indexing."""
    rows = index.sessions()

    def texts(db: sqlite3.Connection) -> dict[bytes, list[tuple[str, str]]]:
        found: dict[bytes, list[tuple[str, str]]] = {}
        sql = """SELECT folders.path || x'2f' || file, role, text FROM sessions
            JOIN folders ON folders.no = sessions.folder
            JOIN texts ON texts.no >> 20 = sessions.no ORDER BY texts.no"""
        for file, role, text in db.execute(sql):
            found.setdefault(file if isinstance(file, bytes) else file.encode(), []).append((role, text))
        if index.fts:  # raises if it does not match the texts
            db.execute("INSERT INTO texts_fts(texts_fts, rank) VALUES ('integrity-check', 1)")
        return found

    said = index.query(texts)
    return {row.path: (row, said.get(row.file, [])) for row in rows}


def agrees_with_the_session_itself(row: SessionRow) -> bool:
    summary = row.summary
    try:
        log = SessionLog.open(row.path, read_only=True)
    except SessionError:
        return bool(summary.problem)
    try:
        total = UsageStats(log).usage
        tokens = (summary.input_tokens, summary.output_tokens, summary.cache_read_tokens)
        assert (total.input, total.output, total.cache_read) == tokens
        assert total.cost.total == summary.cost
        assert (log.name or "").replace("\0", " ") == summary.shown_name
        assert log.header.cwd == summary.cwd
        assert sum(node.type == "message" for node in log.nodes()) == summary.messages
        return summary.problem in ("", NEWER)
    finally:
        log.close()


def live(tmp_path: Path, seed: int, steps: int) -> None:
    folder = tmp_path / f"{seed}"
    world = World(folder / "sessions", random.Random(seed))
    kept = SessionIndex(folder / "kept.db", world.root)
    try:
        for number in range(steps):
            world.step()
            if world.chance.random() < 0.6:
                found = everything(kept)
                with SessionIndex(folder / f"fresh-{number}.db", world.root) as fresh:
                    assert found == everything(fresh)
                assert set(found) == set(world.files())
                assert all(agrees_with_the_session_itself(row) for row, _ in found.values())
            if world.chance.random() < 0.1:
                kept.close()  # reopened with the next query
        assert not kept.remarks
    finally:
        kept.close()
        shutil.rmtree(folder)


@given(st.integers(0, 2**32))
@hypothesis_settings(max_examples=EXAMPLES)
def test_index_equals_a_fresh_scan(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    live(tmp_path_factory.mktemp("live"), seed, STEPS)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_index_equals_a_fresh_scan_in_long_runs(tmp_path: Path) -> None:
    for seed in range(500):
        live(tmp_path, seed, 3 * STEPS)
