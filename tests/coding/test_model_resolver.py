"""Which model a user gets for what they typed, configured and have keys for."""

import asyncio
import json
import os
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tau.ai.catalog import Catalog, Provider, load_catalog
from tau.ai.local import discovery
from tau.ai.local.discovery import DiscoveredServer
from tau.ai.model import Model
from tau.base.errors import ConfigError, TauError, UsageError
from tau.base.run import LocalRunner
from tau.coding.model_resolver import ModelRequest, ModelResolver, ResolvedModel, ResumedModel
from tau.config.auth_file import AuthFile
from tau.config.credentials import KeyCredentials
from tau.config.settings import LocalSettings, Settings

ALONE = LocalSettings(discover=False, embedded=False)


def find(
    wish: ModelRequest,
    environ: Mapping[str, str] | None = None,
    settings: Settings | None = None,
    catalog: Catalog | None = None,
) -> tuple[ResolvedModel, dict[str, str]]:
    async def main() -> tuple[ResolvedModel, dict[str, str]]:
        table = catalog or load_catalog()
        keys: dict[str, str] = {}
        runner = LocalRunner()
        transport: Any = None
        async with AsyncExitStack() as services:
            finder = ModelResolver(
                catalog=table,
                credentials=KeyCredentials(
                    table, AuthFile(Path.home() / "auth.json"), runner, environ or {}, flags=keys
                ),
                settings=settings or Settings(local=ALONE),
                http=transport,
                run=runner,
                environ=environ or {},
                keys=keys,
                services=services,
                servers=Path.home() / "servers.json",
            )
            return await finder.find(wish), keys

    return asyncio.run(main())


def test_first_provider_with_a_key_gives_its_default_model() -> None:
    table = load_catalog()

    found, _ = find(ModelRequest(), {"OPENAI_API_KEY": "k"})

    assert found.model.key == f"openai/{table.providers['openai'].default_model}"


def test_provider_without_a_default_model_gives_the_first_that_it_lists() -> None:
    row = Provider(id="office", name="Office", api="openai-completions", base_url="http://x", local=True)
    listed = [Model(id=id, name=id, api=row.api, provider="office", base_url="http://x") for id in ("b", "a")]
    found, _ = find(ModelRequest(provider="office"), catalog=Catalog({"office": row}, listed))
    assert found.model.id == "b"
    with pytest.raises(UsageError, match="no default model"):
        find(ModelRequest(provider="office"), catalog=Catalog({"office": row}, []))


@pytest.mark.parametrize("wish", [ModelRequest(provider="ollama"), ModelRequest(model="ollama/qwen")])
def test_named_server_that_is_not_running_is_named_with_its_address(
    wish: ModelRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def discover(*_: Any, **options: Any) -> list[DiscoveredServer]:
        return []

    monkeypatch.setattr(discovery, "discover", discover)
    settings = Settings(local=LocalSettings(embedded=False))
    with pytest.raises(UsageError, match=r"No Ollama server answers at http://127\.0\.0\.1:7: start it"):
        find(wish, {"OLLAMA_HOST": "127.0.0.1:7"}, settings)


def test_without_any_key_the_error_says_how_to_get_one() -> None:
    with pytest.raises(ConfigError, match=r"^No API key or model server found.*auth\.json.*Ollama.*demo"):
        find(ModelRequest())


def test_enabled_models_come_before_default_ones() -> None:
    settings = Settings(local=ALONE, enabled_models=["gpt-*", "haiku:low", "*"])

    found, _ = find(ModelRequest(), {"ANTHROPIC_API_KEY": "k"}, settings)

    assert found.model.provider == "anthropic" and "haiku" in found.model.id
    assert found.thinking == "low"


def test_problem_of_a_local_server_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model(id="m", name="m", api="openai-completions", provider="ollama", base_url="http://x")

    async def discover(*_: Any, num_ctx: int, images: list[str]) -> list[DiscoveredServer]:
        server = DiscoveredServer(
            provider="ollama",
            name="Ollama",
            base_url="http://x",
            models=[model],
            note="Too small.",
            owner=os.getuid(),
        )
        return [server]

    monkeypatch.setattr(discovery, "discover", discover)
    (Path.home() / "servers.json").write_text(json.dumps({f"http://x of {os.getuid()}": True}))
    found, _ = find(ModelRequest(), settings=Settings(local=LocalSettings(embedded=False)))

    assert found.model == model
    assert found.notices == ["Using ollama/m, found on this machine.", "Too small."]
    assert find(ModelRequest(provider="ollama"), settings=Settings(local=LocalSettings()))[0].notices == [
        "Too small."
    ]


def test_pattern_with_a_thinking_level() -> None:
    found, _ = find(ModelRequest(model="opus:low"), {"ANTHROPIC_API_KEY": "k"})

    assert found.model.provider == "anthropic" and "opus" in found.model.id
    assert found.thinking == "low"


def test_requested_model_needs_its_key() -> None:
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        find(ModelRequest(provider="openai"), {"ANTHROPIC_API_KEY": "k"})


def test_command_line_key_belongs_to_the_requested_provider() -> None:
    found, keys = find(ModelRequest(provider="openai", key="sk-x"))

    assert found.model.provider == "openai" and keys == {"openai": "sk-x"}
    with pytest.raises(UsageError, match="--api-key needs a provider"):
        find(ModelRequest(key="sk-x"))


def test_settings_choose_the_default() -> None:
    found, _ = find(
        ModelRequest(),
        {"GROQ_API_KEY": "k", "ANTHROPIC_API_KEY": "k"},
        Settings(default_provider="groq", local=ALONE),
    )

    assert found.model.provider == "groq"


def test_resumed_session_keeps_its_model_if_possible() -> None:
    environ = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}
    table = load_catalog()
    [model] = [m for m in table.models if m.provider == "openai"][:1]

    found, _ = find(ModelRequest(resumed=ResumedModel("openai", model.id)), environ)
    assert found.model == model


@pytest.mark.parametrize(
    ("resumed", "flag"),
    (
        (ResumedModel("gone", "x"), "--model"),
        (ResumedModel("custom", "qwen"), "--base-url"),
        (ResumedModel("openai", "gpt-5"), "OPENAI_API_KEY"),
        (ResumedModel("anthropic", "claude", "http://127.0.0.1:9/v1"), "--base-url http://127.0.0.1:9/v1"),
    ),
)
def test_conversation_does_not_move_to_another_vendor(resumed: ResumedModel, flag: str) -> None:
    with pytest.raises(TauError, match=flag):
        find(ModelRequest(resumed=resumed), {"ANTHROPIC_API_KEY": "k"})


def test_session_with_its_own_address_is_resumed_there_without_a_key() -> None:
    resumed = ResumedModel("custom", "qwen", "http://127.0.0.1:9/v1")
    found, keys = find(ModelRequest(resumed=resumed), {"OPENAI_API_KEY": "k"})
    assert (found.model.key, found.model.base_url) == ("custom/qwen", "http://127.0.0.1:9/v1")
    assert found.notices == ["Using custom/qwen at http://127.0.0.1:9/v1, as before."] and not keys


def test_another_provider_chosen_for_a_resumed_session_is_announced() -> None:
    resumed = ResumedModel("custom", "qwen", "http://127.0.0.1:9/v1")
    found, _ = find(ModelRequest(resumed=resumed, provider="openai"), {"OPENAI_API_KEY": "k"})
    assert found.notices[0].startswith("The session used custom/qwen so far and continues with openai/")


def test_custom_base_url() -> None:
    found, _ = find(ModelRequest(base_url="http://127.0.0.1:9/v1/", model="my-model"))

    assert (found.model.provider, found.model.id) == ("custom", "my-model")
    assert found.model.base_url == "http://127.0.0.1:9/v1"
    assert found.model.api == "openai-completions"


def test_unknown_model_of_a_known_provider_is_used_with_a_notice() -> None:
    found, _ = find(ModelRequest(model="openai/brand-new-9"), {"OPENAI_API_KEY": "k"})

    assert found.model.id == "brand-new-9"
    assert "not in the model table" in found.notices[0]


def test_headers_may_come_from_the_environment() -> None:
    provider = Provider(
        id="own", name="Own", api="openai-completions", base_url="http://127.0.0.1:9", local=True
    )
    model = Model(
        id="m",
        name="m",
        api="openai-completions",
        provider="own",
        base_url=provider.base_url,
        headers={"X-Team": "TEAM_NAME", "X-Unset": "NOT_THERE", "X-Plain": "text"},
    )

    found, _ = find(
        ModelRequest(model="own/m"), {"TEAM_NAME": "blue"}, catalog=Catalog({"own": provider}, [model])
    )

    assert found.model.headers == {"X-Team": "blue", "X-Plain": "text"}
