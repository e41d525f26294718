"""The store of memories: what is found, what is kept, what survives."""

import multiprocessing
import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tau.backends.memory.store import MAX_TEXT_CHARS, MemoryItem, MemoryStore, MemoryStoreError, query_words
from tests.backends.memory.facts import facts, questions
from tests.support.limits import HANG_S
from tests.support.soak import is_soaking


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "memory" / "memory.db")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> MemoryStore:
    store = MemoryStore(tmp_path_factory.mktemp("bench") / "memory.db")
    with store._open() as db:  # one transaction: the facts are not the point
        for number, text in enumerate(facts()):
            store._insert(db, MemoryItem(str(number), text))
    return store


@pytest.mark.parametrize(("kind", "wanted"), [("same words", 0.97), ("identifiers", 0.95), ("typos", 0.8)])
def test_the_answer_is_among_the_first_eight(bench: MemoryStore, kind: str, wanted: float) -> None:
    asked = list(questions(kind))
    hits = sum(str(number) in [one.item.id for one in bench.search(text)] for text, number in asked)
    assert hits / len(asked) >= wanted


def test_a_memory_is_stored_found_edited_hidden_and_forgotten(store: MemoryStore) -> None:
    id = store.add("The cache key includes the locale", context="decided in May", scope="/a")
    assert store.add("The cache key includes the locale", scope="/a") == id
    assert store.add("The cache key includes the locale", scope="/b") != id
    [match] = store.search("locales in caches?", ["/a"])
    assert match.item.id == id and match.item.context == "decided in May"
    assert store.edit(id, text="The cache key ignores currencies", importance=7)
    assert not store.search("locale", ["/a"]) and store.search("currency", ["/a"])[0].item.importance == 1
    assert store.invalidate(id, "other") and not store.search("currency", ["/a"])
    kept = store.get(id)
    assert kept is not None and kept.hidden and kept.superseded == "other"
    assert store.forget(id) and not store.forget(id) and store.get(id) is None
    assert store.check() == []


def test_the_file_is_private(store: MemoryStore) -> None:
    store.add("x y")
    assert (store.path.stat().st_mode & 0o777, store.path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "a AND OR NOT (",
        "NEAR(x, y",
        "text:*",
        "-",
        "\0",
        "x" * 1_000_000,
        "'; DROP TABLE items; --",
        "{a b}^2",
        "",
    ],
)
def test_any_query_is_harmless(store: MemoryStore, query: str) -> None:
    store.add("some text")
    store.search(query)
    assert len(store.items()) == 1


def test_words_of_other_scripts_are_found(store: MemoryStore) -> None:
    id = store.add("缓存使用红黑树实现")
    assert [one.item.id for one in store.search("红黑树")] == [id]


def test_identifiers_are_split(store: MemoryStore) -> None:
    assert query_words("HTTPServer parseJSONBody max_retry-count/x") == [
        *("http", "server", "parse", "json", "body", "max", "retry", "count", "x"),
    ]


def test_planted_keys_reach_no_file(store: MemoryStore) -> None:
    keys = [
        f"sk-ant-api03-{number:03d}aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5z"
        for number in range(200 if is_soaking() else 20)
    ]
    for key in keys:
        id = store.add(f"Use {key} for the API", context=f"ANTHROPIC_API_KEY={key}")
        store.edit(id, text=f"Use {key} twice")
    data = b"".join(path.read_bytes() for path in store.path.parent.iterdir())
    assert not [key for key in keys if key.encode() in data]


def test_texts_have_a_limit(store: MemoryStore) -> None:
    with pytest.raises(MemoryStoreError, match="at most"):
        store.add("x" * (MAX_TEXT_CHARS + 1))
    with pytest.raises(MemoryStoreError, match="needs a text"):
        store.add(" \0 ")


def _write(path: Path, name: str, count: int, told: str) -> None:
    store = MemoryStore(path)
    with open(told, "a", buffering=1) as file:  # noqa: PTH123
        for number in range(count):
            file.write(f"{store.add(f'{name} fact {number}')}\n")


def test_eight_writers_lose_nothing(store: MemoryStore, tmp_path: Path) -> None:
    count = 500 if is_soaking() else 12
    context = multiprocessing.get_context("fork")
    writers = [
        context.Process(target=_write, args=(store.path, f"w{n}", count, str(tmp_path / f"told{n}")))
        for n in range(8)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(HANG_S)
        assert writer.exitcode == 0
    assert len(store.items()) == 8 * count and store.check() == []


def test_a_killed_writer_loses_nothing_that_was_acknowledged(store: MemoryStore, tmp_path: Path) -> None:
    told = tmp_path / "told"
    context = multiprocessing.get_context("fork")
    for kill in range(40 if is_soaking() else 4):
        told.touch()
        before = len(told.read_text().split())
        writer = context.Process(target=_write, args=(store.path, f"k{kill}", 10_000, str(told)))
        writer.start()
        while len(told.read_text().split()) < before + 2 + kill % 5:
            pass
        assert writer.pid is not None
        os.kill(writer.pid, signal.SIGKILL)
        writer.join(HANG_S)
    ids = {item.id for item in store.items()}
    assert set(told.read_text().split("\n")[:-1]) <= ids and store.check() == []


def test_a_full_disk_is_reported_and_loses_nothing(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = store.add("the first")
    connect = MemoryStore._connect_once

    def small(self: MemoryStore) -> sqlite3.Connection:
        db = connect(self)
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        db.execute(f"PRAGMA max_page_count = {pages}")
        return db

    with monkeypatch.context() as patch:
        patch.setattr(MemoryStore, "_connect_once", small)
        with pytest.raises(MemoryStoreError, match="full"):
            store.add("x y " * 10_000)
    assert [item.id for item in store.items()] == [id] and store.check() == []


def test_a_damaged_file_is_moved_aside_and_its_rows_are_saved(store: MemoryStore) -> None:
    ids = [store.add(f"fact {number} " + "word " * 50) for number in range(200)]
    with closing(sqlite3.connect(store.path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.execute("PRAGMA journal_mode = DELETE")
    data = bytearray(store.path.read_bytes())
    data[-4096 * 4 :] = os.urandom(4096 * 4)
    store.path.write_bytes(data)
    store.path.with_name("memory.db-wal").unlink(missing_ok=True)
    with pytest.raises(MemoryStoreError, match=r"were saved.*Try again"):
        for number in range(200):
            store.search(f"fact {number}")
            store.edit(ids[number], text=f"new {number}")
            store.items()
    [aside] = store.path.parent.glob("*.damaged-*[0-9]")
    kept = {item.id for item in store.items()}
    assert aside.stat().st_size == len(data) and len(kept & set(ids)) >= 50
    assert store.check() == [] and store.add("works again") in {item.id for item in store.items()}


def test_another_kind_of_file_is_moved_aside(store: MemoryStore) -> None:
    store.path.parent.mkdir()
    store.path.write_bytes(b"not a database" * 1_000)
    assert store.items() == [] and len(store.notices) == 1
    [aside] = store.path.parent.glob("*.damaged-*")
    assert aside.read_bytes().startswith(b"not a database")


def test_a_newer_schema_is_left_alone(store: MemoryStore) -> None:
    store.add("x y")
    with closing(sqlite3.connect(store.path)) as db, db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(MemoryStoreError, match="newer tau"):
        store.add("z")
    assert not list(store.path.parent.glob("*.damaged-*"))
