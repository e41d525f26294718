"""`tau --list-models`, with a local server beside the table."""

import asyncio
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tau.ai.local.discovery import DiscoveredServer
from tau.ai.model import Model, Price
from tau.cli import models_table as module
from tau.cli.main import run

LOCAL = Model(
    id="tiny:1b",
    name="tiny:1b",
    api="openai-completions",
    provider="ollama",
    base_url="http://127.0.0.1:11434/v1",
    context_window=4096,
    max_tokens=512,
)


@pytest.fixture(autouse=True)
def one_local_server(monkeypatch: pytest.MonkeyPatch) -> None:
    async def discover(*_: Any, **__: Any) -> list[DiscoveredServer]:
        return [DiscoveredServer(provider="ollama", name="Ollama", base_url=LOCAL.base_url, models=[LOCAL])]

    monkeypatch.setattr(module, "discover", discover)


def table(tmp_path: Path, query: str = "", provider: str | None = None) -> list[list[str]]:
    text = asyncio.run(module.models_table(query, provider, tmp_path, ()))
    return [line.split() for line in text.splitlines()]


def test_local_servers_are_listed_and_need_no_key(tmp_path: Path) -> None:
    rows = table(tmp_path, "tiny")
    assert rows[1] == ["ollama", "tiny:1b", "tiny:1b", "4K", "512", "no", "no", "-", "-", "not", "needed"]


def test_local_servers_are_left_out_when_discovery_is_off(tmp_path: Path) -> None:
    home = Path(os.environ["TAU_HOME"])
    home.mkdir(parents=True)
    (home / "settings.json").write_text('{"local.discover": false}')
    assert table(tmp_path, "tiny:1b") == []


def test_enabled_models_come_first(tmp_path: Path) -> None:
    home = Path(os.environ["TAU_HOME"])
    home.mkdir(parents=True)
    (home / "settings.json").write_text('{"enabledModels": ["tiny*", "openai/gpt-5*"]}')
    rows = table(tmp_path)[1:]
    assert [row[0] for row in rows[:2]] == ["ollama", "openai"]
    keys = [(row[0], row[1]) for row in rows]
    assert len(keys) == len(set(keys)) > 20


def test_provider_narrows_the_list(tmp_path: Path) -> None:
    assert {row[0] for row in table(tmp_path, provider="OpenAI")[1:]} == {"openai"}
    assert {row[0] for row in table(tmp_path)[1:]} >= {"openai", "anthropic", "ollama"}


def test_programs_can_read_the_models_as_json(tmp_path: Path) -> None:
    text = asyncio.run(module.models_table("tiny", None, tmp_path, (), as_json=True))
    assert msgspec.json.decode(text) == [
        {
            "provider": "ollama",
            "id": "tiny:1b",
            "name": "tiny:1b",
            "contextWindow": 4096,
            "maxTokens": 512,
            "reasoning": False,
            "thinkingLevels": ["off"],
            "input": ["text"],
            "cost": {
                "input": 0,
                "output": 0,
                "cacheRead": 0,
                "cacheWrite": 0,
                "cacheWrite1h": 0,
                "steps": [],
                "tiers": {},
            },
            "key": "not needed",
        }
    ]


@pytest.mark.parametrize("flags", (["--json"], ["--mode", "json"]))
def test_list_models_with_json_prints_json_instead_of_waiting_for_messages(
    flags: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["--list-models", "haiku", "--provider", "anthropic", *flags]) == 0
    listed = msgspec.json.decode(capfd.readouterr().out)
    assert {one["provider"] for one in listed} == {"anthropic"} and all(
        "haiku" in one["id"] for one in listed
    )


def test_numbers_are_short_and_aligned(tmp_path: Path) -> None:
    head, *lines = asyncio.run(module.models_table("", None, tmp_path, ())).splitlines()
    end = head.index("context") + len("context")
    assert {line[end - 1] for line in lines} <= set("KM0123456789")
    large = replace(LOCAL, cost=Price(0.25, 2), context_window=1_048_576, reasoning=True)
    assert module._row(large, "no")[3:] == ("1M", "512", "yes", "no", "0.25", "2", "no")
