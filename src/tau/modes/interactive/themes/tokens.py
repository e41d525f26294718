"""What a theme can color: every token of the screen, its color and its purpose."""

from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct, json

from tau.tui.style import StyleSpec


class ThemeToken(NamedTuple):
    """How a token is derived from a theme's colors, unless the theme overrides it."""

    fg: str
    description: str
    bg: str = ""
    bold: bool = False
    italic: bool = False
    underline: bool = False
    strike: bool = False
    inverse: bool = False

    def spec(self, colors: dict[str, str]) -> StyleSpec:
        style = self._asdict()
        del style["description"]
        return StyleSpec(**style)._replace(fg=colors.get(self.fg, ""), bg=colors.get(self.bg, ""))


class _TokenTable(Struct, frozen=True, rename="camel"):
    roles: dict[str, str]
    color_blind: dict[str, dict[str, str]]
    tokens: dict[str, dict[str, Any]]


_DATA = json.decode(Path(__file__).with_name("tokens.json").read_bytes(), type=_TokenTable)
ROLES = _DATA.roles
"""The colors a theme defines, each with its purpose."""
TOKENS = {name: ThemeToken(**row) for name, row in _DATA.tokens.items()}
COLOR_BLIND = _DATA.color_blind
"""Nearly everyone can tell blue and orange apart, on dark and light backgrounds."""
