"""Styles and themes: tokens mapped to colors, for terminals with many colors, few, or none.

The tokens that widgets use; one that a palette lacks is plain text:

| group   | tokens |
|---------|--------|
| text    | text muted dim accent heading strong emphasis strike link code toolOutput |
| frames  | border borderActive rule tableBorder codeBlock codeBorder quote quoteBorder listMark |
| lists   | selected selectedBackground matched placeholder cursor spinner |
| states  | error warning success info toastInfo toastWarning toastError |
| diffs   | diffAdded diffRemoved diffAddedWord diffRemovedWord diffContext diffLineNumber |
| code    | syntaxKeyword syntaxString syntaxNumber syntaxComment syntaxName syntaxFunction syntaxType |
|         | syntaxOperator syntaxPunctuation syntaxConstant syntaxDecorator |
"""

from collections.abc import Mapping
from typing import NamedTuple

from tau.tui.terminal.port import ColorDepth
from tau.tui.text.sgr import reopen_style

Color = str
"""`#rrggbb`, an index (0 to 255) of the 256 colors, a name of the 16 (`red`, `brightBlue`), or ""."""

_Rgb = tuple[int, int, int]
_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_NUMBERS = {name: number for number, name in enumerate(_NAMES)} | {
    f"bright{name.capitalize()}": number + 8 for number, name in enumerate(_NAMES)
}
_CUBE = (0, 95, 135, 175, 215, 255)
_SIXTEEN: tuple[_Rgb, ...] = (
    (0, 0, 0),
    (205, 0, 0),
    (0, 205, 0),
    (205, 205, 0),
    (0, 0, 238),
    (205, 0, 205),
    (0, 205, 205),
    (229, 229, 229),
    (127, 127, 127),
    (255, 0, 0),
    (0, 255, 0),
    (255, 255, 0),
    (92, 92, 255),
    (255, 0, 255),
    (0, 255, 255),
    (255, 255, 255),
)
_GRAYS = (0, 7, 8, 15)
_DARK = 96
_BRIGHT = 230
_LEAST_SATURATION = 0.3
_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")


def color_code(color: Color, kind: int, depth: ColorDepth) -> str:
    """Return the SGR parameters of a color; `kind` is 38 or 48. Empty for an invalid color."""
    if not color or depth == "none":
        return ""
    rgb = _rgb(color)
    number = _NUMBERS.get(color, -1)
    if rgb is None and number < 0:
        number = int(color) if color.isascii() and color.isdecimal() and len(color) <= 3 else -1
        if not 0 <= number <= 255:
            return ""
    if rgb is not None and depth == "truecolor":
        return f"{kind};2;{rgb[0]};{rgb[1]};{rgb[2]}"
    if rgb is not None:
        number = _nearest_256(rgb) if depth == "256" else _nearest_16(rgb)
    elif number > 15 and depth == "16":
        number = _nearest_16(_rgb_of_256(number))
    if number > 15:
        return f"{kind};5;{number}"
    return str(kind - 8 + number if number < 8 else kind + 52 + number - 8)


def _rgb(color: Color) -> _Rgb | None:
    digits = color[1:]
    if color[:1] != "#" or len(digits) not in (3, 6) or not _HEX_DIGITS.issuperset(digits):
        return None
    if len(digits) == 3:
        digits = "".join(digit * 2 for digit in digits)
    return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)


def _distance(one: _Rgb, other: _Rgb) -> int:
    """Return the perceived distance of two colors: the weight of red and blue depends on redness."""
    red = (one[0] + other[0]) // 2
    r, g, b = one[0] - other[0], one[1] - other[1], one[2] - other[2]
    return (512 + red) * r * r + 1024 * g * g + (767 - red) * b * b


def _nearest_256(rgb: _Rgb) -> int:
    r, g, b = map(_nearest_level, rgb)
    gray = min(max((sum(rgb) // 3 - 3) // 10, 0), 23)
    return min((16 + 36 * r + 6 * g + b, 232 + gray), key=lambda number: _distance(rgb, _rgb_of_256(number)))


def _nearest_level(value: int) -> int:
    return min(range(6), key=lambda level: abs(_CUBE[level] - value))


def _nearest_16(rgb: _Rgb) -> int:
    """Match by hue, since palettes vary: by distance alone, pastels would become gray or yellow."""
    low, high = min(rgb), max(rgb)
    if high < _DARK or (high - low) < _LEAST_SATURATION * high:
        return min(_GRAYS, key=lambda number: _distance(rgb, _SIXTEEN[number]))
    # The six hues are 60 degrees apart, each the sum of the primary colors in its bits.
    r, g, b = ((value - low) / (high - low) for value in rgb)
    hue = (r > 0.5) + 2 * (g > 0.5) + 4 * (b > 0.5)
    return hue + 8 if high >= _BRIGHT else hue


def _rgb_of_256(number: int) -> _Rgb:
    if number < 16:
        return _SIXTEEN[number]
    if number >= 232:
        gray = 8 + 10 * (number - 232)
        return gray, gray, gray
    number -= 16
    return _CUBE[number // 36], _CUBE[number // 6 % 6], _CUBE[number % 6]


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
            spec = self._tokens.get(token, StyleSpec())
            style = self._styles[token] = compile_style(spec, self.depth)
        return style


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
