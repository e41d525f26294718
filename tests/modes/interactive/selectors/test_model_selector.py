"""The model selector: what is listed, what lacks a key, what is saved, what a local server adds."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tau.ai.http import HttpTransport
from tau.ai.local import discovery
from tau.ai.model import Model, Price
from tau.config.paths import user_paths
from tau.modes import model_list
from tau.modes.interactive.selectors.model_list import YOURS, facts, model_items, tokens
from tau.modes.interactive.selectors.model_selector import choose_model
from tau.modes.model_list import known_models
from tests.modes.interactive.rig import run
from tests.modes.interactive.selectors.selector_rig import open_conversation, opened, settled

QUIET = {"local.discover": False}
SERVED = Model(
    id="qwen-coder", name="Qwen Coder", api="openai-completions", provider="ollama", base_url="http://x/v1"
)


def test_models_with_a_key_come_first_and_others_say_what_to_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    known = known_models(user_paths(), None, {"MISTRAL_API_KEY": "k"})
    items = model_items(known, [], scoped=False)
    assert items[0].group == "Mistral" and not items[0].disabled
    keyless = [item for item in items if item.disabled]
    assert keyless and items[-len(keyless) :] == keyless
    openai = next(item for item in keyless if item.value.startswith("openai/"))
    assert (openai.group, openai.hint) == ("OpenAI: no key, set OPENAI_API_KEY", "")


def test_enabled_models_come_first_or_alone() -> None:
    known = known_models(user_paths(), None, {"ANTHROPIC_API_KEY": "k"})
    everything = model_items(known, ["claude-haiku*"], scoped=False)
    own = model_items(known, ["claude-haiku*"], scoped=True)
    assert own and all(item.group == YOURS for item in own)
    assert everything[: len(own)] == own
    assert len({item.value for item in everything}) == len(everything)


def test_row_shows_window_price_and_abilities() -> None:
    model = Model(
        id="m",
        name="M",
        api="x",
        provider="p",
        base_url="",
        reasoning=True,
        input=("text", "image"),
        cost=Price(input=2.5, output=10),
        context_window=1_000_000,
    )
    assert facts(model) == "1M · $2.5/$10 · off-xhigh · p/m"
    for words, shown in (
        ({"max": "max"}, "off-high/max"),
        ({"minimal": None, "medium": None, "max": "max"}, "off/low/high/max"),
        ({"off": None, "minimal": None}, "low-high"),
    ):
        assert f" · {shown} · " in facts(replace(model, thinking_level_map=words))
    assert (tokens(4_096), tokens(200_000), tokens(900), tokens(1_050_000)) == ("4K", "200K", "900", "1.1M")


def test_enter_switches_the_model_for_this_session_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")

    async def test() -> None:
        async with open_conversation(tmp_path, settings=QUIET) as rig:
            async with opened(rig, choose_model, "── Model"):
                await rig.type("haiku 4.5")
                await rig.press("enter")
            assert rig.session.model.key == "anthropic/claude-haiku-4-5"
            assert not rig.current.paths.settings.exists()

    run(test)


def test_key_makes_it_the_default_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")

    async def test() -> None:
        async with open_conversation(tmp_path, settings=QUIET) as rig:
            async with opened(rig, choose_model, "── Model"):
                await rig.type("sonnet 4.5")
                await rig.press("ctrl+s")
            await rig.show("also for new sessions")
            assert rig.session.model.id == "claude-sonnet-4-5"
            written = json.loads(rig.current.paths.settings.read_text())
            assert written == {"defaultProvider": "anthropic", "defaultModel": "claude-sonnet-4-5"}
            assert rig.current.settings.default_model == "claude-sonnet-4-5"
            assert rig.current.settings.local.discover is False, "what a flag has set stays"

    run(test)


def test_model_without_a_key_says_what_is_missing(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, settings=QUIET, columns=100) as rig:
            before = rig.session.model
            async with opened(rig, choose_model, "── Model"):
                await rig.type("gpt-5.4")
                await rig.press("enter")
                assert "set OPENAI_API_KEY" in await rig.show("No API key for OpenAI")
                await rig.press("escape")
            assert rig.session.model is before

    run(test)


def test_models_of_local_servers_are_added_when_they_respond(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def found(http: HttpTransport, environ: Any, **_: Any) -> list[discovery.DiscoveredServer]:
        server = discovery.DiscoveredServer(
            provider="ollama", name="Ollama", base_url="http://x", models=[SERVED]
        )
        return [server]

    monkeypatch.setattr(discovery, "discover", found)

    async def test() -> None:
        async with open_conversation(tmp_path) as rig:
            async with opened(rig, choose_model, "Ollama (this machine)"):
                await rig.type("qwen")
                await rig.press("ctrl+s")
                await rig.show("so it cannot be the")
                await rig.press("enter")
            assert rig.session.model.key == "ollama/qwen-coder"
            assert not rig.current.paths.settings.exists()

    run(test)


def test_tab_switches_between_all_and_enabled_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")

    async def test() -> None:
        settings = {**QUIET, "enabledModels": ["claude-opus-5", "claude-haiku-4-5"]}
        async with open_conversation(tmp_path, settings=settings) as rig, opened(rig, choose_model, YOURS):
            assert "Sonnet" not in rig.screen() and "Tab show all" in rig.screen()
            await rig.press("tab")
            assert "Claude Fable" in await rig.show("Tab show enabled")
            await rig.press("escape")

    run(test)


def test_current_model_is_always_listed(tmp_path: Path) -> None:
    async def test() -> None:
        shows = "Faux (scripted) ✓"
        async with open_conversation(tmp_path, settings=QUIET) as rig, opened(rig, choose_model, shows):
            assert "❯ Faux (scripted)" in await settled(rig)
            await rig.press("escape")

    run(test)


def test_broken_models_file_is_reported_not_raised(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, settings=QUIET) as rig:
            rig.current.paths.models.parent.mkdir(parents=True, exist_ok=True)
            rig.current.paths.models.write_text("{")
            rig.parts.tasks.start(choose_model(rig.context))
            await rig.show("models.json")
            assert not rig.parts.dialogs.open

    run(test)


def test_discovery_ends_with_the_dialog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = []

    async def never(_: object) -> tuple[list[Model], dict[str, str]]:
        import asyncio

        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)
        return [], {}

    monkeypatch.setattr("tau.modes.interactive.selectors.model_selector.served_models", never)
    assert model_list.served_models is not never

    async def test() -> None:
        async with open_conversation(tmp_path) as rig:
            async with opened(rig, choose_model, "── Model"):
                await rig.press("escape")
            await rig.until(lambda: bool(ended), "the end of the search")

    run(test)
