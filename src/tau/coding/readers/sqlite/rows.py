"""Answer each kind of database query: all tables, one table, one row, SQL."""

import re
import sqlite3
from collections.abc import Callable, Sequence

from msgspec import Struct

from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.text import plain
from tau.coding.output import EntryLimit, OutputLimits, take
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

unicodedata = late("unicodedata")

LISTED_TABLES = 500
SAMPLE_ROWS = 5
QUERY_ROWS = 1_000
_TABLE_CELL_BYTES = 400
_LIMITS = OutputLimits()
_SCHEMA_TABLES = ("sqlite_master", "sqlite_schema")
MAX_WIDTH = 120
MAX_COLUMN = 40
_LEAST = 6  # narrower than this, a truncated cell is useless
_FRAME = 3  # ` | ` between two columns
_NAMED = 20
_TABLE_FRAME_LINES = 3  # head, rule, and the line about columns that do not fit
_LEAST_VALUE_BYTES = 16
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


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
    rows = list(take(rows, _LIMITS).lines)
    limit = None
    if len(found) > len(rows):
        limit = EntryLimit(len(rows), len(found))
        rows.append(
            f"[Showing {len(rows)} of {len(found)} tables; the others: ?q=SELECT name FROM sqlite_master]"
        )
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
    opened.connection.text_factory = _clipped(_LIMITS.bytes // 2)
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
    select = f"SELECT * FROM {quoted(table.name)} WHERE {column} = ?"
    for value in key_values(key, by_rowid=len(table.keys) != 1):
        text = _row_text(opened, select, value, _LIMITS.bytes)
        if text is not None and len(text.encode()) > _LIMITS.bytes:
            share = max(_LIMITS.bytes // max(len(table.columns), 1), _LEAST_VALUE_BYTES)
            note = "[Long values are cut; show parts with ?q=SELECT substr(COLUMN, 1, 5000) FROM …]"
            text = f"{_row_text(opened, select, value, share)}\n{note}"
        if text is not None:
            return SqliteText(text=text)
    return SqliteText(text=f"(no row with {column.strip(chr(34))} = {one_line(key)[:100]} in {table.name})")


def _row_text(opened: SqliteConnection, select: str, key: object, cell_bytes: int) -> str | None:
    """One row, a line or more for each column; None if there is none."""
    opened.connection.text_factory = _clipped(cell_bytes)
    found = opened.connection.execute(select, (key,))
    row: tuple[object, ...] | None = found.fetchone()
    if row is None:
        return None
    names = [one_line(str(field[0])) for field in found.description]
    return "\n".join(f"{name}: {_long(value)}" for name, value in zip(names, row, strict=True))


def _query(opened: SqliteConnection, table: TableInfo, select: QueryTable) -> SqliteText:
    sql = f"SELECT * FROM {quoted(table.name)}"
    if select.where:
        sql += f" WHERE ({select.where}\n)"
    if select.order:
        column, direction = order_of(select.order, table.columns)
        sql += f" ORDER BY {quoted(column)} {direction}"
    sql += f" LIMIT {select.limit + 1} OFFSET {select.offset}"
    columns, rows, more = _fetch(opened, sql, select.limit)
    text, count = _fitting_table(columns, rows)
    last = select.offset + count
    note = f"\n[Rows {select.offset + 1}-{last}; there are more: offset={last}]"
    return SqliteText(text=text + note if more or count < len(rows) else text)


def _run(opened: SqliteConnection, sql: str) -> SqliteText:
    columns, rows, more = _fetch(opened, sql, QUERY_ROWS)
    text, count = _fitting_table(columns, rows)
    note = f"\n[The first {count:,} rows; add LIMIT and OFFSET to see others]"
    return SqliteText(text=text + note if more or count < len(rows) else text)


def _fitting_table(columns: list[str], rows: list[list[str]]) -> tuple[str, int]:
    """A table of the rows that fit into one result, and their number."""
    if not rows:
        return "(no rows)", 0
    text = ascii_table(columns, rows)
    lines = text.split("\n")
    fitting = len(take(lines, _LIMITS).lines)
    if fitting == len(lines):
        return text, len(rows)
    rows = rows[: max(fitting - _TABLE_FRAME_LINES, 1)]
    return ascii_table(columns, rows), len(rows)


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

    def decode(raw: bytes) -> str:
        if len(raw) <= most:
            return raw.decode("utf-8", "replace")
        return f"{raw[:most].decode('utf-8', 'ignore')}… ({len(raw)} bytes in all)"

    return decode


def most_columns(width: int = MAX_WIDTH) -> int:
    """Return the maximum number of columns that fit; callers may omit the cells of others."""
    return (width - 1) // (1 + _FRAME)


def ascii_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int = MAX_WIDTH,
    column_width: int = MAX_COLUMN,
) -> str:
    """Format the table. Long cells are truncated; columns that do not fit are named in a last line."""
    count = min(len(columns), most_columns(width))
    table = [[one_line(cell) for cell in row[:count]] for row in (columns, *rows)]
    natural = [min(max(max(cell_width(row[at]) for row in table), 1), column_width) for at in range(count)]
    widths = _fit_widths(natural, width, complete=count == len(columns))
    lines = [_line(row, widths) for row in table]
    lines.insert(1, "|" + "|".join("-" * (each + 2) for each in widths) + "|")
    left_out = columns[len(widths) :]
    if left_out:
        names = ", ".join(one_line(name)[:column_width] for name in left_out[:_NAMED])
        more = ", …" if len(left_out) > _NAMED else ""
        lines.append(f"[{len(left_out)} more columns do not fit: {names}{more}]")
    return "\n".join(lines)


def one_line(text: str) -> str:
    """Put untrusted text on one line, with visible line endings."""
    for mark, escape in _ESCAPES.items():
        text = text.replace(mark, escape)
    return plain(text)


def cell_width(text: str) -> int:
    """Estimate the terminal columns: wide letters count twice, combining ones not at all."""
    return len(text) if text.isascii() else sum(_letter_width(letter) for letter in text)


def _letter_width(letter: str) -> int:
    if letter.isascii():
        return 1
    if unicodedata.combining(letter) or unicodedata.category(letter) == "Cf":
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _fit_widths(natural: list[int], width: int, *, complete: bool) -> list[int]:
    """Return the widths of the columns that fit: shrink the widest first, then drop the last."""
    if complete and sum(natural) + _FRAME * len(natural) + 1 <= width:
        return natural
    # As many as fit when each is cut to the least useful width.
    shown, used = 0, 1
    while shown < len(natural) and used + min(natural[shown], _LEAST) + _FRAME <= width:
        used += min(natural[shown], _LEAST) + _FRAME
        shown += 1
    widths = natural[: max(shown, 1)]
    room = max(width - 1 - _FRAME * len(widths), 1)
    while sum(widths) > room:
        widest = max(widths)
        second = max((each for each in widths if each < widest), default=0)
        cut = min(widest - second, -(-(sum(widths) - room) // widths.count(widest)))
        widths = [each - cut if each == widest else each for each in widths]
    return widths


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(_pad(cells[at], width) for at, width in enumerate(widths)) + " |"


def _pad(text: str, width: int) -> str:
    if cell_width(text) > width:
        taken, used = "", 0
        for letter in text:
            used += _letter_width(letter)
            if used > width - 1:
                break
            taken += letter
        text = f"{taken}…"
    return text + " " * (width - cell_width(text))
