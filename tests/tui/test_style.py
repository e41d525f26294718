"""Styles and themes at every color depth."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.tui import style as module
from tau.tui.style import ASCII, UNICODE, Style, StyleSpec, Theme, compile_style
from tau.tui.terminal.port import ColorDepth
from tau.tui.text.width import visible_width
from tests.support.palettes import DARK_TOKENS, LIGHT_TOKENS, PLAIN
from tests.tui.text.strategies import cells, is_closed

DEPTHS: list[ColorDepth] = ["truecolor", "256", "16", "none"]


@pytest.mark.parametrize(
    ("color", "depth", "opening"),
    [
        ("#ff8000", "truecolor", "\x1b[38;2;255;128;0m"),
        ("#f80", "truecolor", "\x1b[38;2;255;136;0m"),
        ("208", "truecolor", "\x1b[38;5;208m"),
        ("3", "truecolor", "\x1b[33m"),
        ("red", "truecolor", "\x1b[31m"),
        ("brightBlue", "truecolor", "\x1b[94m"),
        ("#ff8700", "256", "\x1b[38;5;208m"),
        ("#ff8000", "256", "\x1b[38;5;208m"),
        ("#808080", "256", "\x1b[38;5;244m"),
        ("#000000", "256", "\x1b[38;5;16m"),
        ("#ffffff", "256", "\x1b[38;5;231m"),
        ("208", "256", "\x1b[38;5;208m"),
        ("#ff0000", "16", "\x1b[91m"),
        ("#c00000", "16", "\x1b[31m"),
        ("#f0717a", "16", "\x1b[91m"),
        ("#8fce7f", "16", "\x1b[32m"),
        ("#101010", "16", "\x1b[30m"),
        ("#808080", "16", "\x1b[90m"),
        ("#ffffff", "16", "\x1b[97m"),
        ("12", "16", "\x1b[94m"),
        ("brightBlack", "16", "\x1b[90m"),
        ("#ff0000", "none", ""),
        ("red", "none", ""),
        ("", "truecolor", ""),
        ("#12345", "truecolor", ""),
        ("#zzzzzz", "truecolor", ""),
        ("#-1-1-1", "truecolor", ""),
        ("256", "truecolor", ""),
        ("-1", "256", ""),
        ("nocolor", "16", ""),
        ("\x1b[31m", "truecolor", ""),
    ],
)
def test_color_at_a_depth(color: str, depth: ColorDepth, opening: str) -> None:
    assert compile_style(StyleSpec(fg=color), depth).open == opening


def test_backgrounds_have_their_own_numbers() -> None:
    assert compile_style(StyleSpec(bg="#010203"), "truecolor") == ("\x1b[48;2;1;2;3m", "\x1b[49m")
    assert compile_style(StyleSpec(bg="red"), "16") == ("\x1b[41m", "\x1b[49m")
    assert compile_style(StyleSpec(bg="brightRed"), "16") == ("\x1b[101m", "\x1b[49m")


def test_each_attribute_closes_only_itself() -> None:
    assert compile_style(StyleSpec(bold=True, italic=True), "none") == ("\x1b[1;3m", "\x1b[22;23m")
    assert compile_style(StyleSpec(bold=True, dim=True), "none") == ("\x1b[1;2m", "\x1b[22m")
    assert compile_style(StyleSpec(underline=True, strike=True, inverse=True), "16") == (
        "\x1b[4;7;9m",
        "\x1b[24;27;29m",
    )
    assert compile_style(StyleSpec(fg="red", bold=True), "none") == ("\x1b[1m", "\x1b[22m")
    assert compile_style(StyleSpec(), "truecolor") == Style()


def test_empty_style_or_text_is_unchanged() -> None:
    assert Style()("x") == "x"
    assert compile_style(StyleSpec(bold=True), "16")("") == ""


def test_styles_nest() -> None:
    red, green = (compile_style(StyleSpec(fg=name), "16") for name in ("red", "green"))
    bold, dim = compile_style(StyleSpec(bold=True), "16"), compile_style(StyleSpec(dim=True), "16")
    looks = [look for _, look, _ in cells(red(f"a{green('b')}c"))]
    assert looks == [{("fg", "31")}, {("fg", "32")}, {("fg", "31")}]
    looks = [look for _, look, _ in cells(bold(f"a{dim('b')}c"))]
    assert looks[0] == looks[2] == {("bold", "1")}
    assert [look for _, look, _ in cells(bold(f"a{red('b')}c"))][2] == {("bold", "1")}


specs = st.builds(
    StyleSpec,
    st.sampled_from(["", "red", "#123456", "99", "?"]),
    st.sampled_from(["", "#abc"]),
    *[st.booleans()] * 6,
)


@given(st.lists(specs, max_size=4), st.sampled_from(DEPTHS))
def test_nested_styles_are_closed_and_take_no_cell(nested: list[StyleSpec], depth: ColorDepth) -> None:
    text = "x"
    for spec in nested:
        text = compile_style(spec, depth)(f"a{text}b")
    assert is_closed(text)
    assert visible_width(text) == 1 + 2 * len(nested)
    ends = [look for _, look, _ in cells(text)]
    assert ends[0] == ends[-1]


def test_theme_compiles_a_token_once_per_palette() -> None:
    theme = Theme(DARK_TOKENS, depth="16")
    style = theme["error"]
    assert theme["error"] is style
    theme.use(LIGHT_TOKENS, "truecolor")
    assert theme["error"] != style
    theme.use(PLAIN)
    assert theme["error"] == theme["no such token"] == Style()


def test_every_token_of_the_table_is_in_both_palettes() -> None:
    table = module.__doc__ or ""
    listed = {word for row in re.findall(r"^\|.*\|(.*)\|$", table, re.M)[2:] for word in row.split()}
    assert listed == set(DARK_TOKENS) == set(LIGHT_TOKENS)


@pytest.mark.parametrize("tokens", [DARK_TOKENS, LIGHT_TOKENS])
def test_every_palette_color_can_be_shown(tokens: dict[str, StyleSpec]) -> None:
    for token, spec in tokens.items():
        for depth in DEPTHS[:3]:
            codes = compile_style(spec, depth).close
            assert ("39" in codes) == bool(spec.fg), token
            assert ("49" in codes) == bool(spec.bg), token
    assert [bool(spec.fg) for spec in DARK_TOKENS.values()] == [
        bool(spec.fg) for spec in LIGHT_TOKENS.values()
    ]


def _luminance(color: str) -> float:
    parts = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    r, g, b = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("tokens", "background"), [(DARK_TOKENS, "#1b1e26"), (LIGHT_TOKENS, "#ffffff")])
def test_palette_text_is_readable(tokens: dict[str, StyleSpec], background: str) -> None:
    lines = {"border", "rule", "tableBorder", "codeBorder", "quoteBorder"}
    faint = {"dim", "placeholder", "diffLineNumber", "syntaxComment"}
    for token, spec in tokens.items():
        if spec.fg and token not in lines:
            least = 3.0 if token in faint else 4.5
            assert _contrast(spec.fg, spec.bg or background) >= least, token


def test_ascii_symbols_are_ascii_and_complete() -> None:
    for name, sign in ASCII._asdict().items():
        assert "".join(sign).isascii(), name
        assert bool(sign), name
    assert len(ASCII.box) == len(UNICODE.box) == 6
    assert len(ASCII.table) == len(UNICODE.table) == 11


def test_single_cell_symbols_take_one_cell() -> None:
    for symbols in (UNICODE, ASCII):
        for sign in (
            *symbols.box,
            *symbols.table,
            *symbols.spinner,
            symbols.rule,
            symbols.quote,
            symbols.bullet,
        ):
            assert visible_width(sign) == 1


def test_widgets_use_only_tokens_of_the_table() -> None:
    used: set[str] = set()
    for path in Path(module.__file__).parent.rglob("*.py"):
        used |= set(re.findall(r'theme\["(\w+)"\]', path.read_text()))
    assert used - set(DARK_TOKENS) == set()
