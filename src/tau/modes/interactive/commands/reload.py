"""`/reload`: reloads everything read from files and reports changes and errors."""

from tau.base.errors import ConfigError
from tau.config.descriptions import show_value
from tau.config.keybindings import load_keybindings
from tau.config.models_file import load_models_file
from tau.config.setting_table import setting_values
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.commands.shared_text import next_session
from tau.modes.interactive.current_session import SessionSwitch
from tau.modes.interactive.selectors.setting_changes import apply_settings, read_settings
from tau.modes.interactive.themes.appearance import load_theme, theme_name
from tau.modes.session_report import count

MAX_LISTED = 12


async def reload(context: CommandContext, rest: str) -> None:
    """Raises TauError if a file is broken; then nothing changes."""
    session = context.require_session()
    read_settings(context)
    load_models_file(context.paths.models)
    overrides = load_keybindings(context.paths.keybindings)
    report = [*_keys(context, overrides), *_commands(context)]
    path = session.log.path
    if path is None:
        context.say("\n".join(["Settings and instructions unchanged: this session is not saved.", *report]))
        _warn_about_keys(context)
        return
    before = setting_values(context.settings)
    # A session reads settings, models and instructions when it opens, so reopen it with the model
    # in use now, whatever the command line named.
    context.actions.leave(
        SessionSwitch("resume", session=str(path), carried=session.model, is_shown=True)
        if path.exists()
        else SessionSwitch("new", carried=session.model, is_shown=True)
    )
    opened = await next_session(context.current, session)
    apply_settings(context, opened.settings)
    after = setting_values(opened.settings)
    changed = [key for key in after if after[key] != before[key]]
    report = [
        *_settings(changed, after),
        "Reloaded instructions, models and tools.",
        *report,
        *_theme(context),
    ]
    context.say("\n".join(report))
    _warn_about_keys(context)
    context.status_line.refresh()


def _settings(changed: list[str], values: dict[str, object]) -> list[str]:
    if not changed:
        return ["No settings changed."]
    lines = [f"{key} is now {show_value(values[key])}." for key in changed[:MAX_LISTED]]
    more = len(changed) - MAX_LISTED
    return [*lines, *([f"{count(more, 'more setting')} changed."] if more > 0 else [])]


def _theme(context: CommandContext) -> list[str]:
    """Reload the theme file; returns what is wrong with it."""
    try:
        load_theme(theme_name(context.settings, context.themes.background))
    except ConfigError as error:
        return [str(error)]
    context.themes.restyle()
    return []


def _keys(context: CommandContext, overrides: dict[str, list[str]]) -> list[str]:
    """Apply the keys from the file; returns those that changed."""
    keys = context.display.keys
    before = {action: keys.keys_of(action) for action in keys.bindings}
    keys.use(overrides)
    changed = [
        f"{keys.bindings[action].description}: {keys.label(action) or 'no key'}"
        for action in before
        if keys.keys_of(action) != before[action]
    ]
    if changed:  # text on the screen names keys
        context.display.screen.invalidate()
        context.display.request_render()
    more = len(changed) - MAX_LISTED
    report = [f"{line}." for line in changed[:MAX_LISTED]]
    return report + ([f"{count(more, 'more key')} changed; see /hotkeys."] if more > 0 else [])


def _warn_about_keys(context: CommandContext) -> None:
    for problem in (*context.display.keys.problems, *map(str, context.display.keys.conflicts)):
        context.say(problem, "warning")


def _commands(context: CommandContext) -> list[str]:
    files = context.names.files
    before = {file.name for file in files.all()}
    after = {file.name for file in files.all(fresh=True)}
    report = [f"New command /{name}." for name in sorted(after - before)]
    report += [f"Removed command /{name}." for name in sorted(before - after)]
    return [*report, *files.warnings]
