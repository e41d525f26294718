"""Patterns are added to the user's settings, and nothing else there changes."""

import json
import os
from pathlib import Path

import pytest

from tau.base.errors import ConfigError
from tau.config.layers import load_settings
from tau.config.paths import Paths, user_paths
from tau.config.setting_values import add_allow_rules


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
def test_a_pattern_finds_its_place(paths: Paths, before: object, after: object, tmp_path: Path) -> None:
    if before is not None:
        paths.home.mkdir(parents=True, exist_ok=True)
        paths.settings.write_text(json.dumps(before))
    add_allow_rules(paths, ["run: ls"])
    assert json.loads(paths.settings.read_text()) == after
    assert "run: ls" in load_settings(paths, tmp_path).settings.tools.allow


@pytest.mark.parametrize("text", ['{"tools": 5}', '{"tools": {"allow": "x"}}', '{"tools.allow": [1]}', "{"])
def test_a_file_that_says_something_else_is_left_alone(paths: Paths, text: str) -> None:
    paths.home.mkdir(parents=True, exist_ok=True)
    paths.settings.write_text(text)
    with pytest.raises(ConfigError):
        add_allow_rules(paths, ["run: ls"])
    assert paths.settings.read_text() == text
