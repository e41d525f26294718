"""The themes: complete, legible, and chosen by background, settings and terminal."""

import json
import os
from functools import cache
from pathlib import Path

import msgspec
import pytest

from tau.base.errors import ConfigError
from tau.config.layers import load_settings
from tau.config.paths import user_paths
from tau.config.settings import Settings
from tau.modes.interactive.themes.appearance import appearance_of, load_theme, theme_names, tokens_of
from tau.modes.interactive.themes.tokens import ROLES, TOKENS
from tau.tui.style import compile_style
from tau.tui.terminal.port import Capabilities
from tests.modes.interactive.rig import rigged, run
from tests.support.palettes import DARK_TOKENS

GROUNDS = {"dark": "#14171d", "light": "#ffffff"}
FAINT = {"border", "dim", "comment"}
BACKS = {"selection", "addedBack", "removedBack"}


@cache
def luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4


@cache
def contrast(one: str, other: str) -> float:
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def test_at_least_ten_themes_for_both_backgrounds() -> None:
    kinds = [load_theme(name).kind for name in theme_names()]
    assert len(kinds) >= 10 and kinds.count("dark") >= 5 and kinds.count("light") >= 4


@pytest.mark.parametrize("name", theme_names())
def test_every_color_is_legible_on_its_background(name: str) -> None:
    theme = load_theme(name)
    if theme.kind == "any":
        assert not theme.colors
        return
    assert set(theme.colors) == set(ROLES) - {"text"}
    ground = GROUNDS[theme.kind]
    weak = {
        role: round(contrast(color, ground), 2)
        for role, color in theme.colors.items()
        if role not in BACKS | {"addedWord", "removedWord"}
        and contrast(color, ground) < (1.5 if role == "border" else 3.0 if role in FAINT else 4.5)
    }
    assert not weak
    for word, back in (("addedWord", "addedBack"), ("removedWord", "removedBack")):
        assert contrast(theme.colors[word], theme.colors[back]) >= 4.5
    assert contrast(theme.colors["accent"], theme.colors["selection"]) >= 3.0


def test_every_widget_token_is_defined() -> None:
    assert set(DARK_TOKENS) <= set(TOKENS)
    assert {token.fg for token in TOKENS.values()} | {token.bg for token in TOKENS.values()} <= {*ROLES, ""}


@pytest.mark.parametrize("depth", ("truecolor", "256", "16", "none"))
def test_additions_never_look_like_removals_at_any_color_depth(depth: str) -> None:
    for name in theme_names():
        tokens = tokens_of(load_theme(name))
        if depth == "none" or name == "mono":
            continue  # the signs + and - distinguish them
        assert compile_style(tokens["diffAdded"], depth) != compile_style(tokens["diffRemoved"], depth), name  # type: ignore[arg-type]


def test_background_chooses_the_theme_and_settings_may_override() -> None:
    settings, capabilities = Settings(), Capabilities(color_depth="truecolor")
    dark = appearance_of(settings, capabilities, os.environ, "dark")
    light = appearance_of(settings, capabilities, os.environ, "light")
    assert dark.tokens["accent"] == tokens_of(load_theme("dusk"))["accent"]
    assert light.tokens["accent"] == tokens_of(load_theme("paper"))["accent"]
    insisting = load_settings(user_paths(), Path.cwd(), flags={"theme.background": "light"}).settings
    assert appearance_of(insisting, capabilities, os.environ, "dark").tokens == light.tokens


@pytest.mark.parametrize(
    ("term", "wanted", "pointer"),
    [
        ("linux", "auto", ">"),
        ("linux", "unicode", "❯"),
        ("xterm-256color", "auto", "❯"),
        ("xterm-256color", "ascii", ">"),
    ],
)
def test_linux_console_gets_symbols_its_fonts_have(term: str, wanted: str, pointer: str) -> None:
    settings = msgspec.convert({"theme": {"symbols": wanted}}, Settings)
    assert appearance_of(settings, Capabilities(), {"TERM": term}).symbols.pointer == pointer


@pytest.mark.parametrize(
    ("environ", "pointer"),
    [
        ({"LANG": "C"}, ">"),
        ({"LANG": "POSIX"}, ">"),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, ">"),
        ({"LC_CTYPE": "C.UTF-8"}, "❯"),
        ({"LANG": "C", "LC_CTYPE": "de_DE.UTF-8"}, "❯"),
        ({"LC_ALL": "C", "LANG": "en_US.UTF-8"}, ">"),
        ({"LC_CTYPE": "de_DE.ISO-8859-1@euro", "LANG": "de_DE.UTF-8"}, ">"),
        ({"LC_ALL": "", "LANG": "en_US.UTF-8"}, "❯"),
        ({"LANG": "C.UTF-8"}, "❯"),
        ({"LANG": "en_US.utf8"}, "❯"),
        ({"LANG": "de_DE"}, "❯"),
        ({}, "❯"),
    ],
)
def test_locale_without_utf8_gets_ascii(environ: dict[str, str], pointer: str) -> None:
    environ = {"TERM": "xterm-256color", **environ}
    assert appearance_of(Settings(), Capabilities(), environ).symbols.pointer == pointer


def test_colorblind_theme_uses_blue_and_orange() -> None:
    usual, safe = tokens_of(load_theme("dusk")), tokens_of(load_theme("dusk"), color_blind=True)
    assert usual["diffAdded"] != safe["diffAdded"] and usual["accent"] == safe["accent"]
    blue, orange = safe["diffAdded"].fg, safe["diffRemoved"].fg
    assert int(blue[5:7], 16) > int(blue[1:3], 16) and int(orange[1:3], 16) > int(orange[5:7], 16)


def test_user_theme_is_found_and_a_broken_one_falls_back(tmp_path: Path) -> None:
    folder = user_paths().themes
    folder.mkdir(parents=True)
    (folder / "mine.json").write_text(json.dumps({"colors": {"accent": "#123456"}}))
    (folder / "broken.json").write_text("{")
    assert theme_names()[:2] == ["broken", "mine"]
    assert tokens_of(load_theme("mine"))["accent"].fg == "#123456"
    with pytest.raises(ConfigError):
        load_theme("broken")
    settings = load_settings(user_paths(), tmp_path, flags={"theme.dark": "broken"}).settings
    assert appearance_of(settings, Capabilities(), os.environ).tokens == tokens_of(load_theme("dusk"))


def test_new_theme_is_on_screen_at_once(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await rig.show("tau")
            row = next(at for at, text in enumerate(rig.terminal.screen()) if text.startswith("tau "))
            before = rig.terminal.cell(row, 0).fg
            rig.parts.themes.use("ember")
            await rig.until(lambda: rig.terminal.cell(row, 0).fg not in (before, ""), "other colours")
            with pytest.raises(ConfigError, match="Unknown theme"):
                rig.parts.themes.use("nonsense")

    run(test)
