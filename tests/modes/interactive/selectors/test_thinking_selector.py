"""The thinking selector."""

import json
from pathlib import Path

from msgspec.structs import replace

from tau.modes.interactive.selectors.thinking_selector import choose_thinking
from tests.modes.interactive.rig import run
from tests.modes.interactive.selectors.selector_rig import open_conversation, opened


def test_enter_uses_the_level_in_this_session(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path) as rig:
            async with opened(rig, choose_thinking, "high ✓"):
                await rig.press("up", "enter")
            assert rig.session.thinking == "medium"
            assert not rig.current.paths.settings.exists()

    run(test)


def test_key_makes_it_the_default_too(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path) as rig:
            async with opened(rig, choose_thinking, "xhigh"):
                await rig.press("down", "ctrl+s")
            assert rig.session.thinking == "xhigh"
            assert json.loads(rig.current.paths.settings.read_text()) == {"defaultThinkingLevel": "xhigh"}

    run(test)


def test_model_without_thinking_offers_no_levels(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path) as rig:
            rig.session.use_model(replace(rig.session.model, reasoning=False))
            await choose_thinking(rig.context)
            await rig.show("does not support thinking")
            assert not rig.parts.dialogs.open

    run(test)
