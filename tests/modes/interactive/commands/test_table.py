"""The command table is complete: every row has an implementation, and every name one row."""

import inspect

import pytest

from tau.modes import command_table as table
from tau.modes.interactive.commands.command_controller import MODULES

WANTED = [
    *("help", "settings", "model", "thinking", "resume", "new", "name", "session", "tree", "branch", "fork"),
    *("compact", "handoff", "shake", "copy", "export", "dump", "undo", "redo", "retry", "queue", "jobs"),
    *("ports", "todo", "plan", "permissions", "tools", "context", "usage", "stats", "theme", "hotkeys"),
    *("login", "logout"),
    *("changelog", "reload", "init", "clear", "debug", "exit", "quit", "rename", "goto"),
]


@pytest.mark.parametrize("name", table.ROWS)
def test_every_row_has_its_function(name: str) -> None:
    row = table.ROWS[name]
    function = getattr(MODULES[row.module], row.function)
    assert inspect.iscoroutinefunction(function)
    assert list(inspect.signature(function).parameters) == ["context", "rest"]
    assert row.group in table.GROUPS


def test_every_expected_command_exists() -> None:
    assert [name for name in WANTED if table.find(name) is None] == []


def test_command_names_are_unique() -> None:
    names = [*table.ROWS, *table.ALIASES]
    assert len(names) == len(set(names)) == sum(1 + len(row.aliases) for row in table.ROWS.values())


@pytest.mark.parametrize("row", table.ROWS.values(), ids=lambda row: row.name)
def test_descriptions_are_short_and_in_one_style(row: table.SlashCommand) -> None:
    assert row.description[0].isupper() and not row.description.endswith(".")
    assert len(row.description) <= 56


def test_alias_finds_the_same_command() -> None:
    assert table.find("quit") is table.find("exit")
    assert table.find("clear") is table.find("new")
    assert table.find("rename") is table.find("name")
    assert table.find("nothing") is None
