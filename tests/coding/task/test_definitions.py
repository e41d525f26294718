"""Agent files: ours and Claude Code's; a field that cannot be used names its file and line."""

from pathlib import Path

import pytest

from tau.base.errors import ConfigError
from tau.coding.task.catalog import bundled_agents
from tau.coding.task.definition import list_agents, parse_agent
from tau.coding.task.late_team import LISTING

PATH = Path("a.md")


def parse(head: str):  # type: ignore[no-untyped-def]
    return parse_agent(f"---\nname: a\ndescription: d\n{head}\n---\nWork.", PATH, "user")


def test_claude_code_files_load() -> None:
    found = parse(
        "tools: Read, Grep, Glob, MultiEdit, WebFetch\nmodel: inherit\nmaxTurns: 7\npermissionMode: plan"
    )
    assert found.tools == ("read", "search", "find", "edit")
    assert (found.models, found.budget.requests, found.mode) == ((), 7, "plan")


def test_permission_modes_that_would_widen_do_nothing() -> None:
    assert parse("permissionMode: bypassPermissions").mode is None


@pytest.mark.parametrize(
    ("head", "line"),
    [
        ("tools: Bash(git:*)", 4),
        ("model: smol\nbudget: lots", 5),
        ("output: text", 4),
        ("blocking: maybe", 4),
        ("permissionMode: root", 4),
        ("thinking-level: 11", 4),
    ],
)
def test_unusable_field_names_file_and_line(head: str, line: int) -> None:
    with pytest.raises(ConfigError, match=rf"^a\.md:{line}: "):
        parse(head)


def test_prompt_lists_the_bundled_agents() -> None:
    assert LISTING.read_text() == list_agents(bundled_agents()) + "\n"
    names = {one.name for one in bundled_agents()}
    assert names == {"task", "quick_task", "explore", "plan", "designer", "reviewer", "librarian", "oracle"}
