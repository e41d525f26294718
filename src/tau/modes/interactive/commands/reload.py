"""`/reload`: reads again what stands in files, and says what has changed or what is wrong."""

from typing import Any

from tau.base.errors import ConfigError
from tau.config.descriptions import show_value
from tau.config.keybindings import load_keybindings
from tau.config.models_file import load_models_file
from tau.config.settings import setting_values
from tau.modes.interactive.app import App, SessionSwitch
from tau.modes.interactive.commands.shared_text import count, next_session, session_of
from tau.modes.interactive.selectors.setting_changes import background_of, read_settings, restyle, show
from tau.modes.interactive.themes.appearance import load_theme, wanted_name

MAX_TOLD = 12


async def reload(app: App, rest: str) -> None:
    """Raises TauError where a file is broken: then nothing of it counts, and all stays as it was."""
    session = session_of(app)
    read_settings(app)
    load_models_file(app.paths.models)
    overrides = load_keybindings(app.paths.keybindings)
    told = [*_keys(app, overrides), *_commands(app)]
    path = session.log.path
    if path is None:
        app.say("\n".join(["Settings and instructions stay: this session is in memory only.", *told]))
        _warn_of_keys(app)
        return
    before = setting_values(app.settings)
    # A session reads settings, models and instructions when it is opened: so it is opened again, with the
    # model that is in use now, whatever one the command line named.
    model = session.model.key
    app.leave(
        SessionSwitch("resume", session=str(path), model=model)
        if path.exists()
        else SessionSwitch("new", model=model)
    )
    opened = await next_session(app, session)
    show(app, opened.settings)
    after = setting_values(opened.settings)
    changed = [key for key in after if after[key] != before[key]]
    told = [
        *_settings(changed, after),
        "Instructions, models and tools were read again.",
        *told,
        *_theme(app),
    ]
    app.say("\n".join(told))
    _warn_of_keys(app)
    app.status_line.refresh()


def _settings(changed: list[str], values: dict[str, Any]) -> list[str]:
    if not changed:
        return ["No setting has changed."]
    lines = [f"{key} is {show_value(values[key])} now." for key in changed[:MAX_TOLD]]
    more = len(changed) - MAX_TOLD
    return [*lines, *([f"{count(more, 'more setting')} changed."] if more > 0 else [])]


def _theme(app: App) -> list[str]:
    """The theme as its file is now; what is wrong with that."""
    try:
        load_theme(wanted_name(app.settings, background_of(app)))
    except ConfigError as error:
        return [str(error)]
    restyle(app)
    return []


def _keys(app: App, overrides: dict[str, list[str]]) -> list[str]:
    """The keys as they are in the file now, in force at once; which of them are others."""
    keys = app.keys
    before = {action: keys.keys_of(action) for action in keys.bindings}
    keys.use(overrides)
    changed = [
        f"{keys.bindings[action].description}: {keys.label(action) or 'no key'}"
        for action in before
        if keys.keys_of(action) != before[action]
    ]
    if changed:  # what is on the screen names keys
        app.screen.invalidate()
        app.screen.request_render()
    more = len(changed) - MAX_TOLD
    told = [f"{line}." for line in changed[:MAX_TOLD]]
    return told + ([f"{count(more, 'more key')} changed; /hotkeys shows them all."] if more > 0 else [])


def _warn_of_keys(app: App) -> None:
    for problem in (*app.keys.problems, *map(str, app.keys.conflicts)):
        app.say(problem, "warning")


def _commands(app: App) -> list[str]:
    files = app.commands.files
    before = {file.name for file in files.all()}
    after = {file.name for file in files.all(fresh=True)}
    told = [f"New command /{name}." for name in sorted(after - before)]
    told += [f"/{name} is gone." for name in sorted(before - after)]
    return [*told, *files.warnings]
