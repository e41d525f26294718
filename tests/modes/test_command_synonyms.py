"""Words for commands that tau calls something else."""

import pytest

from tau.modes import command_synonyms as synonyms
from tau.modes import command_table as table

LATER = {"rewind"}
"""Suggested once it exists."""


@pytest.mark.parametrize(
    ("word", "commands"),
    [
        ("bye", ["exit"]),
        ("reset", ["new"]),
        ("history", ["resume", "tree"]),
        ("tokens", ["context", "usage"]),
        ("mode", ["permissions", "plan"]),
        ("approve", ["permissions"]),
        ("colors", ["theme"]),
        ("vim", ["settings"]),
        ("remember", ["init", "memory"]),
        ("subagents", ["agents"]),
        ("quota", ["usage"]),
        ("MCP", ["mcp"]),
        ("modle", ["model"]),
        ("zzzzz", []),
    ],
)
def test_suggestions_go_by_meaning_then_by_spelling(word: str, commands: list[str]) -> None:
    assert table.suggest(word, table.NEAR) == commands


@pytest.mark.parametrize("word", ["back", "revert", "rollback", "checkpoint"])
def test_going_back_suggests_rewind_once_it_exists(word: str) -> None:
    assert "rewind" in synonyms.meant(word)
    assert ("rewind" in table.suggest(word, table.NEAR)) == ("rewind" in table.ROWS)


def test_every_synonym_leads_to_a_command_and_is_none_itself() -> None:
    words = {word for line in synonyms._WORDS.values() for word in line.split()}
    assert [word for word in words if table.find(word) is not None] == []
    assert set(synonyms._WORDS) <= set(table.ROWS) | LATER


@pytest.mark.parametrize(
    "name", ["cost", "config", "status", "permissions", "add-dir", "review", "doctor", "clear", "quit"]
)
def test_words_that_people_know_from_elsewhere_are_commands(name: str) -> None:
    assert table.find(name) is not None


def test_question_names_every_suggestion() -> None:
    assert table.did_you_mean(["resume", "tree"]) == " Did you mean /resume or /tree?"
    assert table.did_you_mean([]) == ""
