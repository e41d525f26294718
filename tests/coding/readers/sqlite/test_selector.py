"""What follows a database's path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.base.errors import ToolError
from tau.coding.readers import database_splits
from tau.coding.readers.sqlite.database import parse_target
from tau.coding.readers.sqlite.selector import (
    ListTables,
    QueryTable,
    RunQuery,
    ShowRow,
    ShowTable,
    checked_where,
    order_of,
    parse_select,
    quoted,
)

TABLES = ["users", "a:b", "a", "what?", "select"]


def test_every_database_candidate_in_a_path() -> None:
    assert database_splits("d/app.db:users:4") == [("d/app.db", ":users:4")]
    assert database_splits("x.sqlite3?q=SELECT 1") == [("x.sqlite3", "?q=SELECT 1")]
    assert database_splits("X.DB3") == [("X.DB3", "")]
    assert database_splits("a.db:b.db") == [("a.db:b.db", ""), ("a.db", ":b.db")]
    assert database_splits("a.dbx:t") == database_splits("a.txt") == database_splits("a.db/x") == []


@pytest.mark.parametrize(
    ("rest", "wanted"),
    [
        ("", ListTables()),
        (":users", ShowTable("users")),
        (":users:42", ShowRow("users", "42")),
        (":users:a:b?c", ShowRow("users", "a:b?c")),
        (":a:b", ShowTable("a:b")),
        (":a:b:7", ShowRow("a:b", "7")),
        (":a:c", ShowRow("a", "c")),
        (":what?", ShowTable("what?")),
        (":what??limit=3", QueryTable("what?", limit=3)),
        (":nosuch:1", ShowRow("nosuch", "1")),
        (":users?limit=9999&offset=7", QueryTable("users", limit=500, offset=7)),
        (":users?order=name:desc", QueryTable("users", order="name:desc")),
        (":users?where=a & 1 = b&limit=2", QueryTable("users", limit=2, where="a & 1 = b")),
        (":users?where=name LIKE '%ed%20'", QueryTable("users", where="name LIKE '%ed%20'")),
        (":users?where=age%20%3E%2030", QueryTable("users", where="age > 30")),
        (":users?where=age+>+30+and+x=1", QueryTable("users", where="age > 30 and x=1")),
        (":users?where=a+b>3", QueryTable("users", where="a+b>3")),
        ("?q=SELECT a&b FROM t", RunQuery("SELECT a&b FROM t")),
        ("?q=SELECT 1 WHERE x&y=2", RunQuery("SELECT 1 WHERE x&y=2")),
        ("?q=SELECT+1", RunQuery("SELECT 1")),
    ],
)
def test_all_selector_forms(rest: str, wanted: object) -> None:
    assert parse_select(rest, TABLES) == wanted


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("?q=", "empty"),
        ("?q=  ", "empty"),
        ("?limit=5", "Name a table"),
        ("?q=SELECT 1&limit=5", "takes no other parameters"),
        (":users?q=SELECT 1", "without one"),
        (":users?color=red", "Unknown parameter 'color'"),
        (":users?limit=5&color=red", "Unknown parameter 'color'"),
        (":users?limit=5&limit=6", "twice"),
        (":users?limit=x", "limit must be a number"),
        (":users?limit=0", "at least 1"),
        (":users?offset=-1", "offset must be a number"),
        (":users:4?limit=5", "takes no parameters"),
        (":?limit=5", "empty"),
        (":users?where=1; DROP TABLE x", "semicolons"),
        (":users?where=1 -- x", "comments"),
        (":users?where=1 /* x */", "comments"),
        (":users?where=1 LIMIT 5", "LIMIT is not allowed"),
        (":users?where=1 union select 2", "UNION is not allowed"),
        (":users?where=x = 'open", "quote"),
        (":users?where=1) OR (1", "parentheses"),
    ],
)
def test_invalid_selectors_are_reported(rest: str, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        parse_select(rest, TABLES)


def test_keywords_inside_quotes_are_text() -> None:
    for where in ("x = 'limit; -- union'", '"offset" = 1', "x = 'it''s'", "[update] = (1)"):
        assert checked_where(where) == where


def test_order_must_name_an_existing_column() -> None:
    assert order_of("Name", ["id", "name"]) == ("name", "ASC")
    assert order_of("name:DESC", ["id", "name"]) == ("name", "DESC")
    assert order_of("a:desc", ["a:desc"]) == ("a:desc", "ASC")
    with pytest.raises(ToolError, match="no column age"):
        order_of("age", ["id", "name"])
    with pytest.raises(ToolError, match="not name:up"):
        order_of("name:up", ["id", "name"])


@pytest.mark.parametrize(
    ("rest", "wanted"),
    [(":users", ("users", None)), (":users:7", ("users", "7")), (":a:b:c:d", ("a:b", "c:d"))],
)
def test_write_targets(rest: str, wanted: object) -> None:
    assert parse_target(rest, TABLES) == wanted


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("", "name a table"),
        (":", "name a table"),
        ("?q=x", "no query parameters"),
        (":users?limit=1", "no query"),
        (":users:3?where=x", "no query"),
        (":users:", "key is empty"),
        (":users:  ", "key is empty"),
    ],
)
def test_writes_without_a_target_are_reported(rest: str, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        parse_target(rest, TABLES)


@given(st.text(max_size=60))
def test_any_text_is_a_selector_or_an_error(text: str) -> None:
    for rest in (text, f":{text}", f":users?{text}", f"?{text}"):
        try:
            result = parse_select(rest, TABLES)
        except ToolError as error:
            assert "\n" not in str(error) or "\n" in text
            continue
        assert isinstance(result, ListTables | ShowTable | ShowRow | QueryTable | RunQuery)


@given(st.text(alphabet="ab\"'`[];- \n", min_size=1, max_size=10))
def test_quoted_name_is_one_name(name: str) -> None:
    inside = quoted(name)[1:-1]
    assert inside.replace('""', "") == name.replace('"', "")
    assert quoted(name).count('"') % 2 == 0


@given(st.sampled_from(TABLES), st.integers(1, 500), st.integers(0, 10**9), st.text("abc d=<>1", max_size=10))
def test_formatted_query_parses_back(table: str, limit: int, offset: int, where: str) -> None:
    rest = f":{table}?limit={limit}&offset={offset}&where={where} "
    assert parse_select(rest, TABLES) == QueryTable(table, limit=limit, offset=offset, where=where.strip())
