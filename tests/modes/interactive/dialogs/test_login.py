"""Provider keys: entered, stored privately, and removed."""

import json
import stat
from pathlib import Path

import pytest

from tau.base.errors import UsageError
from tau.modes.interactive.dialogs import custom_server
from tau.modes.interactive.dialogs.login import login, logout
from tests.modes.interactive.rig import rigged, run

KEY = "sk-ant-api03-abcdefgh12345"


def test_key_is_pasted_unseen_and_stored(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, columns=140) as rig:
            rig.parts.tasks.start(login(rig.context, "anthropic"))
            shown = await rig.show("Anthropic key")
            assert "console.anthropic.com" in shown
            rig.terminal.paste(f"export ANTHROPIC_API_KEY={KEY}\n")
            await rig.show("•••")
            await rig.press("enter")
            await rig.show("Saved the Anthropic key")
            assert KEY not in rig.tape()
            auth = rig.current.paths.auth
            assert json.loads(auth.read_text()) == {"anthropic": {"type": "api_key", "key": KEY}}
            assert stat.S_IMODE(auth.stat().st_mode) == 0o600

    run(test)


def test_provider_list_shows_which_keys_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "gsk_something")

    async def test() -> None:
        async with rigged(tmp_path, columns=140) as rig:
            rig.parts.tasks.start(login(rig.context))
            shown = await rig.show("Which provider is the key for?")
            assert "OPENAI_API_KEY" in shown and "key in environment" in shown
            await rig.type("openr")
            await rig.show("OpenRouter")
            await rig.press("enter")
            await rig.show("Log in with a browser")
            await rig.press("2")
            await rig.show("OpenRouter key")
            await rig.press("escape")
            await rig.gone("OpenRouter key")
            assert not rig.current.paths.auth.exists()

    run(test)


def test_impossible_key_is_refused_and_an_unusual_one_confirmed(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, columns=140) as rig:
            rig.parts.tasks.start(login(rig.context, "anthropic"))
            await rig.show("Anthropic key")
            await rig.send("short")
            await rig.show("Too short for a key")
            await rig.press("ctrl+u")
            await rig.send("gsk_abcdefghijk")
            await rig.show("Press Enter again to store it anyway.")
            assert not rig.current.paths.auth.exists()
            await rig.press("enter")
            await rig.show("Saved the Anthropic key")

    run(test)


def test_unknown_provider_lists_the_known_ones(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, columns=140) as rig:
            with pytest.raises(UsageError, match="choose from anthropic, openai"):
                await login(rig.context, "antropic")
            with pytest.raises(UsageError, match='No key stored for "groq"'):
                await logout(rig.context, "groq")
            await logout(rig.context)
            await rig.show("No keys are stored")

    run(test)


def test_key_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")

    async def test() -> None:
        async with rigged(tmp_path, columns=140) as rig:
            auth = rig.current.paths.auth
            auth.parent.mkdir(parents=True, exist_ok=True)
            auth.write_text(
                json.dumps({name: {"type": "api_key", "key": KEY} for name in ("openai", "groq")})
            )
            auth.chmod(0o600)
            rig.parts.tasks.start(logout(rig.context))
            await rig.show("2. Remove OpenAI")
            await rig.press("enter")
            await rig.gone("Remove OpenAI")
            assert "openai" in json.loads(auth.read_text())
            rig.parts.tasks.start(logout(rig.context))
            await rig.show("2. Remove OpenAI")
            await rig.type("2")
            await rig.show("Removed the OpenAI key. The key in OPENAI_API_KEY is still used.")
            assert set(json.loads(auth.read_text())) == {"groq"}
            await logout(rig.context, "groq")
            assert json.loads(auth.read_text()) == {}

    run(test)


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        ("localhost:8080/v1", "http://localhost:8080/v1"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("models.example.com/v1", "https://models.example.com/v1"),
        ("gpu-box:8000", "https://gpu-box:8000"),
        ("http://gpu-box:8000", "http://gpu-box:8000"),
        ("nonsense", "nonsense"),
    ],
)
def test_address_without_a_scheme_gets_the_safe_one(typed: str, address: str) -> None:
    assert custom_server._with_scheme(typed) == address
