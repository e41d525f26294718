"""Setting changes from a selector: written to the user's file, reloaded and applied."""

from msgspec import convert, json, to_builtins

from tau.config.layers import LoadedSettings, load_settings
from tau.config.setting_values import reset_setting, set_setting
from tau.config.settings import Settings
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.composer import input_kinds

LIVE_GROUPS = frozenset({"theme", "statusLine", "display", "interaction", "branchSummary"})
"""Groups the screen reads live; a session keeps all others as it loaded them."""
NEEDS_RESTART = frozenset({"display.screenReader", "display.hardwareCursor", "display.tabWidth"})


def read_settings(context: CommandContext) -> LoadedSettings:
    """The settings from the files plus this run's overrides. Raises TauError."""
    return load_settings(
        context.paths,
        context.cwd,
        files=context.current.overrides.files,
        flags=context.current.overrides.flags,
    )


def save_setting(context: CommandContext, key: str, value: object) -> LoadedSettings:
    """Write one value to the user's file. Raises TauError on failure."""
    set_setting(context.paths, key, json.encode(value).decode())
    return _reload(context)


def remove_setting(context: CommandContext, key: str) -> LoadedSettings:
    """Remove one value from the user's file."""
    reset_setting(context.paths, key)
    return _reload(context)


def _reload(context: CommandContext) -> LoadedSettings:
    """Reload the settings and apply them."""
    loaded = read_settings(context)
    apply_settings(context, loaded.settings)
    return loaded


def with_value(settings: Settings, key: str, value: object) -> Settings:
    """The settings with one value changed. Raises ValidationError if it is invalid."""
    plain = to_builtins(settings)
    *groups, name = key.split(".")
    members = plain
    for group in groups:
        members = members[group]
    members[name] = value
    return convert(plain, Settings)


def is_live(key: str) -> bool:
    """Whether the screen can preview another value."""
    return key.partition(".")[0] in LIVE_GROUPS and key not in NEEDS_RESTART


def takes_effect(key: str) -> str:
    """When a change takes effect, if not at once."""
    if key in NEEDS_RESTART:
        return "after restarting tau"
    return "" if is_live(key) else "in the next session"


def apply_settings(context: CommandContext, settings: Settings) -> None:
    """Apply these settings to the screen."""
    before, context.current.settings = context.settings, settings
    now, was = settings.display, before.display
    if before.theme != settings.theme or was.reduced_motion != now.reduced_motion:
        context.themes.restyle()
    input_kinds.use_vim_keys(context.display, settings.interaction.vim_keys, context.status_line.refresh)
    if before.status_line != settings.status_line:
        context.status_line.refresh()
    if was.hide_thinking != now.hide_thinking and context.transcript.toggle_thinking() != now.hide_thinking:
        context.transcript.toggle_thinking()  # a key may have toggled it
    drawn = ("show_images", "max_inline_images", "hyperlinks", "show_token_usage")
    if any(getattr(was, name) != getattr(now, name) for name in drawn) and not context.current.running:
        context.transcript.rebuild(elsewhere=False)
    context.display.request_render()
