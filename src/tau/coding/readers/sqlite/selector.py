"""Parse the query in a path such as `data/app.db:users?where=age > 30&limit=5`."""

import re
from typing import Literal

from msgspec import Struct

from tau.base.errors import ToolError
from tau.base.late import late

urllib_parse = late("urllib.parse")

DEFAULT_ROWS = 20
MAX_ROWS = 500
_PARAMETERS = ("limit", "offset", "order", "where", "q")
_FORBIDDEN = (
    r"\b(?:limit|offset|union|intersect|except|attach|detach|pragma|vacuum|reindex|insert|update|delete|drop"
    r"|alter|create|returning|begin|commit|rollback|savepoint|release)\b"
)
_QUOTED = r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\[[^\]]*\]"
_PLUS_FOR_BLANK = r"\w\+(?:[<>=!]+|and|or|like|is|in|not|between|glob)\+"


class ListTables(Struct, frozen=True, tag=True):
    """`app.db`"""


class ShowTable(Struct, frozen=True, tag=True):
    """`app.db:users`"""

    table: str


class ShowRow(Struct, frozen=True, tag=True):
    """`app.db:users:42`"""

    table: str
    key: str


class QueryTable(Struct, frozen=True, tag=True):
    """`app.db:users?limit=5&order=name:desc&where=age > 30`"""

    table: str
    limit: int = DEFAULT_ROWS
    offset: int = 0
    order: str = ""
    where: str = ""


class RunQuery(Struct, frozen=True, tag=True):
    """`app.db?q=SELECT ...`"""

    sql: str


Select = ListTables | ShowTable | ShowRow | QueryTable | RunQuery


def parse_select(rest: str, tables: list[str]) -> Select:
    """Parse the text after a database's path. `tables` are the existing names, which may contain
    colons and question marks themselves. Raises ToolError."""
    if not rest or rest == ":":
        return ListTables()
    if rest.startswith("?"):
        parameters = _parameters(rest[1:])
        if "q" not in parameters:
            raise ToolError(
                "Name a table before the question mark, as in app.db:users?limit=5, or ask ?q=SELECT …"
            )
        if len(parameters) > 1:
            raise ToolError("?q= takes no other parameters: put limit, order and where into the SQL.")
        if not parameters["q"].strip():
            raise ToolError("?q= is empty; add a SELECT.")
        return RunQuery(parameters["q"])
    table, behind = split_table(rest[1:], tables)
    if not table:
        raise ToolError("The table's name is empty; write app.db:table.")
    if behind.startswith(":"):
        return _row(table, behind[1:])
    if not behind.startswith("?"):
        return ShowTable(table)
    parameters = _parameters(behind[1:])
    if "q" in parameters:
        raise ToolError("?q= replaces the table: write app.db?q=SELECT … without one.")
    return QueryTable(
        table,
        limit=min(_number(parameters, "limit", DEFAULT_ROWS, least=1), MAX_ROWS),
        offset=_number(parameters, "offset", 0, least=0),
        order=parameters.get("order", "").strip(),
        where=checked_where(parameters.get("where", "")),
    )


def split_table(text: str, tables: list[str]) -> tuple[str, str]:
    """Split off the table's name: the longest existing one, else up to a separator."""
    for table in sorted(tables, key=len, reverse=True):
        if text.startswith(table) and text[len(table) :][:1] in ("", ":", "?"):
            return table, text[len(table) :]
    match = re.search("[:?]", text)
    return (text, "") if match is None else (text[: match.start()], text[match.start() :])


def checked_where(where: str) -> str:
    """Check that the text is a single condition. Quoted text may contain anything. Raises ToolError."""
    bare = re.sub(_QUOTED, "''", where)
    if re.search("['\"`\\[]", bare.replace("''", "")):
        raise ToolError("The where condition has an unclosed quote.")
    if "--" in bare or "/*" in bare or ";" in bare:
        raise ToolError("A where condition may not contain comments or semicolons.")
    word = re.search(_FORBIDDEN, bare, re.IGNORECASE)
    if word is not None:
        raise ToolError(f"{word[0].upper()} is not allowed in a where condition; use ?q=SELECT … for more.")
    depth = 0
    for mark in re.findall("[()]", bare):
        depth += 1 if mark == "(" else -1
        if depth < 0:
            break
    if depth:
        raise ToolError("The parentheses of the where condition do not match.")
    return where.strip()


def order_of(text: str, columns: list[str]) -> tuple[str, Literal["ASC", "DESC"]]:
    """Parse `name` or `name:desc` into an existing column and a direction. Raises ToolError."""
    name, direction = text, "asc"
    if find_column(text, columns) is None and ":" in text:
        name, _, direction = text.rpartition(":")
    column = find_column(name, columns)
    if column is None:
        raise ToolError(f"There is no column {name} to order by. Columns: {', '.join(columns[:100])}.")
    if direction.lower() not in ("asc", "desc"):
        raise ToolError(f"Order by {name}:asc or {name}:desc, not {name}:{direction}.")
    return column, "DESC" if direction.lower() == "desc" else "ASC"


def find_column(name: str, columns: list[str]) -> str | None:
    """Find a column by name, ignoring case like SQLite."""
    if name in columns:
        return name
    return next((column for column in columns if column.lower() == name.lower()), None)


def quoted(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def has_parameters(text: str) -> bool:
    return re.search(r"\?[A-Za-z_]\w*=", text) is not None


def _row(table: str, key: str) -> ShowRow | ShowTable:
    if not key:
        return ShowTable(table)
    if has_parameters(key):
        raise ToolError(
            "A row takes no parameters: remove the question mark and the rest. "
            "If it is part of the key, use app.db:table?where=…"
        )
    return ShowRow(table, key)


def _parameters(text: str) -> dict[str, str]:
    """Parse parameters. `&` separates only before a name and `=`, as SQL uses it too."""
    found: dict[str, str] = {}
    last = ""
    for piece in re.split(r"&(?=[A-Za-z_]\w*=)", text):
        name, equals, value = piece.partition("=")
        if name in _PARAMETERS and equals:
            if name in found:
                raise ToolError(f"The parameter {name} is given twice.")
            found[name], last = value, name
        elif last in ("q", "where"):
            found[last] += f"&{piece}"
        else:
            known = ", ".join(_PARAMETERS)
            raise ToolError(f"Unknown parameter {name[:50]!r}. Known: {known}.")
    return {name: _decoded(name, value) for name, value in found.items()}


def _decoded(name: str, value: str) -> str:
    """Undo URL encoding, if any: text with spaces has none, and its % and + are SQL."""
    if re.search(r"\s", value):
        return value
    if (name == "q" or re.search(_PLUS_FOR_BLANK, value, re.IGNORECASE)) and "+" in value:
        value = value.replace("+", " ")
    try:
        return urllib_parse.unquote(value, errors="strict")
    except UnicodeDecodeError:
        return value


def _number(parameters: dict[str, str], name: str, default: int, *, least: int) -> int:
    text = parameters.get(name)
    if text is None:
        return default
    if not re.fullmatch(r"\s*[0-9]{1,18}\s*", text) or int(text) < least:
        raise ToolError(f"{name} must be a number, at least {least}, not {text[:50]!r}.")
    return int(text)
