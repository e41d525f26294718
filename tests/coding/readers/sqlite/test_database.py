"""SQLite databases: read-only when read, row by row when written, hostile ones bounded."""

import asyncio
import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tau.base.errors import ToolError
from tau.coding.files.targets import locate, locate_for_write
from tau.coding.readers.sqlite import database
from tau.coding.readers.sqlite.rows import ascii_table, cell_width
from tests.coding.context import CallContext
from tests.support.limits import HANG_S

Maker = Callable[..., Path]


@pytest.fixture
def make(ctx: CallContext) -> Maker:
    def made(script: str, name: str = "app.db") -> Path:
        path = ctx.cwd / name
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(script)
        return path

    return made


USERS = """
CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT NOT NULL, active, photo BLOB);
INSERT INTO users VALUES(1, 'Ada', 1, x'00ff'), (2, 'Grace', NULL, NULL),
  (7, '日本' || char(10) || 'x', 2.5, NULL);
CREATE VIEW active AS SELECT name FROM users WHERE active;
"""


def read(ctx: CallContext, text: str, seconds: float = 5.0) -> str:
    async def main() -> str:
        found = await database.locate(locate(text, ctx.cwd), ctx.cwd, ctx.fs)
        assert found is not None
        return (await database.read(found, seconds=seconds)).text

    return asyncio.run(main())


def write(ctx: CallContext, text: str, content: str, seconds: float = HANG_S) -> str:
    async def main() -> str:
        found = await database.locate(locate_for_write(text, ctx.cwd), ctx.cwd, ctx.fs)
        assert found is not None
        return (await database.write(found, content, seconds=seconds)).text

    return asyncio.run(main())


def rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def test_database_needs_the_extension_and_the_header(ctx: CallContext, make: Maker) -> None:
    make(USERS)
    (ctx.cwd / "notes.db").write_text("not a database")
    (ctx.cwd / "folder.db").mkdir()
    os.mkfifo(ctx.cwd / "pipe.db")

    async def main() -> None:
        assert locate("app.db", ctx.cwd).kind == "database"
        for name in ("notes.db", "folder.db", "pipe.db", "none.db", "app.txt"):
            assert locate(f"{name}:users", ctx.cwd).kind == "file"
        assert locate_for_write("notes.db:users", ctx.cwd).kind == "file"
        assert locate_for_write("new.db", ctx.cwd).kind == "file"
        with pytest.raises(ToolError, match=r"SQLite database 'none.db' not found"):
            await database.locate(locate_for_write("none.db:users", ctx.cwd), ctx.cwd, ctx.fs)

    asyncio.run(main())


def test_tables_are_listed_with_their_row_counts(ctx: CallContext, make: Maker) -> None:
    make(USERS + "CREATE TABLE one(x); INSERT INTO one VALUES(1);")
    assert read(ctx, "app.db") == "active (view)\none (1 row)\nusers (3 rows)"
    make("", "empty.db")
    make("CREATE TABLE t(x); DROP TABLE t", "bare.db")
    assert read(ctx, "bare.db") == "(no tables)"


def test_long_list_of_tables_is_cut(ctx: CallContext, make: Maker) -> None:
    make("BEGIN;" + "".join(f"CREATE TABLE t{number}(x);" for number in range(520)) + "COMMIT;")
    text = read(ctx, "app.db")
    assert text.count(" rows)") == 500
    assert "Showing 500 of 520 tables" in text


def test_table_shows_its_definition_and_some_rows(ctx: CallContext, make: Maker) -> None:
    make(USERS)
    assert read(ctx, "app.db:USERS") == (
        "CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT NOT NULL, active, photo BLOB)\n\n"
        "| id | name    | active | photo          |\n"
        "|----|---------|--------|----------------|\n"
        "| 1  | Ada     | 1      | <blob 2 bytes> |\n"
        "| 2  | Grace   | NULL   | NULL           |\n"
        "| 7  | 日本\\nx | 2.5    | NULL           |"
    )
    assert read(ctx, "app.db:active").startswith("CREATE VIEW active AS SELECT")
    make("CREATE TABLE t(x); INSERT INTO t SELECT value FROM json_each('[1,2,3,4,5,6,7]')", "many.db")
    assert read(ctx, "many.db:t").endswith("| 5 |")


def test_row_is_shown_in_full(ctx: CallContext, make: Maker) -> None:
    make(USERS + "UPDATE users SET name = 'long ' || replace(hex(zeroblob(50)), '0', 'ab') WHERE id = 1;")
    assert "ab" * 100 in read(ctx, "app.db:users:1")
    assert read(ctx, "app.db:users:7") == "id: 7\nname: 日本\n    x\nactive: 2.5\nphoto: NULL"
    assert read(ctx, "app.db:users:99") == "(no row with id = 99 in users)"


def test_rows_are_found_by_the_key_of_the_table(ctx: CallContext, make: Maker) -> None:
    make(
        """CREATE TABLE words(word TEXT PRIMARY KEY, n); INSERT INTO words VALUES('a:b', 1), ('5', 2);
        CREATE TABLE plain(x, rowid); INSERT INTO plain VALUES('first', 9), ('second', 8);
        CREATE TABLE pair(a, b, PRIMARY KEY(a, b)); INSERT INTO pair VALUES(1, 2);
        CREATE TABLE loose(k PRIMARY KEY, v); INSERT INTO loose VALUES(5, 'number'), (2.5, 'real');
        CREATE TABLE bare(a PRIMARY KEY, b) WITHOUT ROWID; INSERT INTO bare VALUES('k', 'v');
        CREATE TABLE bare2(a, b, PRIMARY KEY(a, b)) WITHOUT ROWID;"""
    )
    assert "n: 1" in read(ctx, "app.db:words:a:b")
    assert "n: 2" in read(ctx, "app.db:words:5")
    assert "x: second" in read(ctx, "app.db:plain:2")
    assert "b: 2" in read(ctx, "app.db:pair:1")
    assert "number" in read(ctx, "app.db:loose:5") and "real" in read(ctx, "app.db:loose:2.5")
    assert "b: v" in read(ctx, "app.db:bare:k")
    with pytest.raises(ToolError, match="neither a single primary key nor row numbers"):
        read(ctx, "app.db:bare2:1")
    with pytest.raises(ToolError, match="rows go by number"):
        read(ctx, "app.db:plain:abc")


def test_queries_page_order_and_filter(ctx: CallContext, make: Maker) -> None:
    make("CREATE TABLE t(n INTEGER, s TEXT)")
    with closing(sqlite3.connect(ctx.cwd / "app.db")) as connection:
        connection.executemany("INSERT INTO t VALUES(?, ?)", [(n, f"s{n % 3}") for n in range(600)])
        connection.commit()
    first = read(ctx, "app.db:t?limit=2&order=n:desc&where=s = 's1' AND n < 590")
    assert [line.split()[1] for line in first.splitlines()[2:4]] == ["589", "586"]
    assert first.endswith("[Rows 1-2; there are more: offset=2]")
    assert len(read(ctx, "app.db:t?offset=590").splitlines()) == 12
    assert len(read(ctx, "app.db:t?limit=100000").splitlines()) == 503
    assert len(read(ctx, "app.db:t?order=n").splitlines()) == 23
    assert read(ctx, "app.db:t?where=n > 1000") == "(no rows)"
    with pytest.raises(ToolError, match="no such column: nope"):
        read(ctx, "app.db:t?where=nope = 1")
    with pytest.raises(ToolError, match=r"no table x. Tables: t"):
        read(ctx, "app.db:x")


def test_free_queries_return_at_most_a_thousand_rows(ctx: CallContext, make: Maker) -> None:
    make(USERS)
    assert read(ctx, "app.db?q=SELECT count(*) AS n FROM users").splitlines()[-1] == "| 3 |"
    text = read(
        ctx, "app.db?q=WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
    )
    assert text.count("\n") == 1002
    assert text.endswith("[The first 1,000 rows; add LIMIT and OFFSET to see others]")
    assert "name" in read(ctx, "app.db?q=PRAGMA table_info(users)")


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM users",
        "INSERT INTO users(name) VALUES('x')",
        "CREATE TABLE y(x)",
        "CREATE TEMP TABLE y(x)",
        "DROP TABLE users",
        "ATTACH 'other.db' AS o",
        "VACUUM INTO 'copy.db'",
        "PRAGMA user_version = 5",
        "PRAGMA query_only = OFF",
        "PRAGMA journal_mode = WAL",
        "PRAGMA writable_schema = ON",
        "SELECT load_extension('x')",
        "BEGIN IMMEDIATE",
        "SELECT 1; DELETE FROM users",
        "SELECT ?",
        "nonsense",
    ],
)
def test_queries_are_read_only(ctx: CallContext, make: Maker, sql: str) -> None:
    path = make(USERS)
    before = path.read_bytes()
    with pytest.raises(ToolError) as caught:
        read(ctx, f"app.db?q={sql}")
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before
    assert [each.name for each in ctx.cwd.iterdir()] == ["app.db"]


def test_odd_names(ctx: CallContext, make: Maker) -> None:
    make(
        'CREATE TABLE "we""ird\'; drop"("a b" TEXT, "select" INT);'
        'INSERT INTO "we""ird\'; drop" VALUES(1, 2);'
        'CREATE TABLE "select"(x); CREATE TABLE "таблица"("колонка"); CREATE TABLE "a:b"(x PRIMARY KEY);'
    )
    assert "| 1   | 2      |" in read(ctx, "app.db:we\"ird'; drop")
    assert "(no rows)" in read(ctx, "app.db:select")
    assert write(ctx, "app.db:таблица", '{"колонка": "да"}') == "Inserted row into таблица"
    assert "да" in read(ctx, "app.db:таблица?order=колонка:desc")
    assert write(ctx, "app.db:a:b", "{x: 'k:1'}") == "Inserted row into a:b"
    assert read(ctx, "app.db:a:b:k:1") == "x: k:1"


def test_wal_database_leaves_no_files_behind(ctx: CallContext, make: Maker) -> None:
    make("PRAGMA journal_mode=WAL;" + USERS)
    assert "users (3 rows)" in read(ctx, "app.db")
    assert [each.name for each in ctx.cwd.iterdir()] == ["app.db"]


def test_read_left_a_shm_file_behind(ctx: CallContext, make: Maker) -> None:
    """After a crash there is a log, and no one has the database open."""
    make("PRAGMA journal_mode=WAL; CREATE TABLE t (a);")
    with closing(sqlite3.connect(ctx.cwd / "app.db")) as other:
        other.execute("INSERT INTO t VALUES ('late')")
        other.commit()
        log = (ctx.cwd / "app.db-wal").read_bytes()
        data = (ctx.cwd / "app.db").read_bytes()
    (ctx.cwd / "app.db").write_bytes(data)
    (ctx.cwd / "app.db-wal").write_bytes(log)
    assert "late" in read(ctx, "app.db:t")
    assert sorted(path.name for path in ctx.cwd.iterdir()) == ["app.db", "app.db-wal"]
    assert (ctx.cwd / "app.db-wal").read_bytes() == log and (ctx.cwd / "app.db").read_bytes() == data


def test_uncheckpointed_wal_content_of_another_program_is_visible(ctx: CallContext, make: Maker) -> None:
    path = make("PRAGMA journal_mode=WAL;" + USERS)
    with closing(sqlite3.connect(path)) as other:
        other.execute("INSERT INTO users VALUES(50, 'late', 1, NULL)")
        other.commit()
        assert "users (4 rows)" in read(ctx, "app.db")


@pytest.mark.parametrize("obstacle", ["folder", "dangling link"])
def test_unusable_wal_is_reported(ctx: CallContext, make: Maker, obstacle: str) -> None:
    make("PRAGMA journal_mode=WAL;" + USERS)
    (ctx.cwd / "app.db-wal").write_bytes(b"x" * 100)
    shared = ctx.cwd / "app.db-shm"
    if obstacle == "folder":
        shared.mkdir()
    else:
        shared.symlink_to("/nowhere/at/all")
    text = read(ctx, "app.db")
    assert "users (3 rows)" in text and "latest changes may be missing" in text


def test_locked_database_is_reported(ctx: CallContext, make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make(USERS)
    monkeypatch.setattr("tau.coding.readers.sqlite.connection.BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(ToolError, match="in use by another program"):
            read(ctx, "app.db")
        with pytest.raises(ToolError, match="in use by another program"):
            write(ctx, "app.db:users:1", "{name: 'x'}")


def test_rows_are_inserted_updated_and_deleted(ctx: CallContext, make: Maker) -> None:
    path = make(USERS)
    assert write(ctx, "app.db:users", "{name: 'Lin', ACTIVE: true, /* why */}") == "Inserted row into users"
    assert rows(path, "SELECT name, active FROM users WHERE id = 8") == [("Lin", 1)]
    assert write(ctx, "app.db:users:2", '{"active": 0.5, "name": null}'.replace("null", '"G"')) == (
        "Updated row '2' in users"
    )
    assert rows(path, "SELECT * FROM users WHERE id = 2") == [(2, "G", 0.5, None)]
    assert write(ctx, "app.db:users:99", "{name: 'x'}") == "No row updated: users has no row '99'"
    assert write(ctx, "app.db:users:2", "  \n") == "Deleted row '2' from users"
    assert write(ctx, "app.db:users:2", "") == "No row deleted: users has no row '2'"
    make("CREATE TABLE d(id INTEGER PRIMARY KEY, x DEFAULT 'def')", "d.db")
    assert write(ctx, "d.db:d", "{}") == "Inserted row into d"
    assert rows(ctx.cwd / "d.db", "SELECT * FROM d") == [(1, "def")]


@pytest.mark.parametrize(
    ("target", "content", "message"),
    [
        ("users", "", "not JSON5"),
        ("users", "[1]", "written as an object"),
        ("users", "{name: ", "not JSON5"),
        ("users", "{nope: 1}", "no column nope. Columns: id, name, active, photo"),
        ("users", "{name: 'x', Name: 'y'}", "given twice"),
        ("users", "{name: {a: 1}}", "not a list or object"),
        ("users", "{name: [1]}", "not a list or object"),
        ("users", "{active: NaN}", "NaN"),
        ("users", "{id: 99999999999999999999}", "64 bits"),
        ("users", "{active: 1}", "NOT NULL constraint failed: users.name"),
        ("users", "{name: 'x', id: 1}", "UNIQUE constraint failed"),
        ("users:1", "{}", "object is empty"),
        ("active:1", "{name: 'x'}", "is a view"),
        ("sqlite_master:1", "{name: 'x'}", "SQLite's own"),
        ("pair:1", "{a: 2}", "composite primary key"),
        ("bare:1", "{b: 2}", "WITHOUT ROWID"),
        ("none", "{}", "no table none"),
    ],
)
def test_failed_writes_change_nothing(
    ctx: CallContext, make: Maker, target: str, content: str, message: str
) -> None:
    path = make(
        USERS + "CREATE TABLE pair(a, b, PRIMARY KEY(a, b)); INSERT INTO pair VALUES(1, 2);"
        "CREATE TABLE bare(a PRIMARY KEY, b) WITHOUT ROWID; INSERT INTO bare VALUES(1, 2);"
    )
    before = path.read_bytes()
    with pytest.raises(ToolError, match=message):
        write(ctx, f"app.db:{target}", content)
    assert path.read_bytes() == before


def test_rows_changed_by_triggers_and_references_are_reported(ctx: CallContext, make: Maker) -> None:
    path = make(
        """CREATE TABLE p(id INTEGER PRIMARY KEY); INSERT INTO p VALUES(1), (2);
        CREATE TABLE c(p REFERENCES p ON DELETE CASCADE); INSERT INTO c VALUES(1), (1), (2);"""
    )
    assert write(ctx, "app.db:p:1", "") == (
        "Deleted row '1' from p (2 further rows changed through triggers or foreign keys)"
    )
    assert rows(path, "SELECT count(*) FROM c") == [(1,)]


def test_plain_json_is_enough_without_the_json5_parser(
    ctx: CallContext, make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(USERS)
    monkeypatch.setitem(__import__("sys").modules, "pyjson5", None)
    monkeypatch.setattr(database.json5, "_module", None)
    assert write(ctx, "app.db:users", '{"name": "plain"}') == "Inserted row into users"
    with pytest.raises(ToolError, match="not JSON: "):
        write(ctx, "app.db:users", "{name: 'x'}")


def test_endless_view_is_stopped(ctx: CallContext, make: Maker) -> None:
    make(
        "CREATE VIEW endless AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
        "SELECT count(*) AS n FROM c; CREATE TABLE t(x); CREATE VIEW loop AS SELECT * FROM loop2;"
        "CREATE VIEW loop2 AS SELECT * FROM loop;"
    )
    assert "[Its rows cannot be shown: interrupted]" in read(ctx, "app.db:endless", seconds=0.1)
    with pytest.raises(ToolError, match=r"longer than 0.1 s and was stopped"):
        read(ctx, "app.db:endless?limit=1", seconds=0.1)
    assert read(ctx, "app.db", seconds=0.1) == "endless (view)\nloop (view)\nloop2 (view)\nt (0 rows)"
    with pytest.raises(ToolError, match="circularly defined"):
        read(ctx, "app.db:loop?limit=1")


def test_endless_trigger_is_stopped_and_rolled_back(ctx: CallContext, make: Maker) -> None:
    path = make(
        """CREATE TABLE t(x); CREATE TRIGGER endless AFTER INSERT ON t BEGIN INSERT INTO t
        WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c; END;"""
    )
    with pytest.raises(ToolError, match="was stopped"):
        write(ctx, "app.db:t", "{x: 1}", seconds=0.1)
    assert rows(path, "SELECT count(*) FROM t") == [(0,)]


def test_counting_stops_when_time_is_up(ctx: CallContext, make: Maker) -> None:
    path = make("CREATE TABLE a(x); CREATE TABLE b(x);")
    with closing(sqlite3.connect(path)) as connection:
        connection.executemany("INSERT INTO a VALUES(?)", [("x" * 500,)] * 50_000)
        connection.commit()
    text = read(ctx, "app.db", seconds=0.0)
    assert text == "a (not counted)\nb (not counted)"


def test_huge_values_are_cut(ctx: CallContext, make: Maker) -> None:
    make(
        "CREATE TABLE t(k PRIMARY KEY, x);"
        "INSERT INTO t VALUES(1, zeroblob(3000000)), (2, hex(zeroblob(500000)));"
    )
    assert "<blob 3000000 bytes>" in read(ctx, "app.db:t")
    assert len(max(read(ctx, "app.db:t").splitlines(), key=len)) <= 120
    assert "(1000000 bytes in all)" in read(ctx, "app.db:t:2")
    with pytest.raises(ToolError, match="too big"):
        read(ctx, "app.db?q=SELECT zeroblob(900000000)")


def test_very_wide_rows_name_what_does_not_fit(ctx: CallContext, make: Maker) -> None:
    columns = ", ".join(f"column_{number}" for number in range(300))
    make(f"CREATE TABLE t({columns}); INSERT INTO t(column_0) VALUES('x');")
    text = read(ctx, "app.db:t?limit=1")
    assert "more columns do not fit: column_13, column_14" in text
    assert all(cell_width(line) <= 120 for line in text.splitlines()[:3])


def test_damaged_pages_are_reported(ctx: CallContext, make: Maker) -> None:
    path = make("CREATE TABLE t(x); CREATE TABLE u(y)")
    with closing(sqlite3.connect(path)) as connection:
        connection.executemany("INSERT INTO t VALUES(?)", [("x" * 500,)] * 200)
        connection.commit()
    data = bytearray(path.read_bytes())
    data[8192:] = b"\xfe" * (len(data) - 8192)
    path.write_bytes(data)
    with pytest.raises(ToolError, match="damaged or not a SQLite database"):
        read(ctx, "app.db:t?limit=500")
    data[100:4096] = os.urandom(3996)
    path.write_bytes(data)
    with pytest.raises(ToolError, match="damaged"):
        read(ctx, "app.db")
    path.write_bytes(data[:300])
    with pytest.raises(ToolError):
        read(ctx, "app.db:t")


@example(b"\x00\x00\x80", 3965)
@given(st.binary(min_size=1, max_size=60), st.integers(16, 8191))
def test_damaged_database_gives_a_result_or_an_error(noise: bytes, where: int) -> None:
    data = bytearray(SAMPLE)
    where %= len(data)
    data[where : where + len(noise)] = noise
    path = Path(os.environ["HOME"]) / "x.db"
    path.write_bytes(data)
    for rest in ("", ":t", ":t:1", ":t?where=x > 1", "?q=SELECT * FROM t, u"):
        try:
            text = asyncio.run(database.read(database.DatabasePath(path, "x.db", rest), seconds=1.0)).text
        except ToolError:
            continue
        assert text


def sample() -> bytes:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, x); CREATE INDEX i ON t(x);"
            "CREATE VIEW u AS SELECT * FROM t;"
            "INSERT INTO t(x) SELECT value FROM json_each('[1,2,3,\"text\",null]');"
        )
        return connection.serialize()


SAMPLE = sample()


def test_sqlite_extensions_are_readable(ctx: CallContext, make: Maker) -> None:
    make(
        "CREATE VIRTUAL TABLE f USING fts5(body); INSERT INTO f VALUES('hello world');"
        "CREATE VIRTUAL TABLE r USING rtree(id, a, b); INSERT INTO r VALUES(1, 2, 3);"
    )
    assert "hello world" in read(ctx, "app.db:f?where=f MATCH 'hello'")
    assert "| 1  | 2.0 | 3.0 |" in read(ctx, "app.db:r")
    assert write(ctx, "app.db:f", "{body: 'new text'}").startswith("Inserted row into f")
    assert "new text" in read(ctx, "app.db:f?where=f MATCH 'new'")


def test_cancelled_query_stops_its_thread(ctx: CallContext, make: Maker) -> None:
    make(USERS)
    endless = (
        "app.db?q=WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    )

    async def main() -> None:
        found = await database.locate(locate(endless, ctx.cwd), ctx.cwd, ctx.fs)
        assert found is not None
        async with asyncio.timeout(0.05):
            await database.read(found, seconds=60)

    before = threading.active_count()
    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert threading.active_count() == before


def test_character_table_fits_its_width() -> None:
    text = ascii_table(["id", "name"], [["1", "x" * 100], ["2", "日本語" * 30], ["3", "e\u0301"]], width=40)
    assert {cell_width(line) for line in text.splitlines()} == {40}
    assert "x…" in text
    assert ascii_table(["a"], [["\x1b[31mred\x1b[0m"]]).splitlines()[2] == "| red |"


@given(
    st.lists(st.text(max_size=50), min_size=1, max_size=40),
    st.integers(0, 3),
    st.text(max_size=60),
    st.integers(20, 130),
)
def test_every_line_of_a_table_fits(columns: list[str], count: int, cell: str, width: int) -> None:
    text = ascii_table(columns, [[cell] * len(columns)] * count, width=width)
    lines = [line for line in text.split("\n") if line.startswith("|")]
    assert len(lines) == count + 2
    assert all(cell_width(line) <= width for line in lines)


def test_query_that_names_databases_itself(ctx: CallContext, make: Maker) -> None:
    make(USERS)
    text = read(ctx, f"app.db?q=SELECT count(*) AS n FROM users WHERE name <> '{'x' * 300}/y.db:z'")
    assert text.splitlines()[-1] == "| 3 |"


def test_row_lookup_with_an_unknown_parameter_looked_for_that_key(ctx: CallContext, make: Maker) -> None:
    make(USERS)
    for path in ("app.db:users:1?x=1", "app.db:users:1?limit=3"):
        with pytest.raises(ToolError, match="A row takes no parameters"):
            read(ctx, path)
        with pytest.raises(ToolError, match="take no query parameters"):
            write(ctx, path, "{name: 'x'}")
