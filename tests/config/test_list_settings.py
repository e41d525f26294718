"""Rules are added to and removed from the user's settings, and nothing else changes there."""

import json
import os
from pathlib import Path

import pytest

from tau.base.errors import ConfigError
from tau.config.layers import load_settings
from tau.config.list_settings import add_rules, remove_rule
from tau.config.paths import Paths, user_paths


@pytest.fixture
def paths() -> Paths:
    return user_paths(os.environ)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, {"tools": {"allow": ["run: ls"]}}),
        ({"theme": {"dark": "x"}}, {"theme": {"dark": "x"}, "tools": {"allow": ["run: ls"]}}),
        ({"tools": {"approvalMode": "ask"}}, {"tools": {"approvalMode": "ask", "allow": ["run: ls"]}}),
        ({"tools": {"allow": ["run: a", "run: ls"]}}, {"tools": {"allow": ["run: a", "run: ls"]}}),
        ({"tools.allow": ["run: a"]}, {"tools.allow": ["run: a", "run: ls"]}),
    ],
)
def test_pattern_is_inserted(paths: Paths, before: object, after: object, tmp_path: Path) -> None:
    if before is not None:
        paths.home.mkdir(parents=True, exist_ok=True)
        paths.settings.write_text(json.dumps(before))
    add_rules(paths, "allow", ["run: ls"])
    assert json.loads(paths.settings.read_text()) == after
    assert "run: ls" in load_settings(paths, tmp_path).settings.tools.allow


@pytest.mark.parametrize("text", ['{"tools": 5}', '{"tools": {"allow": "x"}}', '{"tools.allow": [1]}', "{"])
def test_unexpected_content_is_left_alone(paths: Paths, text: str) -> None:
    paths.home.mkdir(parents=True, exist_ok=True)
    paths.settings.write_text(text)
    with pytest.raises(ConfigError):
        add_rules(paths, "allow", ["run: ls"])
    assert paths.settings.read_text() == text


def test_rules_of_all_lists_are_stored_and_removed(paths: Paths) -> None:
    assert not remove_rule(paths, "deny", "run: sudo")
    assert not paths.settings.exists()
    add_rules(paths, "deny", ["run: sudo", "tool: ssh"])
    add_rules(paths, "ask", ["run: git push"])
    assert remove_rule(paths, "deny", "run: sudo")
    assert not remove_rule(paths, "deny", "run: sudo")
    assert json.loads(paths.settings.read_text()) == {
        "tools": {"deny": ["tool: ssh"], "ask": ["run: git push"]}
    }
