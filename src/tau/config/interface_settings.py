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
    dark: Annotated[str, Meta(description="Theme for dark terminals")] = "dusk"
    light: Annotated[str, Meta(description="Theme for light terminals")] = "paper"
    background: Annotated[
        Literal["auto", "dark", "light"], Meta(description="Which theme to use; auto asks the terminal")
    ] = "auto"
    symbols: Annotated[
        Literal["auto", "unicode", "nerd", "ascii"],
        Meta(description="Symbols; auto is ascii on Linux consoles and without UTF-8; nerd needs its font"),
    ] = "auto"
    color_blind: Annotated[
        bool, Meta(description="Show diffs in blue and orange instead of green and red")
    ] = False


class StatusLineSettings(Struct, frozen=True, rename="camel"):
    preset: Annotated[
        Literal["default", "minimal", "compact", "full", "custom"],
        Meta(description="Contents of the status line; custom uses the two lists below"),
    ] = "default"
    separator: Annotated[
        Literal["dot", "pipe", "slash", "powerline", "none"], Meta(description="Separator between segments")
    ] = "dot"
    left_segments: Annotated[list[Segment], Meta(description="Segments on the left, with preset custom")] = []
    right_segments: Annotated[
        list[Segment], Meta(description="Segments on the right, with preset custom")
    ] = []


class DisplaySettings(Struct, frozen=True, rename="camel"):
    hide_thinking: Annotated[bool, Meta(description="Hide thinking")] = False
    show_images: Annotated[bool, Meta(description="Show images if the terminal supports them")] = True
    max_inline_images: Annotated[
        int, Meta(description="Maximum number of images on screen", ge=0, le=100)
    ] = 8
    hyperlinks: Annotated[Literal["auto", "always", "off"], Meta(description="Make links clickable")] = "auto"
    tab_width: Annotated[int, Meta(description="Tab width in columns", ge=1, le=16)] = 4
    hardware_cursor: Annotated[
        bool, Meta(description="Show the terminal's cursor, which input methods need")
    ] = True
    reduced_motion: Annotated[bool, Meta(description="Disable animation")] = False
    screen_reader: Annotated[
        bool, Meta(description="Plain lines in order: no boxes, redrawing or animation")
    ] = False
    show_token_usage: Annotated[bool, Meta(description="Show token usage below each answer")] = False


class InteractionSettings(Struct, frozen=True, rename="camel"):
    double_escape: Annotated[
        Literal["rewind", "tree", "branch", "none"],
        Meta(description="What double Escape in an empty editor opens"),
    ] = "rewind"
    tree_filter: Annotated[
        Literal["default", "no-tools", "user-only", "labeled-only", "all"],
        Meta(description="Initial filter of /tree"),
    ] = "default"
    autocomplete_rows: Annotated[int, Meta(description="Rows in the completion list", ge=3, le=30)] = 7
    notify: Annotated[
        Literal["unfocused", "always", "off"],
        Meta(description="When to notify you of a finished answer or a question"),
    ] = "unfocused"
    ask_timeout_seconds: Annotated[
        int, Meta(description="How long the agent's questions stay open; 0: forever", ge=0, le=86_400)
    ] = 0
    vim_keys: Annotated[bool, Meta(description="Vim keys in the editor")] = False
    quiet_start: Annotated[bool, Meta(description="Hide the welcome screen")] = False
