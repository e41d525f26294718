"""Commands about the model and the display; most open a selector."""

from tau.ai.catalog import pick_model
from tau.ai.model import DEMO_PROVIDER, THINKING_LEVELS, Model, ThinkingLevel, thinking_level
from tau.base.errors import ConfigError, UsageError
from tau.base.late import late
from tau.modes.interactive.command_context import CommandContext

setting_changes = late("tau.modes.interactive.selectors.setting_changes")
clipboard = late("tau.modes.interactive.composer.clipboard")
copies = late("tau.modes.interactive.selectors.copy")
difflib = late("difflib")
hotkey_list = late("tau.modes.interactive.selectors.hotkeys")
appearance = late("tau.modes.interactive.themes.appearance")
model_list = late("tau.modes.interactive.selectors.model_list")
model_selector = late("tau.modes.interactive.selectors.model_selector")
setting_list = late("tau.modes.interactive.selectors.settings_selector")
theme_selector = late("tau.modes.interactive.selectors.theme_selector")
thinking_list = late("tau.modes.interactive.selectors.thinking_selector")


async def model(context: CommandContext, rest: str) -> None:
    """Choose a model, or use the one this pattern names. Raises UsageError and ConfigError."""
    if not rest:
        await model_selector.choose_model(context)
        return
    session = context.require_session()
    chosen, level = await find_model(context, rest)
    await model_selector.use(context, session, model_selector.ModelSelection(chosen))
    if level is not None:
        session.use_thinking(level)
    told = f", thinking {session.thinking}," if chosen.reasoning else ""
    context.say(f"{chosen.key}{told} is used from the next request on.")
    context.status_line.refresh()


async def find_model(context: CommandContext, pattern: str) -> tuple[Model, ThinkingLevel | None]:
    """The model the pattern names, from the catalog or a local server, if it is usable."""
    if pattern.partition("/")[0] == DEMO_PROVIDER:
        raise UsageError("The demo model must be chosen at startup: tau --provider demo.")
    known = model_list.known_models(context.paths, context.require_session().model)
    usable = [id for id in known.catalog.providers if id in known.usable]
    try:
        choice = pick_model(known.catalog, pattern, prefer=usable)
    except UsageError:
        if not context.settings.local.discover:
            raise
        known = known.with_more(*await model_list.served_models())
        choice = pick_model(known.catalog, pattern, prefer=usable)
    missing = known.missing(choice.model)
    if missing:
        raise ConfigError(missing)
    return choice.model, choice.thinking


async def thinking(context: CommandContext, rest: str) -> None:
    """Choose a level, or use this one. Raises UsageError."""
    if not rest:
        await thinking_list.choose_thinking(context)
        return
    level: ThinkingLevel | None = thinking_level(rest)
    if level is None:
        raise UsageError(f'"{rest}" is not a thinking level; use one of {", ".join(THINKING_LEVELS)}.')
    session = context.require_session()
    session.use_thinking(level)
    context.status_line.refresh()
    if session.model.reasoning:
        context.say(f"Thinking: {level} from the next request on.")
    else:
        context.say(f"{session.model.key} does not support thinking; {level} applies to models that do.")


async def theme(context: CommandContext, rest: str) -> None:
    """Choose a theme, or use this one for the current background, dark or light. Raises UsageError."""
    if not rest:
        await theme_selector.choose_theme(context)
        return
    names = list(appearance.theme_names())
    if rest not in names:
        near = difflib.get_close_matches(rest, names, 1)
        hint = f"Did you mean {near[0]}?" if near else "/theme lists them all."
        raise UsageError(f'Unknown theme "{rest}". {hint}')
    key = f"theme.{context.themes.background}"
    context.themes.use(rest)
    origin = setting_changes.save_setting(context, key, rest).origin(key)
    if origin.layer == "user":
        context.say(f"Theme set to {rest}.")
    else:
        context.say(f"Saved {rest} to your settings, but {origin.path or 'a flag'} overrides it here.")


async def settings(context: CommandContext, rest: str) -> None:
    await setting_list.choose_settings(context)


async def hotkeys(context: CommandContext, rest: str) -> None:
    await hotkey_list.choose_hotkeys(context)


async def copy(context: CommandContext, rest: str) -> None:
    """Choose what to copy; `last` is the last answer."""
    if rest == "last":
        context.say(await clipboard.copied(context.transcript.last_answer(), context.display.terminal))
    elif rest:
        raise UsageError("Usage: /copy or /copy last.")
    else:
        await copies.choose_copy(context)


async def expand(context: CommandContext, rest: str) -> None:
    context.transcript.toggle_expanded()
