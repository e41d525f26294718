"""Terminal capabilities from environment variables, and what the user's own variables change."""

import pytest

from tau.tui.terminal.capabilities import (
    choose_notify_protocol,
    detect,
    detect_multiplexer,
    guess_background,
    identify_terminal,
    is_over_ssh,
    read_switches,
)
from tau.tui.terminal.port import Capabilities

X256 = "xterm-256color"
KITTY = {"TERM": "xterm-kitty", "KITTY_WINDOW_ID": "1", "COLORTERM": "truecolor"}
GHOSTTY = {"TERM": "xterm-ghostty", "TERM_PROGRAM": "ghostty", "COLORTERM": "truecolor"}
WEZTERM = {"TERM": X256, "TERM_PROGRAM": "WezTerm", "WEZTERM_PANE": "0", "COLORTERM": "truecolor"}
ITERM = {
    "TERM": X256,
    "TERM_PROGRAM": "iTerm.app",
    "COLORTERM": "truecolor",
    "TERM_FEATURES": "T3LrMSc7UUw9Ts3SyH",
}
APPLE = {"TERM": X256, "TERM_PROGRAM": "Apple_Terminal"}
VSCODE = {"TERM": X256, "TERM_PROGRAM": "vscode", "COLORTERM": "truecolor"}
WINDOWS = {"TERM": X256, "WT_SESSION": "guid"}
ALACRITTY = {"TERM": "alacritty", "COLORTERM": "truecolor"}
FOOT = {"TERM": "foot", "COLORTERM": "truecolor"}
KONSOLE = {"TERM": X256, "KONSOLE_VERSION": "230804", "COLORTERM": "truecolor"}
VTE = {"TERM": X256, "VTE_VERSION": "7403", "COLORTERM": "truecolor"}
XTERM = {"TERM": X256}
LINUX = {"TERM": "linux"}
TMUX = {"TERM": "tmux-256color", "TMUX": "/tmp/tmux", "TERM_PROGRAM": "tmux", "TERM_PROGRAM_VERSION": "3.4"}
SCREEN = {"TERM": "screen.xterm-256color", "STY": "1.pts", "COLORTERM": "truecolor"}
ZELLIJ = {**ALACRITTY, "ZELLIJ": "0"}

TABLE: list[tuple[str, dict[str, str], Capabilities]] = [
    ("kitty", KITTY, Capabilities(True, False, "truecolor", True, "kitty", True)),
    ("ghostty", GHOSTTY, Capabilities(True, False, "truecolor", True, "kitty", True)),
    ("wezterm", WEZTERM, Capabilities(True, False, "truecolor", True, "kitty")),
    ("iterm2", ITERM, Capabilities(True, False, "truecolor", True, "iterm2")),
    ("apple", APPLE, Capabilities(False, False, "256", False)),
    ("vscode", VSCODE, Capabilities(False, False, "truecolor", True)),
    ("windows", WINDOWS, Capabilities(True, False, "truecolor", True)),
    ("alacritty", ALACRITTY, Capabilities(True, False, "truecolor", True)),
    ("foot", FOOT, Capabilities(True, False, "truecolor", True, "sixel")),
    ("konsole", KONSOLE, Capabilities(False, False, "truecolor", True, "kitty")),
    ("vte", VTE, Capabilities(False, False, "truecolor", True)),
    ("xterm", XTERM, Capabilities(False, False, "256", False)),
    ("linux", LINUX, Capabilities(False, False, "16", False)),
    ("dumb", {"TERM": "dumb"}, Capabilities(False, False, "none", False)),
    ("unknown", {}, Capabilities(False, False, "16", False)),
    ("unknown", TMUX, Capabilities(False, True, "256", True)),
    ("unknown", SCREEN, Capabilities(False, True, "256", False)),
    ("alacritty", ZELLIJ, Capabilities(False, True, "truecolor", False)),
]


@pytest.mark.parametrize(("name", "env", "expected"), TABLE)
def test_terminal_is_identified_by_its_variables(
    name: str, env: dict[str, str], expected: Capabilities
) -> None:
    assert identify_terminal(env, "linux") == name
    found = detect(env, "linux")
    assert found._replace(reflows=True, cursor_follows_text=True, erases_marked_rows=False) == expected
    assert found.erases_marked_rows == (name in ("kitty", "ghostty"))


@pytest.mark.parametrize(
    ("env", "name"),
    [
        ({**VSCODE, "KITTY_WINDOW_ID": "1"}, "vscode"),  # started from kitty
        ({**KITTY, "TERM_PROGRAM": "vscode"}, "kitty"),  # started from VS Code
        ({"TERM": X256, "LC_TERMINAL": "iTerm2", "SSH_TTY": "/dev/pts/1"}, "iterm2"),
        ({"TERM": X256, "KITTY_WINDOW_ID": "1"}, "kitty"),
        ({**TMUX, "KITTY_WINDOW_ID": "1"}, "unknown"),
        ({"TERM": "rxvt-unicode-256color"}, "xterm"),
    ],
)
def test_inherited_variables_do_not_hide_the_actual_terminal(env: dict[str, str], name: str) -> None:
    assert identify_terminal(env, "linux") == name


def test_terminal_reflows_unless_it_is_known_not_to() -> None:
    reflowing = (KITTY, GHOSTTY, WEZTERM, ITERM, APPLE, VSCODE, WINDOWS, ALACRITTY, FOOT, VTE, TMUX, ZELLIJ)
    assert all(detect(env, "linux").reflows for env in (*reflowing, KONSOLE, XTERM, {}))
    started_from_another = ({**VTE, "XTERM_VERSION": "XTerm(390)"}, {**VTE, "TERM": "st-256color"})
    assert not any(detect(env, "linux").reflows for env in (LINUX, SCREEN, *started_from_another))


def test_cursor_moves_in_its_own_way_in_vs_code() -> None:
    assert not detect(VSCODE, "linux").cursor_follows_text
    assert detect(KITTY, "linux").cursor_follows_text


def test_windows_console_has_no_term() -> None:
    assert identify_terminal({}, "win32") == "windows"
    assert identify_terminal({}, "darwin") == "unknown"


@pytest.mark.parametrize(
    ("env", "name"),
    [
        ({"TMUX": "x"}, "tmux"),
        ({"TERM": "tmux-256color"}, "tmux"),
        ({"TERM": "screen-256color", "TMUX": "x"}, "tmux"),
        ({"STY": "x"}, "screen"),
        ({"TERM": "screen"}, "screen"),
        ({"ZELLIJ": "0"}, "zellij"),
        (XTERM, ""),
    ],
)
def test_multiplexers_are_recognized(env: dict[str, str], name: str) -> None:
    assert detect_multiplexer(env) == name


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({**KITTY, "TAU_NO_SYNC_OUTPUT": "1"}, False),
        ({**KITTY, "TAU_TUI_SYNC_OUTPUT": "0"}, False),
        ({**KITTY, "TAU_NO_SYNC_OUTPUT": "1", "TAU_FORCE_SYNC_OUTPUT": "1"}, False),
        ({**XTERM, "TAU_FORCE_SYNC_OUTPUT": "1"}, True),
        ({**XTERM, "TAU_TUI_SYNC_OUTPUT": "1"}, True),
        ({**TMUX, "TAU_FORCE_SYNC_OUTPUT": "1"}, True),
        ({**XTERM, "TERM_FEATURES": "T3Sy"}, True),
        ({**XTERM, "TERM_FEATURES": "T3Syx"}, False),
        ({**TMUX, "WT_SESSION": "x"}, True),
        ({**KITTY, "TMUX": "x"}, False),
        (KITTY, True),
        (XTERM, False),
        ({**KITTY, "TAU_NO_SYNC_OUTPUT": "0"}, True),
    ],
)
def test_synchronized_output_follows_user_then_features_then_terminal(
    env: dict[str, str], expected: bool
) -> None:
    assert detect(env, "linux").synchronized_output is expected


@pytest.mark.parametrize(
    ("env", "depth"),
    [
        ({**KITTY, "NO_COLOR": "1"}, "none"),
        ({**KITTY, "NO_COLOR": ""}, "truecolor"),
        ({**KITTY, "NO_COLOR": "1", "FORCE_COLOR": "3"}, "none"),
        ({**KITTY, "FORCE_COLOR": "0"}, "none"),
        ({**KITTY, "FORCE_COLOR": "1"}, "16"),
        ({**LINUX, "FORCE_COLOR": "2"}, "256"),
        ({**LINUX, "FORCE_COLOR": "3"}, "truecolor"),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, "16"),
        ({"TERM": "dumb", "FORCE_COLOR": "true"}, "16"),
        ({**XTERM, "FORCE_COLOR": ""}, "256"),
        ({"TERM": "dumb", "COLORTERM": "truecolor"}, "none"),
        ({"TERM": "xterm", "COLORTERM": "24bit"}, "truecolor"),
        ({"TERM": "xterm-direct"}, "truecolor"),
        ({"TERM": "xterm"}, "16"),
        ({**APPLE, "COLORTERM": "truecolor"}, "truecolor"),
        ({**TMUX, "COLORTERM": "truecolor"}, "truecolor"),
        ({"TERM": "screen", "COLORTERM": "truecolor"}, "16"),
    ],
)
def test_colors_follow_the_user_then_the_terminal(env: dict[str, str], depth: str) -> None:
    assert detect(env, "linux").color_depth == depth


@pytest.mark.parametrize(
    ("env", "images", "placeholders"),
    [
        ({**XTERM, "TAU_FORCE_IMAGE_PROTOCOL": "kitty"}, "kitty", False),
        ({**XTERM, "TAU_FORCE_IMAGE_PROTOCOL": "kitty", "TAU_KITTY_PLACEHOLDERS": "1"}, "kitty", True),
        ({**XTERM, "TAU_FORCE_IMAGE_PROTOCOL": "Sixel"}, "sixel", False),
        ({**TMUX, "TAU_FORCE_IMAGE_PROTOCOL": "iterm2"}, "iterm2", False),
        ({**KITTY, "TAU_FORCE_IMAGE_PROTOCOL": "off"}, "none", False),
        ({**KITTY, "TAU_FORCE_IMAGE_PROTOCOL": "nonsense"}, "kitty", True),
        ({**KITTY, "TAU_NO_KITTY_PLACEHOLDERS": "1", "TAU_KITTY_PLACEHOLDERS": "1"}, "kitty", False),
        ({**KITTY, "TMUX": "x"}, "none", False),
        ({**KONSOLE, "KONSOLE_VERSION": "210800"}, "none", False),
        ({**XTERM, "TAU_KITTY_PLACEHOLDERS": "1"}, "none", False),
    ],
)
def test_images_follow_the_user_then_the_terminal(
    env: dict[str, str], images: str, placeholders: bool
) -> None:
    found = detect(env, "linux")
    assert (found.images, found.kitty_placeholders) == (images, placeholders)


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({**VTE, "VTE_VERSION": "4602"}, False),
        ({**TMUX, "TERM_PROGRAM_VERSION": "3.3a"}, False),
        ({**TMUX, "TERM_PROGRAM_VERSION": "3.5a"}, True),
        ({**TMUX, "TERM_PROGRAM_VERSION": "next"}, False),
        ({**XTERM, "FORCE_HYPERLINK": "1"}, True),
        ({**KITTY, "FORCE_HYPERLINK": "0"}, False),
    ],
)
def test_links_follow_versions_and_the_user(env: dict[str, str], expected: bool) -> None:
    assert detect(env, "linux").hyperlinks is expected


def test_user_switches() -> None:
    assert read_switches({}) == (False, True, None, None, False)
    assert read_switches({"TAU_HARDWARE_CURSOR": "1"}).hardware_cursor
    assert read_switches({"TAU_ESC_TIMEOUT_MS": "120"}).escape_ms == 120
    assert read_switches({"TAU_ESC_TIMEOUT_MS": "soon"}).escape_ms is None
    for off in ("off", "0", "false", "OFF"):
        assert not read_switches({"TAU_NOTIFICATIONS": off}).notifications


def test_notification_methods() -> None:
    assert choose_notify_protocol(KITTY, "linux") == "osc99"
    assert choose_notify_protocol(ITERM, "darwin") == "osc9"
    assert choose_notify_protocol(TMUX, "linux") == "bell"
    assert choose_notify_protocol({**KITTY, "TAU_NOTIFICATIONS": "off"}, "linux") == "off"


def test_ssh_is_recognized() -> None:
    assert is_over_ssh({"SSH_CONNECTION": "a b c d"})
    assert not is_over_ssh({})


@pytest.mark.parametrize(
    ("value", "background"),
    [("15;0", "dark"), ("0;15", "light"), ("0;default;15", "light"), ("0;7", "light"), ("x", None)],
)
def test_background_may_come_from_the_environment(value: str, background: str | None) -> None:
    assert guess_background({"COLORFGBG": value}) == background
