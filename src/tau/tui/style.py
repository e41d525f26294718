"""Styles and themes: tokens to colours as data, for terminals with many colours, few, or none."""

from collections.abc import Mapping
from typing import NamedTuple

from tau.tui.terminal.port import ColorDepth

Color = str
"""`#rrggbb`, a number (0 to 255) of the 256 colours, a name of the 16 (`red`, `brightBlue`), or ""."""


class StyleSpec(NamedTuple):
    """How one token looks, whatever the terminal can do."""

    fg: Color = ""
    bg: Color = ""
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    strike: bool = False
    inverse: bool = False


class Style(NamedTuple):
    """Two sequences around a text. The closing one ends only what the opening one began, so styles nest."""

    open: str = ""
    close: str = ""

    def __call__(self, text: str) -> str:
        return f"{self.open}{text}{self.close}" if self.open and text else text


class Symbols(NamedTuple):
    """The signs of the widgets; presets are data beside the themes."""

    bullet: str = "•"
    quote: str = "│"
    rule: str = "─"
    check: str = "✓"
    cross: str = "✗"
    pointer: str = "❯"
    checkbox_on: str = "☑"
    checkbox_off: str = "☐"
    ellipsis: str = "…"
    folded: str = "▸"
    unfolded: str = "▾"
    tree_branch: str = "├─"
    tree_last: str = "└─"
    tree_line: str = "│ "
    scroll_up: str = "↑"
    scroll_down: str = "↓"
    box: str = "╭╮╰╯─│"
    """Corners (top left, top right, bottom left, bottom right), horizontal, vertical."""
    table: str = "┌┬┐├┼┤└┴┘─│"
    spinner: tuple[str, ...] = ("⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏")


UNICODE = Symbols()


class Theme:
    """The look that all components share; they ask it at each render, so that another palette can be put in.

    After `use`, the owner of the tree calls `invalidate` on it and asks for a forced render.
    """

    def __init__(
        self,
        tokens: Mapping[str, StyleSpec],
        *,
        depth: ColorDepth = "truecolor",
        symbols: Symbols = UNICODE,
        motion: bool = True,
        linear: bool = False,
    ) -> None:
        self.depth = depth
        self.symbols = symbols
        self.motion = motion
        """False: nothing moves by itself (reduced motion)."""
        self.linear = linear
        """True: for a screen reader; no boxes, no columns, no animation."""
        self._tokens = tokens
        self._styles: dict[str, Style] = {}

    def use(self, tokens: Mapping[str, StyleSpec], depth: ColorDepth | None = None) -> None:
        """Another palette, and another depth if one is given."""
        self._tokens = tokens
        self.depth = depth or self.depth
        self._styles.clear()

    def __getitem__(self, token: str) -> Style:
        """The style of a token; a token that the palette does not know is plain text."""
        style = self._styles.get(token)
        if style is None:
            style = self._styles[token] = self._compiled(token)
        return style

    def _compiled(self, token: str) -> Style:
        spec = self._tokens.get(token)
        return Style() if spec is None else compiled(spec, self.depth)


def compiled(spec: StyleSpec, depth: ColorDepth) -> Style:
    """The sequences of a style at a colour depth; without colours the attributes stay."""
    return Style()
