"""Theme files: colors by role, and overrides for single tokens."""

from collections.abc import Collection
from pathlib import Path
from typing import Literal

from msgspec import Struct, ValidationError, convert

from tau.base.errors import ConfigError
from tau.config.json_file import JsonFile, read_json

MAX_THEMES = 200
_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
NAMES = frozenset((*_NAMES, *(f"bright{name.capitalize()}" for name in _NAMES)))


class TokenStyle(Struct, frozen=True):
    """`fg` and `bg` are colors, or names of the theme's colors."""

    fg: str = ""
    bg: str = ""
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    strike: bool = False
    inverse: bool = False


class ThemeFile(Struct, frozen=True, kw_only=True):
    """`kind` is the background it is made for."""

    name: str = ""
    kind: Literal["dark", "light", "any"] = "any"
    description: str = ""
    colors: dict[str, str] = {}
    tokens: dict[str, TokenStyle] = {}


def theme_paths(folder: Path) -> dict[str, Path]:
    """The themes in a folder by file name."""
    try:
        found = sorted(folder.glob("*.json"))[:MAX_THEMES]
    except OSError:
        return {}
    return {path.stem: path for path in found}


def read_theme(path: Path, *, roles: Collection[str], tokens: Collection[str]) -> ThemeFile:
    """Read a theme. Raises ConfigError with path and line for unknown names and invalid colors."""
    source = read_json(path)
    try:
        theme = convert(source.content, ThemeFile)
    except ValidationError as error:
        raise ConfigError(f"Not a valid theme: {error}.", path=path) from error
    for role, color in theme.colors.items():
        _check(source, color, "colors", role)
        if role not in roles:
            raise source.error(f'Unknown color "{role}"; the themes page lists them.', "colors", role)
    for name, style in theme.tokens.items():
        if name not in tokens:
            raise source.error(f'Unknown token "{name}"; the themes page lists them.', "tokens", name)
        for color in (style.fg, style.bg):
            if color not in theme.colors:
                _check(source, color, "tokens", name)
    return theme


def _check(source: JsonFile, color: str, *keys: str) -> None:
    if not is_color(color):
        message = f'"{color}" is not a color: use "#rrggbb", a number from 0 to 255, or a name such as "red".'
        raise source.error(message, *keys)


def is_color(text: str) -> bool:
    """`#rrggbb`, a number from 0 to 255, one of the 16 names, or nothing."""
    if not text or text in NAMES:
        return True
    if text.startswith("#"):
        return len(text) == 7 and all(digit in "0123456789abcdefABCDEF" for digit in text[1:])
    return text.isascii() and text.isdecimal() and int(text) < 256
