"""Which key is used, and the message when there is none."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tau.ai.auth import Credentials
from tau.ai.catalog import Catalog, Provider, load_catalog
from tau.ai.model import Model
from tau.base.errors import ConfigError, UsageError
from tau.base.files import locked
from tau.base.run import LocalRunner
from tau.config.auth_file import AuthFile
from tau.config.credentials import KeyCredentials

ROW = Provider(
    id="openai",
    name="OpenAI",
    api="openai-completions",
    base_url="https://api.openai.com/v1",
    key_variables=["FIRST_VAR", "SECOND_VAR"],
)
CLOUD = Provider(
    id="amazon-bedrock",
    name="Amazon Bedrock",
    api="bedrock-converse-stream",
    base_url="https://bedrock-runtime.{AWS_REGION|us-east-1}.amazonaws.com",
    key_variables=["AWS_BEARER_TOKEN_BEDROCK"],
    cloud="aws",
)
ACCESS_KEY = {"AWS_ACCESS_KEY_ID": "AKIA" + "B" * 16, "AWS_SECRET_ACCESS_KEY": "s" * 40}
OWN = Provider(id="own", name="own", api="openai-completions", base_url="http://localhost", local=True)


class World:
    def __init__(self, folder: Path) -> None:
        self.auth = AuthFile(folder / "auth.json")
        self.environ: dict[str, str] = {}
        self.flags: dict[str, str] = {}
        self.models: dict[str, str] = {}

    def credentials(self) -> KeyCredentials:
        return KeyCredentials(
            Catalog({"openai": ROW, "own": OWN, "amazon-bedrock": CLOUD}, []),
            self.auth,
            LocalRunner(shell="/bin/sh"),
            self.environ,
            flags=self.flags,
            models=self.models,
        )

    def get(self, provider: str = "openai") -> str | None:
        keys: Credentials = self.credentials()
        return asyncio.run(as_coroutine(keys.get, provider))

    def refresh(self, rejected: str) -> str | None:
        return asyncio.run(as_coroutine(self.credentials().refresh, "openai", rejected))


async def as_coroutine(ask: Callable[..., Awaitable[str | None]], *arguments: Any) -> str | None:
    return await ask(*arguments)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_order_is_flag_auth_file_environment_models_file(world: World) -> None:
    assert world.get() is None
    world.models["openai"] = "from-models"
    assert world.get() == "from-models"
    world.environ["SECOND_VAR"] = "from-second"
    assert world.get() == "from-second"
    world.environ["FIRST_VAR"] = "from-first"
    assert world.get() == "from-first"
    world.auth.set_key("openai", "from-auth")
    assert world.get() == "from-auth"
    world.flags["openai"] = "from-flag"
    assert world.get() == "from-flag"
    assert world.get("own") is None


def test_flag_belongs_to_one_provider(world: World) -> None:
    world.flags["own"] = "k"
    assert (world.get("own"), world.get("openai")) == ("k", None)


def test_every_source_may_name_a_variable_or_a_command(world: World) -> None:
    world.environ["MY_VAR"] = "from-variable"
    world.models["openai"] = "MY_VAR"
    assert world.get() == "from-variable"
    world.auth.set_key("openai", "!echo from-command-1")
    assert world.get() == "from-command-1"
    world.flags["openai"] = "MY_VAR"
    assert world.get() == "from-variable"


def test_name_of_an_unset_variable_is_never_sent(world: World) -> None:
    world.auth.set_key("openai", "NOT_SET_ONE")
    world.models["openai"] = "NOT_SET_TWO"
    assert world.get() is None
    world.environ["FIRST_VAR"] = "from-first"
    assert world.get() == "from-first"
    world.flags["openai"] = "NOT_SET_THREE"
    with pytest.raises(UsageError, match="--api-key refers to the variable NOT_SET_THREE"):
        world.get()


def test_environment_values_are_taken_literally(world: World) -> None:
    world.environ["FIRST_VAR"] = "!echo no"
    assert world.get() == "!echo no"


def test_key_with_a_line_break_is_an_error_that_does_not_show_it(world: World) -> None:
    world.environ["FIRST_VAR"] = "sk-one\nsk-two"
    with pytest.raises(ConfigError, match="FIRST_VAR") as caught:
        world.get()
    assert "sk-" not in str(caught.value)


def test_refresh_returns_the_current_key(world: World) -> None:
    world.auth.set_key("openai", "old")
    assert world.refresh("old") is None
    world.auth.set_key("openai", "new")
    assert world.refresh("old") == "new"
    assert world.refresh("new") is None


def test_refresh_runs_a_command_again_and_only_once(world: World, tmp_path: Path) -> None:
    count = tmp_path / "count"
    world.auth.set_key("openai", f"!echo x >> {count}; echo key-$(wc -l < {count})")
    keys = world.credentials()

    async def both() -> list[str | None]:
        first = await keys.get("openai")
        assert first == "key-1"
        return list(await asyncio.gather(*(keys.refresh("openai", first) for _ in range(5))))

    assert asyncio.run(both()) == ["key-2"] * 5
    assert count.read_text() == "x\n" * 2


def test_refresh_waits_for_a_writer_without_blocking_others(world: World) -> None:
    world.auth.set_key("openai", "old")
    keys = world.credentials()

    async def main() -> str | None:
        async with asyncio.TaskGroup() as group:
            with locked(world.auth.path):
                refreshed = group.create_task(keys.refresh("openai", "old"))
                await asyncio.sleep(0.05)
                assert not refreshed.done()
                world.auth.path.write_text('{"openai": {"key": "new"}}')
        return refreshed.result()

    assert asyncio.run(main()) == "new"


def test_has_key_does_not_run_commands(world: World, tmp_path: Path) -> None:
    keys = world.credentials()
    assert keys.providers_with_keys() == []
    world.auth.set_key("openai", "NOT_SET")
    assert not keys.available("openai")
    world.auth.set_key("openai", f"!touch {tmp_path / 'ran'}; echo k")
    world.models["own"] = "k"
    assert world.credentials().providers_with_keys() == ["openai", "own"]
    assert not (tmp_path / "ran").exists()


def test_missing_key_is_explained_in_one_line(world: World) -> None:
    world.auth.set_key("openai", "NOT_SET")
    text = world.credentials().describe_missing_key("openai")
    assert "FIRST_VAR or SECOND_VAR" in text
    assert f'{{"openai":{{"type":"api_key","key":"..."}}}} to {world.auth.path}' in text
    assert "refers to the variable NOT_SET, which is not set" in text
    assert "--provider demo" in text and "Ollama" in text
    assert "\n" not in text
    text = world.credentials().describe_missing_keys()
    assert text.startswith("No API key or model server found: set ")
    assert "refers to the variable NOT_SET, which is not set" in text and "\n" not in text
    assert "No API key for nobody" in world.credentials().describe_missing_key("nobody")


def test_token_of_a_plan_does_not_stop_tau_if_there_is_a_key(world: World) -> None:
    world.environ |= {"ANTHROPIC_OAUTH_TOKEN": "sk-ant-oat01-plan"}
    keys = KeyCredentials(load_catalog(), world.auth, LocalRunner(), world.environ)
    assert keys.providers_with_keys() == []
    for text in (keys.describe_missing_key("anthropic"), keys.describe_missing_keys()):
        assert text.startswith(
            "ANTHROPIC_OAUTH_TOKEN is not used, because Anthropic allows such tokens only in"
        )
        assert "set ANTHROPIC_API_KEY or run tau login anthropic." in text and text.count(". ") == 0
    world.environ |= {"ANTHROPIC_API_KEY": "sk-ant-api03-key"}
    assert asyncio.run(keys.get("anthropic")) == "sk-ant-api03-key"
    assert "ANTHROPIC_OAUTH_TOKEN" not in keys.describe_missing_key("openai")


def test_credentials_of_a_cloud_come_last(world: World, tmp_path: Path) -> None:
    world.environ |= {"HOME": str(tmp_path)}
    assert world.get("amazon-bedrock") is None
    assert not world.credentials().available("amazon-bedrock")
    world.environ |= ACCESS_KEY
    assert world.credentials().available("amazon-bedrock")
    assert world.get("amazon-bedrock") == ":".join(ACCESS_KEY.values())
    world.models["amazon-bedrock"] = "configured"
    assert world.get("amazon-bedrock") == "configured"
    world.environ["AWS_BEARER_TOKEN_BEDROCK"] = "token"
    assert world.get("amazon-bedrock") == "token"


def test_addresses_have_the_users_variables(world: World, tmp_path: Path) -> None:
    world.environ |= {"HOME": str(tmp_path), "AWS_REGION": "eu-west-1", "BASE": "https://mine.example.com/"}

    def address(base_url: str, provider: str = "openai", **more: Any) -> str:
        model = Model(
            id="m", name="M", api="openai-completions", provider=provider, base_url=base_url, **more
        )
        return world.credentials().address(model)

    assert address(CLOUD.base_url, "amazon-bedrock") == "https://bedrock-runtime.eu-west-1.amazonaws.com"
    assert address("{BASE}/v1") == "https://mine.example.com/v1"
    assert address("https://{OTHER,BASE|x}.example.com", custom_address=True).startswith("https://{")
    assert address("https://plain.example.com") == "https://plain.example.com"
    with pytest.raises(ConfigError) as caught:
        address("https://{UNSET,ALSO_UNSET}.example.com")
    assert str(caught.value) == (
        "The address of openai is not known: set UNSET or ALSO_UNSET, or baseUrl in models.json."
    )
