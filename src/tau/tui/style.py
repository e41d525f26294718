"""Styles and themes: tokens mapped to colors, for terminals with many colors, few, or none.

The tokens that widgets use; one that a palette lacks is plain text:

| group   | tokens |
|---------|--------|
| text    | text muted dim accent heading strong emphasis strike link code |
| frames  | border borderActive rule tableBorder codeBlock codeBorder quote quoteBorder listMark |
| lists   | selected selectedBackground matched placeholder cursor spinner |
| states  | error warning success info toastInfo toastWarning toastError |
| diffs   | diffAdded diffRemoved diffAddedWord diffRemovedWord diffContext diffLineNumber |
| code    | syntaxKeyword syntaxString syntaxNumber syntaxComment syntaxName syntaxFunction syntaxType |
|         | syntaxOperator syntaxPunctuation syntaxConstant syntaxDecorator |
"""

from collections.abc import Mapping
from typing import NamedTuple

from tau.tui.color import Color, color_code
from tau.tui.terminal.port import ColorDepth
from tau.tui.text.sgr import reopen_style


class StyleSpec(NamedTuple):
    """The style of one token, independent of the terminal."""

    fg: Color = ""
    bg: Color = ""
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    strike: bool = False
    inverse: bool = False


class Style(NamedTuple):
    """Two sequences around a text. The closing one ends only what the opening one started, so styles nest."""

    open: str = ""
    close: str = ""

    def __call__(self, text: str) -> str:
        if not self.open or not text:
            return text
        if "\x1b" in text:
            # Two colors, or bold and dim, share one closing code: reopen what an inner style closed.
            text = reopen_style(text, self.open)
        return f"{self.open}{text}{self.close}"


class Symbols(NamedTuple):
    """The symbols of the widgets."""

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
    separator: str = "·"
    """Separates facts in one row."""
    box: str = "╭╮╰╯─│"
    """Corners (top left, top right, bottom left, bottom right), horizontal, vertical."""
    table: str = "┌┬┐├┼┤└┴┘─│"
    spinner: tuple[str, ...] = ("⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏")


UNICODE = Symbols()
ASCII = Symbols(
    bullet="*",
    quote="|",
    rule="-",
    check="+",
    cross="x",
    pointer=">",
    checkbox_on="[x]",
    checkbox_off="[ ]",
    ellipsis="...",
    folded="+",
    unfolded="-",
    tree_branch="|-",
    tree_last="`-",
    tree_line="| ",
    scroll_up="^",
    scroll_down="v",
    separator="|",
    box="++++-|",
    table="+++++++++-|",
    spinner=("|", "/", "-", "\\"),
)


class Theme:
    """The styles shared by all components, looked up at each render so that the palette can change.

    After `use`, the owner of the tree calls `invalidate` on it and requests a forced render.
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
        """False: no animation (reduced motion)."""
        self.linear = linear
        """True: for a screen reader; no boxes, no columns, no animation."""
        self._tokens = tokens
        self._styles: dict[str, Style] = {}

    def use(self, tokens: Mapping[str, StyleSpec], depth: ColorDepth | None = None) -> None:
        """Switch the palette, and the depth if given."""
        self._tokens = tokens
        self.depth = depth or self.depth
        self._styles.clear()

    def __getitem__(self, token: str) -> Style:
        """Return the style of a token; an unknown token is plain text."""
        style = self._styles.get(token)
        if style is None:
            style = self._styles[token] = self._compiled(token)
        return style

    def _compiled(self, token: str) -> Style:
        spec = self._tokens.get(token)
        return Style() if spec is None else compile_style(spec, self.depth)


def compile_style(spec: StyleSpec, depth: ColorDepth) -> Style:
    """Compile a style for a color depth; without colors, the attributes stay."""
    opening: list[str] = []
    closing: list[str] = []
    for color, kind, closer in ((spec.fg, 38, "39"), (spec.bg, 48, "49")):
        code = color_code(color, kind, depth)
        if code:
            opening.append(code)
            closing.append(closer)
    for is_on, number, closer in (
        (spec.bold, "1", "22"),
        (spec.dim, "2", "22"),
        (spec.italic, "3", "23"),
        (spec.underline, "4", "24"),
        (spec.inverse, "7", "27"),
        (spec.strike, "9", "29"),
    ):
        if is_on:
            opening.append(number)
            closing.append(closer)
    if not opening:
        return Style()
    return Style(f"\x1b[{';'.join(opening)}m", f"\x1b[{';'.join(dict.fromkeys(closing))}m")


PLAIN: dict[str, StyleSpec] = {}
DARK_TOKENS: dict[str, StyleSpec] = {
    "text": StyleSpec(),
    "muted": StyleSpec(fg="#9aa3b2"),
    "dim": StyleSpec(fg="#6c7482"),
    "accent": StyleSpec(fg="#7fb4ff"),
    "border": StyleSpec(fg="#4a5263"),
    "borderActive": StyleSpec(fg="#7fb4ff"),
    "selected": StyleSpec(fg="#9cc7ff", bold=True),
    "selectedBackground": StyleSpec(bg="#2b3445"),
    "heading": StyleSpec(fg="#e6c07b", bold=True),
    "error": StyleSpec(fg="#f0717a"),
    "warning": StyleSpec(fg="#e5b567"),
    "success": StyleSpec(fg="#8fce7f"),
    "info": StyleSpec(fg="#74c7d4"),
    "link": StyleSpec(fg="#6fb7e9", underline=True),
    "code": StyleSpec(fg="#8fd6a8"),
    "codeBlock": StyleSpec(fg="#d5dae3"),
    "codeBorder": StyleSpec(fg="#4a5263"),
    "quote": StyleSpec(fg="#aab2c0", italic=True),
    "quoteBorder": StyleSpec(fg="#4a5263"),
    "listMark": StyleSpec(fg="#7fb4ff"),
    "tableBorder": StyleSpec(fg="#4a5263"),
    "rule": StyleSpec(fg="#4a5263"),
    "strong": StyleSpec(bold=True),
    "emphasis": StyleSpec(italic=True),
    "strike": StyleSpec(strike=True),
    "diffAdded": StyleSpec(fg="#8fce7f"),
    "diffRemoved": StyleSpec(fg="#f0717a"),
    "diffAddedWord": StyleSpec(fg="#c9f2bd", bg="#1f4a2a", bold=True),
    "diffRemovedWord": StyleSpec(fg="#ffc9cd", bg="#5a2229", bold=True),
    "diffContext": StyleSpec(fg="#9aa3b2"),
    "diffLineNumber": StyleSpec(fg="#6c7482"),
    "syntaxKeyword": StyleSpec(fg="#c792ea"),
    "syntaxString": StyleSpec(fg="#98d48f"),
    "syntaxNumber": StyleSpec(fg="#f0a875"),
    "syntaxComment": StyleSpec(fg="#7d8694", italic=True),
    "syntaxName": StyleSpec(fg="#d5dae3"),
    "syntaxFunction": StyleSpec(fg="#82aaff"),
    "syntaxType": StyleSpec(fg="#f2cf7f"),
    "syntaxOperator": StyleSpec(fg="#89ddff"),
    "syntaxPunctuation": StyleSpec(fg="#aab2c0"),
    "syntaxConstant": StyleSpec(fg="#f78c8c"),
    "syntaxDecorator": StyleSpec(fg="#e69ad0"),
    "placeholder": StyleSpec(fg="#6c7482"),
    "cursor": StyleSpec(inverse=True),
    "matched": StyleSpec(fg="#e6c07b", underline=True),
    "toastInfo": StyleSpec(fg="#74c7d4"),
    "toastWarning": StyleSpec(fg="#e5b567", bold=True),
    "toastError": StyleSpec(fg="#f0717a", bold=True),
    "spinner": StyleSpec(fg="#7fb4ff"),
}
_LIGHT_COLORS = {
    "#9aa3b2": "#5c6470",
    "#6c7482": "#7c8490",
    "#7fb4ff": "#1f5fbf",
    "#4a5263": "#b4bac4",
    "#9cc7ff": "#174a99",
    "#2b3445": "#dfe8f6",
    "#e6c07b": "#8a5a00",
    "#f0717a": "#b3232f",
    "#e5b567": "#8f5b00",
    "#8fce7f": "#2b7a1f",
    "#74c7d4": "#0f6f80",
    "#6fb7e9": "#0b63a5",
    "#8fd6a8": "#17663c",
    "#d5dae3": "#2a2f38",
    "#aab2c0": "#525a66",
    "#c9f2bd": "#0f4a17",
    "#1f4a2a": "#c8ecc9",
    "#ffc9cd": "#7a121c",
    "#5a2229": "#f8d0d3",
    "#c792ea": "#7a2fb0",
    "#98d48f": "#2a6e2a",
    "#f0a875": "#a34a10",
    "#7d8694": "#6a7280",
    "#82aaff": "#2450b8",
    "#f2cf7f": "#7d5600",
    "#89ddff": "#0d6480",
    "#f78c8c": "#a82727",
    "#e69ad0": "#96307a",
}
LIGHT_TOKENS: dict[str, StyleSpec] = {
    token: spec._replace(fg=_LIGHT_COLORS.get(spec.fg, ""), bg=_LIGHT_COLORS.get(spec.bg, ""))
    for token, spec in DARK_TOKENS.items()
}
