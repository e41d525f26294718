"""The settings of the interactive screen: how it looks and what its keys do."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Segment = Literal[
    "model",
    "thinking",
    "mode",
    "path",
    "git",
    "contextPercent",
    "contextTokens",
    "tokensIn",
    "tokensOut",
    "cacheRead",
    "cacheWrite",
    "cacheHit",
    "cost",
    "time",
    "elapsed",
    "session",
    "jobs",
    "queue",
    "host",
]


class ThemesSettings(Struct, frozen=True, rename="camel"):
    dark: Annotated[str, Meta(description="Theme on a dark terminal")] = "dusk"
    light: Annotated[str, Meta(description="Theme on a light terminal")] = "paper"
    background: Annotated[
        Literal["auto", "dark", "light"],
        Meta(description="Which of the two is used; auto asks the terminal"),
    ] = "auto"
    symbols: Annotated[
        Literal["auto", "unicode", "nerd", "ascii"],
        Meta(description="Signs of the screen: auto is ascii on Linux consoles; nerd needs a patched font"),
    ] = "auto"
    color_blind: Annotated[
        bool, Meta(description="Show changes in blue and orange, not in green and red")
    ] = False


class StatusLineSettings(Struct, frozen=True, rename="camel"):
    preset: Annotated[
        Literal["default", "minimal", "compact", "full", "custom"],
        Meta(description="What the line above the editor tells; custom takes the two lists below"),
    ] = "default"
    separator: Annotated[
        Literal["dot", "pipe", "slash", "powerline", "none"],
        Meta(description="What stands between two parts"),
    ] = "dot"
    left_segments: Annotated[
        list[Segment], Meta(description="Parts on the left, with the preset custom")
    ] = []
    right_segments: Annotated[
        list[Segment], Meta(description="Parts on the right, with the preset custom")
    ] = []


class DisplaySettings(Struct, frozen=True, rename="camel"):
    hide_thinking: Annotated[bool, Meta(description="Do not show what a model thinks")] = False
    show_images: Annotated[bool, Meta(description="Show pictures where the terminal can")] = True
    max_inline_images: Annotated[
        int, Meta(description="Pictures that are shown at the same time", ge=0, le=100)
    ] = 8
    hyperlinks: Annotated[
        Literal["auto", "always", "off"], Meta(description="Whether links can be clicked")
    ] = "auto"
    tab_width: Annotated[int, Meta(description="Columns of a tab", ge=1, le=16)] = 4
    hardware_cursor: Annotated[
        bool, Meta(description="Show the terminal's own cursor, where input methods look for it")
    ] = True
    reduced_motion: Annotated[bool, Meta(description="Nothing moves by itself on the screen")] = False
    screen_reader: Annotated[
        bool, Meta(description="Plain lines in order: no boxes, no redrawing, no animation")
    ] = False
    show_token_usage: Annotated[bool, Meta(description="Tell the tokens of each answer below it")] = False


class InteractionSettings(Struct, frozen=True, rename="camel"):
    double_escape: Annotated[
        Literal["tree", "branch", "none"], Meta(description="What Escape twice on an empty editor opens")
    ] = "tree"
    tree_filter: Annotated[
        Literal["default", "no-tools", "user-only", "labeled-only", "all"],
        Meta(description="What /tree shows when it opens"),
    ] = "default"
    autocomplete_rows: Annotated[int, Meta(description="Rows of the list of completions", ge=3, le=30)] = 7
    notify: Annotated[
        Literal["unfocused", "always", "off"],
        Meta(description="When the terminal tells that an answer is there or a question waits"),
    ] = "unfocused"
    ask_timeout_seconds: Annotated[
        int, Meta(description="How long a question of the agent waits; 0: for ever", ge=0, le=86_400)
    ] = 0
    quiet_start: Annotated[bool, Meta(description="Show no welcome")] = False
