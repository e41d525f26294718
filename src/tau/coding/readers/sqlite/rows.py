"""Answer each kind of database query: all tables, one table, one row, SQL."""

import re
import sqlite3
from collections.abc import Callable, Sequence

from msgspec import Struct

from tau.base.errors import ToolError
from tau.base.text import plain
from tau.coding.output import EntryLimit
from tau.coding.readers.sqlite.ascii_table import ascii_table, most_columns, one_line
from tau.coding.readers.sqlite.connection import SqliteConnection
from tau.coding.readers.sqlite.selector import (
    ListTables,
    QueryTable,
    RunQuery,
    Select,
    ShowRow,
    ShowTable,
    find_column,
    order_of,
    quoted,
)

LISTED_TABLES = 500
SAMPLE_ROWS = 5
QUERY_ROWS = 1_000
_TABLE_CELL_BYTES = 400
_ROW_CELL_BYTES = 64 * 1024
_SCHEMA_TABLES = ("sqlite_master", "sqlite_schema")


class TableInfo(Struct, frozen=True):
    """A table or view; `keys` are its primary key columns, `rowid` the name of its rowid, if any."""

    name: str
    is_view: bool
    columns: list[str]
    keys: list[str]
    rowid: str | None


class SqliteText(Struct, frozen=True, kw_only=True):
    """The text to show, notices included. `limit` is set if a list was truncated."""

    text: str
    limit: EntryLimit | None = None


def table_names(opened: SqliteConnection) -> list[str]:
    """List all names allowed after the colon, including SQLite's own tables."""
    names = opened.connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
    return [*(str(name) for (name,) in names), *_SCHEMA_TABLES]


def answer(opened: SqliteConnection, select: Select) -> SqliteText:
    """Run a query. Raises ToolError and sqlite3.Error."""
    opened.connection.text_factory = _clipped(_TABLE_CELL_BYTES)
    match select:
        case ListTables():
            result = _list(opened)
        case ShowTable():
            result = _schema(opened, describe(opened, select.table))
        case ShowRow():
            result = _row(opened, describe(opened, select.table), select.key)
        case QueryTable():
            result = _query(opened, describe(opened, select.table), select)
        case RunQuery():
            result = _run(opened, select.sql)
    if not opened.remark:
        return result
    return SqliteText(text=f"{result.text}\n{opened.remark}", limit=result.limit)


def describe(opened: SqliteConnection, name: str) -> TableInfo:
    """Look up a table by name, ignoring case. Raises ToolError if there is none."""
    names = table_names(opened)
    found = find_column(name, names)
    if found is None:
        there = ", ".join(one_line(each) for each in names[:-2][:20])
        raise ToolError(f"There is no table {one_line(name)[:100]}. Tables: {there or 'none'}.")
    connection = opened.connection
    columns: list[tuple[str, int, int]] = connection.execute(
        "SELECT name, pk, hidden FROM pragma_table_xinfo(?)", (found,)
    ).fetchall()
    keys = sorted((pk, column) for column, pk, _ in columns if pk)
    shown = [column for column, _, hidden in columns if hidden != 1]
    kinds = connection.execute("SELECT type FROM sqlite_master WHERE name = ? AND type = 'view'", (found,))
    is_view = kinds.fetchone() is not None
    return TableInfo(
        found, is_view, shown, [key for _, key in keys], None if is_view else _rowid(opened, found, shown)
    )


def key_column(table: TableInfo) -> str | None:
    """Return the SQL column that identifies a row; None if there is no single one."""
    if len(table.keys) == 1:
        return quoted(table.keys[0])
    return table.rowid


def key_values(key: str, *, by_rowid: bool) -> list[str | int | float]:
    """Return the possible values of a key: an untyped column distinguishes numbers and text."""
    whole = re.fullmatch(r"\s*[+-]?\d{1,18}\s*", key)
    if by_rowid:
        if whole is None:
            raise ToolError(f"The table has no single primary key, so rows go by number, not {key[:50]!r}.")
        return [int(key)]
    number: list[str | int | float] = [int(key)] if whole else []
    if not whole and re.fullmatch(r"[+-]?\d{1,18}\.\d{1,18}", key):
        number = [float(key)]
    return [key, *number]


def _rowid(opened: SqliteConnection, table: str, columns: Sequence[str]) -> str | None:
    taken = {column.lower() for column in columns}
    name = next((name for name in ("rowid", "_rowid_", "oid") if name not in taken), None)
    if name is None:
        return None
    try:
        opened.connection.execute(f"SELECT {name} FROM {quoted(table)} LIMIT 0")
    except sqlite3.OperationalError:
        return None
    return name


def _list(opened: SqliteConnection) -> SqliteText:
    found: list[tuple[str, str]] = opened.connection.execute(
        "SELECT type, name FROM sqlite_master WHERE type IN ('table', 'view') "
        r"AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name COLLATE NOCASE"
    ).fetchall()
    if not found:
        return SqliteText(text="(no tables)")
    rows = [
        f"{one_line(name)} ({'view' if kind == 'view' else _count(opened, name)})"
        for kind, name in found[:LISTED_TABLES]
    ]
    limit = None
    if len(found) > len(rows):
        rows.append(
            f"[Showing {len(rows)} of {len(found)} tables; the others: ?q=SELECT name FROM sqlite_master]"
        )
        limit = EntryLimit(LISTED_TABLES, len(found))
    return SqliteText(text="\n".join(rows), limit=limit)


def _count(opened: SqliteConnection, table: str) -> str:
    """Count rows. The time limit covers all tables together; those after it are not counted."""
    if opened.deadline.passed():
        return "not counted"
    try:
        (count,) = opened.connection.execute(f"SELECT count(*) FROM {quoted(table)}").fetchone()
    except sqlite3.Error as error:
        if "interrupted" in str(error):
            if not opened.deadline.passed():
                raise
            return "many rows"
        return f"cannot be read: {one_line(str(error))[:100]}"
    return "1 row" if count == 1 else f"{count} rows"


def _schema(opened: SqliteConnection, table: TableInfo) -> SqliteText:
    opened.connection.text_factory = _clipped(_ROW_CELL_BYTES)
    row: tuple[str | None] | None = opened.connection.execute(
        "SELECT sql FROM sqlite_master WHERE name = ?", (table.name,)
    ).fetchone()
    sql = plain(row[0]) if row and row[0] else f"-- {table.name} belongs to SQLite itself"
    opened.connection.text_factory = _clipped(_TABLE_CELL_BYTES)
    try:
        columns, rows, _ = _fetch(
            opened, f"SELECT * FROM {quoted(table.name)} LIMIT {SAMPLE_ROWS}", SAMPLE_ROWS
        )
    except sqlite3.Error as error:
        if "interrupted" in str(error) and not opened.deadline.passed():
            raise
        return SqliteText(text=f"{sql}\n\n[Its rows cannot be shown: {one_line(str(error))[:200]}]")
    return SqliteText(text=f"{sql}\n\n{ascii_table(columns, rows) if rows else '(no rows)'}")


def _row(opened: SqliteConnection, table: TableInfo, key: str) -> SqliteText:
    column = key_column(table)
    if column is None:
        raise ToolError(
            f"{table.name} has neither a single primary key nor row numbers; use {table.name}?where=…"
        )
    opened.connection.text_factory = _clipped(_ROW_CELL_BYTES)
    for value in key_values(key, by_rowid=len(table.keys) != 1):
        found = opened.connection.execute(f"SELECT * FROM {quoted(table.name)} WHERE {column} = ?", (value,))
        row: tuple[object, ...] | None = found.fetchone()
        if row is not None:
            names = [str(field[0]) for field in found.description]
            lines = [f"{one_line(name)}: {_long(value)}" for name, value in zip(names, row, strict=True)]
            return SqliteText(text="\n".join(lines))
    return SqliteText(text=f"(no row with {column.strip(chr(34))} = {one_line(key)[:100]} in {table.name})")


def _query(opened: SqliteConnection, table: TableInfo, select: QueryTable) -> SqliteText:
    sql = f"SELECT * FROM {quoted(table.name)}"
    if select.where:
        sql += f" WHERE ({select.where}\n)"
    if select.order:
        column, direction = order_of(select.order, table.columns)
        sql += f" ORDER BY {quoted(column)} {direction}"
    sql += f" LIMIT {select.limit + 1} OFFSET {select.offset}"
    columns, rows, more = _fetch(opened, sql, select.limit)
    if not rows:
        return SqliteText(text="(no rows)")
    text = ascii_table(columns, rows)
    if more:
        following = select.offset + select.limit
        text += f"\n[Rows {select.offset + 1}-{following}; there are more: offset={following}]"
    return SqliteText(text=text)


def _run(opened: SqliteConnection, sql: str) -> SqliteText:
    columns, rows, more = _fetch(opened, sql, QUERY_ROWS)
    if not rows:
        return SqliteText(text="(no rows)")
    text = ascii_table(columns, rows)
    if more:
        text += f"\n[The first {QUERY_ROWS:,} rows; add LIMIT and OFFSET to see others]"
    return SqliteText(text=text)


def _fetch(opened: SqliteConnection, sql: str, most: int) -> tuple[list[str], list[list[str]], bool]:
    """Fetch the columns, at most `most` rows as text, and whether there are more, row by row."""
    cursor = opened.connection.execute(sql)
    if cursor.description is None:
        return [], [], False
    shown = most_columns()
    rows: list[list[str]] = []
    row: tuple[object, ...]
    for row in cursor:
        if len(rows) == most:
            return [str(field[0]) for field in cursor.description], rows, True
        rows.append([_cell(value) for value in row[:shown]])
    return [str(field[0]) for field in cursor.description], rows, False


def _cell(value: object) -> str:
    if value is None:
        return "NULL"
    return f"<blob {len(value)} bytes>" if isinstance(value, bytes) else str(value)


def _long(value: object) -> str:
    """Format a full value, with further lines indented to set them off from columns."""
    return plain(_cell(value)).replace("\r", "").replace("\n", "\n    ")


def _clipped(most: int) -> Callable[[bytes], str]:
    """Return a text factory, as texts may be long or invalid."""
    return lambda raw: raw.decode("utf-8", "replace") if len(raw) <= most else _cut(raw, most)


def _cut(raw: bytes, most: int) -> str:
    return f"{raw[:most].decode('utf-8', 'ignore')}… ({len(raw)} bytes in all)"
