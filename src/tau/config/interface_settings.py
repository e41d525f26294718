"""Settings of the interactive screen."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Segment = Literal[
    "model",
    "thinking",
    "mode",
    "path",
    "git",
    "contextPercent",
    "planLimit",
    "contextTokens",
    "tokensIn",
    "tokensOut",
    "cacheRead",
    "cacheWrite",
    "cacheHit",
    "mcp",
    "cost",
    "time",
    "elapsed",
    "session",
    "jobs",
    "agents",
    "queue",
    "host",
]


class ThemesSettings(Struct, frozen=True, rename="camel"):
    dark: str = "dusk"
    light: str = "paper"
    background: Literal["auto", "dark", "light"] = "auto"
    symbols: Literal["auto", "unicode", "nerd", "ascii"] = "auto"
    color_blind: bool = False


class StatusLineSettings(Struct, frozen=True, rename="camel"):
    preset: Literal["default", "minimal", "compact", "full", "custom"] = "default"
    separator: Literal["dot", "pipe", "slash", "powerline", "none"] = "dot"
    left_segments: list[Segment] = []
    right_segments: list[Segment] = []


class DisplaySettings(Struct, frozen=True, rename="camel"):
    hide_thinking: bool = False
    show_images: bool = True
    max_inline_images: Annotated[int, Meta(ge=0, le=100)] = 8
    hyperlinks: Literal["auto", "always", "off"] = "auto"
    tab_width: Annotated[int, Meta(ge=1, le=16)] = 4
    hardware_cursor: bool = True
    reduced_motion: bool = False
    screen_reader: bool = False
    show_token_usage: bool = False


class InteractionSettings(Struct, frozen=True, rename="camel"):
    double_escape: Literal["rewind", "tree", "branch", "none"] = "rewind"
    tree_filter: Literal["default", "no-tools", "user-only", "labeled-only", "all"] = "default"
    autocomplete_rows: Annotated[int, Meta(ge=3, le=30)] = 7
    notify: Literal["unfocused", "always", "off"] = "unfocused"
    ask_timeout_seconds: Annotated[int, Meta(ge=0, le=86_400)] = 0
    vim_keys: bool = False
    quiet_start: bool = False
