"""Settings that a selector changes: written to the user's file, read again, and seen at once."""

from typing import TYPE_CHECKING, Any

from msgspec import convert, json, to_builtins

from tau.config.layers import LoadedSettings, load_settings
from tau.config.setting_values import reset_setting, set_setting
from tau.config.settings import Settings

if TYPE_CHECKING:
    from tau.modes.interactive.command_context import CommandContext

LIVE_GROUPS = frozenset({"theme", "statusLine", "display", "interaction", "branchSummary"})
"""Groups that the screen reads whenever it needs them; a session keeps all others as it found them."""
NEEDS_RESTART = frozenset({"display.screenReader", "display.hardwareCursor", "display.tabWidth"})


def read_settings(context: "CommandContext") -> LoadedSettings:
    """The settings as the files are now, below what this run sets. Raises TauError."""
    return load_settings(
        context.paths,
        context.cwd,
        files=context.current.overrides.files,
        flags=context.current.overrides.flags,
    )


def save_setting(context: "CommandContext", key: str, value: Any) -> LoadedSettings:
    """Write one value to the user's file. Raises TauError where that cannot be done."""
    set_setting(context.paths, key, json.encode(value).decode())
    return _read_again(context)


def forget_setting(context: "CommandContext", key: str) -> LoadedSettings:
    """Take one value out of the user's file."""
    reset_setting(context.paths, key)
    return _read_again(context)


def _read_again(context: "CommandContext") -> LoadedSettings:
    """The settings as the files are now, in force from here on."""
    loaded = read_settings(context)
    show(context, loaded.settings)
    return loaded


def with_value(settings: Settings, key: str, value: Any) -> Settings:
    """The same settings with one other value. Raises ValidationError where it does not fit."""
    plain = to_builtins(settings)
    *groups, name = key.split(".")
    members = plain
    for group in groups:
        members = members[group]
    members[name] = value
    return convert(plain, Settings)


def is_live(key: str) -> bool:
    """Whether the screen can show at once what another value means."""
    return key.partition(".")[0] in LIVE_GROUPS and key not in NEEDS_RESTART


def takes_effect(key: str) -> str:
    """When a change is seen, if not at once."""
    if key in NEEDS_RESTART:
        return "when tau is started again"
    return "" if is_live(key) else "with the next session"


def show(context: "CommandContext", settings: Settings) -> None:
    """Let these settings be in force, and let the screen look like it."""
    before, context.current.settings = context.settings, settings
    now, was = settings.display, before.display
    if before.theme != settings.theme or was.reduced_motion != now.reduced_motion:
        context.themes.restyle()
    if before.status_line != settings.status_line:
        context.status_line.refresh()
    if was.hide_thinking != now.hide_thinking and context.transcript.toggle_thinking() != now.hide_thinking:
        context.transcript.toggle_thinking()  # a key had hidden it, or shown it, before
    drawn = ("show_images", "max_inline_images", "hyperlinks", "show_token_usage")
    if any(getattr(was, name) != getattr(now, name) for name in drawn) and not context.current.running:
        context.transcript.rebuild(elsewhere=False)
    context.display.request_render()
