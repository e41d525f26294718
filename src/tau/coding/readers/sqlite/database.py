"""Find, read and write SQLite databases by paths such as `data/app.db:users:42`.

SQLite opens them itself, so only local files can be databases.
"""

import math
import stat as modes
from pathlib import Path
from typing import Any

from msgspec import Struct

from tau.agent.ports import FileSystem
from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.text import clean_line
from tau.base.threads import StopSignal, in_thread
from tau.coding.files.paths import shown
from tau.coding.files.targets import FileTarget
from tau.coding.readers.sqlite.connection import (
    READ_SECONDS,
    WRITE_SECONDS,
    has_header,
    open_for_reading,
    open_for_writing,
)
from tau.coding.readers.sqlite.rows import (
    SqliteText,
    TableInfo,
    answer,
    describe,
    key_column,
    key_values,
    table_names,
)
from tau.coding.readers.sqlite.selector import find_column, has_parameters, parse_select, quoted, split_table

json5 = late("pyjson5")
json = late("json")

Scalar = str | int | float | None


class DatabasePath(Struct, frozen=True):
    """The database that a path refers to, and the rest of the path."""

    path: Path
    name: str
    rest: str


class SqliteWritten(Struct, frozen=True, kw_only=True):
    """`text` says what happened; `changed` is false if no row had that key."""

    path: Path
    text: str
    changed: bool


async def locate(target: FileTarget, cwd: Path, fs: FileSystem) -> DatabasePath | None:
    """The database of a target; None if this file system has another file there.

    Raises ToolError if there is none, OSError for an unreadable file.
    """
    name = shown(target.path, cwd)
    stat = await fs.stat(target.path)
    if stat is None:
        raise ToolError(f"SQLite database '{name}' not found; write changes rows of databases that exist.")
    info = target.path.stat()
    same = (info.st_size, info.st_mtime_ns) == (stat.size, stat.mtime_ns)
    is_database = same and modes.S_ISREG(info.st_mode) and has_header(target.path)
    return DatabasePath(target.path, name, target.rest) if is_database else None


async def read(found: DatabasePath, *, seconds: float = READ_SECONDS) -> SqliteText:
    """Answer the query in the rest of the path. Raises ToolError."""

    def work(stop: StopSignal) -> SqliteText:
        with open_for_reading(found.path, found.name, stop, seconds) as opened:
            return answer(opened, parse_select(found.rest, table_names(opened)))

    return await in_thread(work)


async def write(found: DatabasePath, content: str, *, seconds: float = WRITE_SECONDS) -> SqliteWritten:
    """Insert a row (`:table`), update it (`:table:key`), or delete it (no content). Raises ToolError."""

    def work(stop: StopSignal) -> SqliteWritten:
        with open_for_writing(found.path, found.name, stop, seconds) as opened:
            name, key = parse_target(found.rest, table_names(opened))
            table = describe(opened, name)
            if table.is_view or table.name.lower().startswith("sqlite_"):
                what = "a view" if table.is_view else "SQLite's own"
                raise ToolError(f"{table.name} is {what}; rows can be written to ordinary tables only.")
            before = opened.connection.total_changes
            text, changed = _change(opened.connection, table, key, content)
            others = opened.connection.total_changes - before - changed
            if others > 0:
                noun = "row" if others == 1 else "rows"
                text += f" ({others} further {noun} changed through triggers or foreign keys)"
            return SqliteWritten(path=found.path, text=text, changed=bool(changed))

    return await in_thread(work)


def parse_target(rest: str, tables: list[str]) -> tuple[str, str | None]:
    """Parse the table and the key, None for a new row. Raises ToolError."""
    if rest.startswith("?"):
        raise ToolError(
            "SQLite write paths take no query parameters; write to app.db:table or app.db:table:key."
        )
    table, behind = split_table(rest[1:], tables)
    if not table:
        raise ToolError("A SQLite write must name a table, as in app.db:table or app.db:table:key.")
    if behind.startswith("?") or has_parameters(behind):
        raise ToolError(
            "SQLite write paths take no query parameters; write to app.db:table or app.db:table:key."
        )
    if not behind:
        return table, None
    if not behind[1:].strip():
        raise ToolError("The row's key is empty; write app.db:table:key, or app.db:table for a new row.")
    return table, behind[1:]


def parse_values(content: str, table: TableInfo) -> dict[str, Scalar]:
    """Parse columns and values from a JSON5 object. Raises ToolError."""
    parsed = _parsed(content)
    if not isinstance(parsed, dict):
        raise ToolError("A row is written as an object, as in {name: 'Ada', active: true}.")
    values: dict[str, Scalar] = {}
    for name, value in parsed.items():
        column = find_column(str(name), table.columns)
        if column is None:
            there = ", ".join(table.columns[:100])
            raise ToolError(f"{table.name} has no column {clean_line(str(name))[:100]}. Columns: {there}.")
        if column in values:
            raise ToolError(f"The column {column} is given twice.")
        values[column] = _scalar(column, value)
    return values


def _change(connection: Any, table: TableInfo, key: str | None, content: str) -> tuple[str, int]:
    deleting = key is not None and not content.strip()
    values = {} if deleting else parse_values(content, table)
    if key is None:
        columns = ", ".join(quoted(name) for name in values)
        marks = ", ".join("?" * len(values))
        rows = f"({columns}) VALUES ({marks})" if values else "DEFAULT VALUES"
        connection.execute(f"INSERT INTO {quoted(table.name)} {rows}", tuple(values.values()))
        return f"Inserted row into {table.name}", 1
    if not deleting and not values:
        raise ToolError(
            "The object is empty: name the columns to change, or send no content to delete the row."
        )
    column = _write_key(table)
    for candidate in key_values(key, by_rowid=len(table.keys) != 1):
        where = f"FROM {quoted(table.name)} WHERE {column} = ?"
        count = connection.execute(f"SELECT count(*) {where}", (candidate,)).fetchone()[0]
        if count > 1:
            raise ToolError(f"{count} rows have the key {key}; nothing was changed.")
        if count and deleting:
            connection.execute(f"DELETE {where}", (candidate,))
            return f"Deleted row '{key}' from {table.name}", 1
        if count:
            setting = ", ".join(f"{quoted(name)} = ?" for name in values)
            sql = f"UPDATE {quoted(table.name)} SET {setting} WHERE {column} = ?"
            connection.execute(sql, (*values.values(), candidate))
            return f"Updated row '{key}' in {table.name}", 1
    return f"No row {'deleted' if deleting else 'updated'}: {table.name} has no row '{key}'", 0


def _write_key(table: TableInfo) -> str:
    if len(table.keys) > 1:
        keys = ", ".join(table.keys)
        raise ToolError(
            f"{table.name} has a composite primary key ({keys}); change its rows with SQL in bash."
        )
    column = key_column(table)
    if column is None or table.rowid is None:
        raise ToolError(f"{table.name} is a table WITHOUT ROWID; change its rows with SQL in bash.")
    return column


def _parsed(content: str) -> object:
    """Parse JSON5 if its parser is installed, else JSON."""
    try:
        try:
            return json5.loads(content)
        except ImportError:
            return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ToolError(f"The content is not JSON: {clean_line(str(error))[:200]}.") from error
    except Exception as error:
        # The JSON5 parser's errors have no base class that could be named without importing it.
        reason = clean_line(str(error.args[0] if error.args else error))
        raise ToolError(f"The content is not JSON5: {reason[:200]}.") from error


def _scalar(column: str, value: Any) -> Scalar:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ToolError(f"The number for {column} has more than 64 bits; write it as a text.")
    if isinstance(value, float) and math.isnan(value):
        raise ToolError(f"NaN cannot be stored in {column}; write null.")
    if value is None or isinstance(value, str | int | float):
        return value
    raise ToolError(
        f"The value for {column} must be a text, a number, true, false or null, not a list or object."
    )
