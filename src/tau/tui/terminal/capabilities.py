"""Detects a terminal's capabilities from the environment and platform; probes correct them later."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from msgspec import Struct, json

from tau.tui.terminal.port import Background, Capabilities, ColorDepth, ImageProtocol

Env = Mapping[str, str]
Multiplexer = Literal["tmux", "screen", "zellij", ""]
NotifyProtocol = Literal["osc99", "osc9", "bell", "off"]
TerminalId = Literal[
    "kitty",
    "ghostty",
    "wezterm",
    "iterm2",
    "apple",
    "vscode",
    "windows",
    "alacritty",
    "foot",
    "konsole",
    "vte",
    "xterm",
    "linux",
    "dumb",
    "unknown",
]


class _TerminalTable(Struct, frozen=True, rename="camel"):
    """How terminals are recognized, by TERM, TERM_PROGRAM and own variables, and what each can do."""

    by_term: dict[str, TerminalId]
    by_program: dict[str, TerminalId]
    by_variable: dict[str, TerminalId]
    synchronized: frozenset[TerminalId]
    truecolor: frozenset[TerminalId]
    hyperlinks: frozenset[TerminalId]
    images: dict[TerminalId, ImageProtocol]
    notifications: dict[TerminalId, NotifyProtocol]


_TABLE = json.decode(Path(__file__).with_name("terminals.json").read_bytes(), type=_TerminalTable)
_FORCED_IMAGES: dict[str, ImageProtocol] = {
    "kitty": "kitty",
    "iterm2": "iterm2",
    "sixel": "sixel",
    "off": "none",
    "none": "none",
}
_DEPTHS: dict[str, ColorDepth] = {"0": "none", "false": "none", "1": "16", "2": "256", "3": "truecolor"}
_OFF = frozenset({"0", "false", "off", "no"})


class Switches(NamedTuple):
    """User switches for the terminal, beyond its capabilities."""

    hardware_cursor: bool = False
    """Show the terminal's own cursor instead of a drawn one."""
    notifications: bool = True
    escape_ms: int | None = None
    """How long a lone Escape waits for the rest of a sequence."""
    synchronized_output: bool | None = None
    """User override; takes precedence over a probe's answer."""
    images_forced: bool = False


def detect(env: Env, platform: str) -> Capabilities:
    """Detect capabilities before probing the terminal."""
    terminal = identify_terminal(env, platform)
    mux = detect_multiplexer(env)
    images = _images(env, terminal, mux)
    return Capabilities(
        synchronized_output=_synchronized_output(env, terminal, mux),
        multiplexer=bool(mux),
        color_depth=detect_color_depth(env, platform),
        hyperlinks=_hyperlinks(env, terminal, mux),
        images=images,
        kitty_placeholders=_placeholders(env, terminal, images),
        reflows=_reflows(env, terminal, mux),
        cursor_follows_text=terminal != "vscode",
        erases_marked_rows=terminal in ("kitty", "ghostty") and not mux,
    )


def read_switches(env: Env) -> Switches:
    """Read the user's switches from the environment."""
    escape = env.get("TAU_ESC_TIMEOUT_MS", "")
    return Switches(
        hardware_cursor=_on(env, "TAU_HARDWARE_CURSOR"),
        notifications=env.get("TAU_NOTIFICATIONS", "").lower() not in _OFF,
        escape_ms=min(int(escape), 5000) if escape.isascii() and escape.isdigit() else None,
        synchronized_output=_forced_sync(env),
        images_forced=env.get("TAU_FORCE_IMAGE_PROTOCOL", "").lower() in _FORCED_IMAGES,
    )


def identify_terminal(env: Env, platform: str) -> TerminalId:
    """Identify the terminal; "unknown" inside a multiplexer, which hides it.

    TERM is always set by the terminal itself. Other variables may be inherited: a terminal started from
    another one has those of both. TERM_PROGRAM is the next best.
    """
    term = env.get("TERM", "").lower()
    if term in _TABLE.by_term:
        return _TABLE.by_term[term]
    if detect_multiplexer(env):
        return "unknown"
    program = _TABLE.by_program.get(env.get("TERM_PROGRAM", "").lower())
    if program:
        return program
    if env.get("LC_TERMINAL") == "iTerm2":  # this one travels over ssh
        return "iterm2"
    for variable, terminal in _TABLE.by_variable.items():
        if env.get(variable):
            return terminal
    if term.startswith(("xterm", "rxvt")):
        return "xterm"
    return "windows" if platform == "win32" and not term else "unknown"


def detect_multiplexer(env: Env) -> Multiplexer:
    """Identify the multiplexer between us and the terminal, if any."""
    term = env.get("TERM", "")
    if env.get("TMUX") or term.startswith("tmux"):
        return "tmux"
    if env.get("ZELLIJ") is not None:  # its value is the session number, which may be 0
        return "zellij"
    return "screen" if env.get("STY") or term.startswith("screen") else ""


def is_over_ssh(env: Env) -> bool:
    """Whether input comes over a network."""
    return any(env.get(name) for name in ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"))


def choose_notify_protocol(env: Env, platform: str) -> NotifyProtocol:
    """Choose how to notify until the terminal reports OSC 99 support."""
    if not read_switches(env).notifications:
        return "off"
    return _TABLE.notifications.get(identify_terminal(env, platform), "bell")


def guess_background(env: Env) -> Background | None:
    """Read COLORFGBG, which some terminals set: its last number is the background among the 16 colors."""
    last = env.get("COLORFGBG", "").rpartition(";")[2]
    if not (last.isascii() and last.isdigit()):
        return None
    return "light" if int(last) in (7, *range(9, 16)) else "dark"


def detect_color_depth(env: Env, platform: str) -> ColorDepth:
    """NO_COLOR wins over FORCE_COLOR, which wins over the detected depth."""
    if env.get("NO_COLOR"):
        return "none"
    detected = _color_depth(env, platform)
    forced = env.get("FORCE_COLOR")
    if forced is None:
        return detected
    return _DEPTHS.get(forced.lower()) or ("16" if detected == "none" else detected)


def _color_depth(env: Env, platform: str) -> ColorDepth:
    term = env.get("TERM", "").lower()
    if term == "dumb":
        return "none"
    if term == "linux":
        return "16"
    mux = detect_multiplexer(env)
    if mux == "screen":  # its limit, whatever the outer terminal's variables say
        return "256" if "256" in term or not term.startswith("screen") else "16"
    if env.get("COLORTERM", "").lower() in ("truecolor", "24bit") or term.endswith("-direct"):
        return "truecolor"
    if identify_terminal(env, platform) in _TABLE.truecolor:
        return "truecolor"
    if "256" in term or mux or env.get("TERM_PROGRAM") == "Apple_Terminal":
        return "256"
    return "16"


def _on(env: Env, name: str) -> bool:
    value = env.get(name, "").lower()
    return bool(value) and value not in _OFF


def _forced_sync(env: Env) -> bool | None:
    setting = env.get("TAU_TUI_SYNC_OUTPUT", "").lower()
    if _on(env, "TAU_NO_SYNC_OUTPUT") or setting in _OFF:
        return False
    return True if _on(env, "TAU_FORCE_SYNC_OUTPUT") or setting else None


def _synchronized_output(env: Env, terminal: TerminalId, mux: Multiplexer) -> bool:
    forced = _forced_sync(env)
    if forced is not None:
        return forced
    if _has_feature(env.get("TERM_FEATURES", ""), "Sy") or env.get("WT_SESSION"):
        return True
    return terminal in _TABLE.synchronized and not mux


def _has_feature(features: str, name: str) -> bool:
    """Features are concatenated, each starting with a capital letter: T3LrSyH."""
    at = features.find(name)
    return at >= 0 and not features[at + len(name) : at + len(name) + 1].islower()


def _hyperlinks(env: Env, terminal: TerminalId, mux: Multiplexer) -> bool:
    forced = env.get("FORCE_HYPERLINK")
    if forced:
        return forced.lower() not in _OFF
    if terminal == "vte":
        return _version(env.get("VTE_VERSION", "")) >= (5000,)
    if mux == "tmux":
        return env.get("TERM_PROGRAM") == "tmux" and _version(env.get("TERM_PROGRAM_VERSION", "")) >= (3, 4)
    return terminal in _TABLE.hyperlinks and not mux


def _reflows(env: Env, terminal: TerminalId, mux: Multiplexer) -> bool:
    """False only if certain; xterm answers a probe later."""
    if mux:
        return mux != "screen"
    term = env.get("TERM", "").lower()
    return terminal not in ("linux", "dumb") and not (term.startswith("st-") or env.get("XTERM_VERSION"))


def _version(text: str) -> tuple[int, ...]:
    """Parse the leading numbers of a version; "3.4a" is (3, 4)."""
    numbers: list[int] = []
    for part in text.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)


def _images(env: Env, terminal: TerminalId, mux: Multiplexer) -> ImageProtocol:
    forced = _FORCED_IMAGES.get(env.get("TAU_FORCE_IMAGE_PROTOCOL", "").lower())
    if forced:
        return forced
    if mux:
        return "none"
    if terminal == "konsole":
        return "kitty" if _version(env.get("KONSOLE_VERSION", "")) >= (220400,) else "none"
    return _TABLE.images.get(terminal, "none")


def _placeholders(env: Env, terminal: TerminalId, images: ImageProtocol) -> bool:
    if images != "kitty" or _on(env, "TAU_NO_KITTY_PLACEHOLDERS"):
        return False
    return _on(env, "TAU_KITTY_PLACEHOLDERS") or terminal in ("kitty", "ghostty")
