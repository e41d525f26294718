"""Models by role: the flag, then the variable, then the setting."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from tau.base.errors import UsageError
from tau.sdk import create_session
from tau.sdk.options import SessionOptions


def write_settings(**settings: object) -> None:
    home = Path(os.environ["TAU_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    (home / "settings.json").write_text(json.dumps({"local.discover": False, **settings}))


def role_of(name: str, folder: Path, **options: object) -> str:
    async def main() -> str:
        async with create_session(SessionOptions(cwd=folder, save=False, **options)) as session:  # type: ignore[arg-type]
            return session.models.role(name).key

    return asyncio.run(main())


def test_flag_beats_the_variable_and_the_variable_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    write_settings(modelRoles={"smol": "claude-haiku-4-5", "mine": "claude-opus-5"})
    assert role_of("smol", tmp_path) == "anthropic/claude-haiku-4-5"
    assert role_of("mine", tmp_path) == "anthropic/claude-opus-5"
    assert role_of("slow", tmp_path) == "anthropic/claude-opus-4-6"
    monkeypatch.setenv("TAU_SMOL_MODEL", "claude-sonnet-4-5")
    assert role_of("smol", tmp_path) == "anthropic/claude-sonnet-4-5"
    assert role_of("smol", tmp_path, roles={"smol": "claude-sonnet-5"}) == "anthropic/claude-sonnet-5"


def test_role_prefers_providers_with_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "k")
    write_settings(modelRoles={"smol": "claude-haiku-4.5"})
    assert role_of("smol", tmp_path) == "openrouter/anthropic/claude-haiku-4.5"


def test_role_default_is_the_model_of_new_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    write_settings(modelRoles={"default": "claude-sonnet-5"})
    assert role_of("slow", tmp_path) == "anthropic/claude-sonnet-5"


def test_typo_in_a_flag_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    write_settings()
    with pytest.raises(UsageError, match="Did you mean anthropic/claude-haiku-4-5"):
        role_of("smol", tmp_path, roles={"smol": "claude-hiaku-4-5"})


def test_token_for_other_purposes_is_not_spent_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_x")
    monkeypatch.setenv("MISTRAL_API_KEY", "k")
    write_settings()
    assert role_of("default", tmp_path) == "mistral/mistral-medium-latest"
    monkeypatch.delenv("MISTRAL_API_KEY")
    assert role_of("default", tmp_path, provider="huggingface").startswith("huggingface/")
