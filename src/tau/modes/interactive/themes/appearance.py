"""Derives the appearance from settings and terminal: colors, symbols, motion."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import asdict

from tau.base.errors import ConfigError
from tau.base.late import late
from tau.config.paths import user_paths
from tau.config.settings import Settings
from tau.config.theme_files import ThemeFile, read_theme, theme_paths
from tau.modes.interactive.themes.tokens import COLOR_BLIND, ROLES, TOKENS
from tau.tui.style import ASCII, UNICODE, StyleSpec, Symbols
from tau.tui.terminal.port import Background, Capabilities, ColorDepth

log = late("tau.base.log")

SYMBOLS: dict[str, Symbols] = {
    "unicode": UNICODE,
    "nerd": UNICODE._replace(
        check="\uf00c",
        cross="\uf00d",
        pointer="\uf054",
        checkbox_on="\uf14a",
        checkbox_off="\uf096",
        folded="\uf105",
        unfolded="\uf107",
    ),
    "ascii": ASCII,
}


_DATA = Path(__file__).parent / "data"


class Appearance(NamedTuple):
    """What the screen needs before it shows anything."""

    tokens: Mapping[str, StyleSpec]
    depth: ColorDepth
    symbols: Symbols
    motion: bool = True
    linear: bool = False
    hardware_cursor: bool = True
    tab_width: int = 4


def appearance_of(
    settings: Settings,
    capabilities: Capabilities,
    environ: Mapping[str, str],
    background: Background = "dark",
    theme: ThemeFile | None = None,
) -> Appearance:
    """The appearance the settings ask for; `theme` is their theme, if already loaded."""
    display = settings.display
    linear = display.screen_reader
    theme = theme or configured_theme(settings, background)
    return Appearance(
        tokens=tokens_of(theme, color_blind=settings.theme.color_blind),
        depth=capabilities.color_depth,
        symbols=SYMBOLS["ascii" if linear else _symbol_set(settings, environ)],
        motion=not (display.reduced_motion or linear),
        linear=linear,
        hardware_cursor=display.hardware_cursor,
        tab_width=display.tab_width,
    )


def _symbol_set(settings: Settings, environ: Mapping[str, str]) -> str:
    """Which symbols: the fonts of the Linux console lack most of them, and so do locales without UTF-8."""
    choice = settings.theme.symbols
    if choice != "auto":
        return choice
    return "ascii" if environ.get("TERM") == "linux" or _is_ascii_locale(environ) else "unicode"


_ASCII_LOCALES = ("C", "POSIX")
_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")
"""What Python itself puts into LC_CTYPE when it starts in such a locale."""


def _is_ascii_locale(environ: Mapping[str, str]) -> bool:
    """Whether the locale names another encoding than UTF-8; without any locale, terminals have UTF-8."""
    keys = ["LC_ALL", "LC_CTYPE", "LANG"]
    if environ.get("LC_CTYPE") in _COERCED and environ.get("LANG") in _ASCII_LOCALES:
        keys.remove("LC_CTYPE")
    name = next((value for key in keys if (value := environ.get(key))), "")
    encoding = name.partition("@")[0].partition(".")[2].lower().replace("-", "")
    return name in _ASCII_LOCALES or encoding not in ("", "utf8")


def theme_name(settings: Settings, background: Background) -> str:
    """The name of the theme for this background."""
    chosen = settings.theme
    ground = background if chosen.background == "auto" else chosen.background
    return chosen.dark if ground == "dark" else chosen.light


def configured_theme(settings: Settings, background: Background) -> ThemeFile:
    """The theme for this background, or the default if it is unreadable."""
    name = theme_name(settings, background)
    try:
        return load_theme(name)
    except ConfigError as error:
        log.warning(f"Cannot use the theme {name}.", error)
        return load_theme("dusk" if background == "dark" else "paper")


def theme_names(environ: Mapping[str, str] = os.environ) -> list[str]:
    """All theme names: the user's first, then built-in ones."""
    own = theme_paths(user_paths(environ).themes)
    ours = sorted(path.stem for path in _DATA.glob("*.json"))
    return [*own, *(name for name in ours if name not in own)]


def load_theme(name: str, environ: Mapping[str, str] = os.environ) -> ThemeFile:
    """Load a theme by name. Raises ConfigError if it is missing or invalid."""
    path = theme_paths(user_paths(environ).themes).get(name) or _DATA / f"{name}.json"
    if not path.is_file():
        names = ", ".join(theme_names(environ))
        raise ConfigError(f'Unknown theme "{name}"; choose from {names}.')
    return read_theme(path, roles=ROLES, tokens=TOKENS)


def tokens_of(theme: ThemeFile, *, color_blind: bool = False) -> dict[str, StyleSpec]:
    """Every token as this theme shows it."""
    colors = dict(theme.colors)
    if color_blind and colors:
        colors |= COLOR_BLIND["light" if theme.kind == "light" else "dark"]
    styles = {name: token.spec(colors) for name, token in TOKENS.items()}
    for name, style in theme.tokens.items():
        fg, bg = colors.get(style.fg, style.fg), colors.get(style.bg, style.bg)
        styles[name] = StyleSpec(**asdict(style))._replace(fg=fg, bg=bg)
    return styles
