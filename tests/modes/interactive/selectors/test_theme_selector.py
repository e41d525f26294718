"""The theme selector: previewed at once, saved by Enter, reverted by Escape."""

import json
from pathlib import Path

from tau.modes.interactive.selectors.theme_selector import choose_theme, theme_items
from tau.modes.interactive.themes.appearance import load_theme, theme_names, tokens_of
from tests.modes.interactive.rig import Rig, run
from tests.modes.interactive.selectors.selector_rig import open_conversation, opened, settled


def shown_theme(rig: Rig) -> str:
    """The name of the current theme."""
    tokens = dict(rig.front.theme._tokens)
    return next(name for name in theme_names() if name != "mine" and tokens_of(load_theme(name)) == tokens)


def test_themes_for_this_background_come_first() -> None:
    dark, light = theme_items("dark"), theme_items("light")
    assert {item.value for item in dark} == {item.value for item in light} == set(theme_names())
    assert dark[0].group == "For dark terminals" and light[0].group == "For light terminals"


def test_moving_previews_a_theme_and_escape_restores_the_old_one(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path) as rig:
            assert shown_theme(rig) == "dusk"
            async with opened(rig, choose_theme, "Theme for dark terminals"):
                await rig.type("ocean")
                await settled(rig)
                assert shown_theme(rig) == "ocean"
                await rig.press("escape")
            assert shown_theme(rig) == "dusk"
            assert not rig.current.paths.settings.exists()

    run(test)


def test_enter_saves_it_for_the_current_background(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path) as rig:
            async with opened(rig, choose_theme, "Theme for dark terminals"):
                await rig.type("plum")
                await rig.press("enter")
            assert shown_theme(rig) == "plum"
            assert json.loads(rig.current.paths.settings.read_text()) == {"theme": {"dark": "plum"}}
            rig.terminal.background("light")
            async with opened(rig, choose_theme, "Theme for light terminals"):
                await rig.type("sand")
                await rig.press("enter")
            assert rig.current.settings.theme.light == "sand" and rig.current.settings.theme.dark == "plum"

    run(test)


def test_broken_user_theme_says_so(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_conversation(tmp_path, columns=120) as rig:
            rig.current.paths.themes.mkdir(parents=True)
            (rig.current.paths.themes / "mine.json").write_text('{"colors": {"nothing": "#123456"}}')
            async with opened(rig, choose_theme, "Theme for"):
                await rig.type("mine")
                await rig.show('Unknown color "nothing"')
                assert shown_theme(rig) == "dusk"
                await rig.press("enter")
            await rig.show('Unknown color "nothing"')
            assert shown_theme(rig) == "dusk" and not rig.current.paths.settings.exists()

    run(test)
