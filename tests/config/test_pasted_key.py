"""Cleaning up a pasted key."""

import pytest

from tau.ai.auth import CLAUDE_PLANS
from tau.config.pasted_key import clean_pasted_key, key_problem, key_warning

KEY = "sk-ant-api03-abcdef"


@pytest.mark.parametrize(
    "text",
    [
        KEY,
        f"  {KEY}\n",
        f'"{KEY}"',
        f"'{KEY}'",
        f"export ANTHROPIC_API_KEY={KEY}",
        f'export ANTHROPIC_API_KEY="{KEY}"',
        f"ANTHROPIC_API_KEY={KEY};",
        f"api_key: {KEY}",
        f"Bearer {KEY}",
    ],
)
def test_surrounding_text_is_stripped(text: str) -> None:
    assert clean_pasted_key(text) == KEY


def test_command_or_variable_is_kept() -> None:
    assert clean_pasted_key("!pass show key=x") == "!pass show key=x"
    assert clean_pasted_key("MY_KEY") == "MY_KEY"


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        (KEY, None),
        ("!pass show key", None),
        ("SET_VARIABLE", None),
        ("UNSET_VARIABLE", "The variable UNSET_VARIABLE is not set."),
        ("", "Paste the key first."),
        ("!", "After !, write the command that prints the key."),
        ("sk-ant-" + "oat01-token-of-a-plan", CLAUDE_PLANS),
        ("short", "Too short for a key: 5 characters."),
        ("x" * 5000, "Too long for a key: 5,000 characters."),
        ("two words here", "Keys have no spaces or special characters; copy it again."),
        ("schlüssel-123", "Keys have no spaces or special characters; copy it again."),
        ("a\x1b[31mbcdefgh", "Keys have no spaces or special characters; copy it again."),
    ],
)
def test_impossible_key_is_reported(key: str, problem: str | None) -> None:
    assert key_problem(key, {"SET_VARIABLE": "secret-value"}) == problem


def test_key_of_another_provider_is_doubted() -> None:
    assert key_warning(KEY, "sk-ant-") is None
    assert key_warning("gsk_abcdefgh", "sk-ant-") is not None
    assert key_warning("gsk_abcdefgh", "") is None
    assert key_warning("!command", "sk-ant-") is None
