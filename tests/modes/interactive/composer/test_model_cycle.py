"""Cycling models and thinking levels."""

import json
import os
from pathlib import Path
from typing import Any

from tau.config.layers import load_settings
from tau.config.paths import user_paths
from tau.modes.model_list import cycle_choices as choices
from tests.modes.interactive.rig import rigged, run


def provide(**models: list[dict[str, Any]]) -> None:
    home = Path(os.environ["TAU_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    providers = {
        name: {"baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions", "apiKey": "x", "models": rows}
        for name, rows in models.items()
    }
    (home / "models.json").write_text(json.dumps({"providers": providers}))


def keys(folder: Path, *patterns: str) -> list[str]:
    paths = user_paths()
    settings = load_settings(paths, folder, flags={"enabledModels": list(patterns)}).settings
    return [choice.model.key for choice in choices(settings, paths)]


def test_models_follow_the_order_of_the_setting(tmp_path: Path) -> None:
    provide(mine=[{"id": "large"}, {"id": "small"}], other=[{"id": "third"}])
    assert keys(tmp_path, "other/third", "mine/*") == ["other/third", "mine/large", "mine/small"]


def test_models_without_a_key_are_skipped(tmp_path: Path) -> None:
    provide(mine=[{"id": "large"}])
    assert keys(tmp_path, "anthropic/*", "mine/large") == ["mine/large"]


def test_without_the_setting_each_provider_with_a_key_offers_its_default(tmp_path: Path) -> None:
    os.environ["ANTHROPIC_API_KEY"] = os.environ["OPENAI_API_KEY"] = "x"
    assert [key.partition("/")[0] for key in keys(tmp_path)] == ["anthropic", "openai"]


def test_single_provider_offers_all_its_models(tmp_path: Path) -> None:
    os.environ["ANTHROPIC_API_KEY"] = "x"
    found = keys(tmp_path)
    assert len(found) > 1 and all(key.startswith("anthropic/") for key in found)


def test_single_custom_provider_offers_all_its_models(tmp_path: Path) -> None:
    provide(mine=[{"id": "large"}, {"id": "small"}])
    assert keys(tmp_path) == ["mine/large", "mine/small"]


def test_ctrl_p_cycles_the_models(tmp_path: Path) -> None:
    provide(mine=[{"id": "large", "reasoning": True}, {"id": "small"}])
    settings = {"enabledModels": ["mine/large:low", "mine/small"]}

    async def test() -> None:
        async with rigged(tmp_path, settings=settings) as rig:
            await rig.press("ctrl+p")
            await rig.show("Model: mine/large, thinking low.")
            assert (rig.session.model.key, rig.session.thinking) == ("mine/large", "low")
            await rig.press("ctrl+p")
            await rig.show("Model: mine/small.")
            assert (rig.session.model.key, rig.session.thinking) == ("mine/small", "off")
            await rig.press("ctrl+shift+p")
            await rig.until(lambda: rig.session.model.key == "mine/large", "the model before")

    run(test)


def test_single_model_is_reported_as_the_only_one(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            before = rig.session.model
            await rig.press("ctrl+p")
            await rig.show("No other model")
            assert rig.session.model is before

    run(test)


def test_shift_tab_cycles_the_thinking_levels(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, settings={"defaultThinkingLevel": "high"}) as rig:
            for level in ("xhigh", "off", "minimal"):
                await rig.press("shift+tab")
                await rig.show(f"Thinking: {level}.")
                assert rig.session.thinking == level

    run(test)


def test_model_without_thinking_keeps_its_level(tmp_path: Path) -> None:
    provide(mine=[{"id": "small", "name": "Small"}])

    async def test() -> None:
        async with rigged(tmp_path, settings={"enabledModels": ["mine/small"]}) as rig:
            await rig.press("ctrl+p")
            await rig.until(lambda: rig.session.model.key == "mine/small", "the model")
            await rig.press("shift+tab")
            await rig.show("does not support thinking.")
            assert rig.session.thinking == "off"

    run(test)
