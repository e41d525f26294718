"""Commands about the model and the display; most open a selector."""

from collections.abc import Callable

from tau.ai.model import THINKING_LEVELS, ThinkingLevel, thinking_level
from tau.base.errors import UsageError
from tau.base.late import late
from tau.modes.interactive.command_context import CommandContext

setting_changes = late("tau.modes.interactive.selectors.setting_changes")
clipboard = late("tau.modes.interactive.composer.clipboard")
copies = late("tau.modes.interactive.selectors.copy")
difflib = late("difflib")
hotkey_list = late("tau.modes.interactive.selectors.hotkeys")
appearance = late("tau.modes.interactive.themes.appearance")
model_list = late("tau.modes.model_list")
model_selector = late("tau.modes.interactive.selectors.model_selector")
pagers = late("tau.modes.interactive.dialogs.pager")
setting_list = late("tau.modes.interactive.selectors.settings_selector")
theme_selector = late("tau.modes.interactive.selectors.theme_selector")
thinking_list = late("tau.modes.interactive.selectors.thinking_selector")


async def model(context: CommandContext, rest: str) -> None:
    """Choose a model, or use the one this pattern names. Raises UsageError and ConfigError."""
    if not rest:
        await model_selector.choose_model(context)
        return
    session = context.require_session()
    local = context.settings.local
    chosen, level = await model_list.find_model(rest, context.paths, session.model, local)
    await model_selector.use(context, session, model_selector.ModelSelection(chosen))
    if level is not None:
        session.use_thinking(level)
    suffix = f", thinking {session.thinking}," if chosen.reasoning else ""
    context.say(f"Using {chosen.key}{suffix} starting with the next request.")
    context.status_line.refresh()


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
        context.say(f"Thinking: {level}, starting with the next request.")
    else:
        context.say(f"{session.model.key} does not support thinking; {level} applies to models that do.")


async def fast(context: CommandContext, rest: str) -> None:
    """Turn the priority tier on or off, or say which. Raises UsageError."""
    requests = context.require_session().requests
    if rest not in ("", "on", "off", "status"):
        raise UsageError(f'/fast takes on, off or status, not "{rest}".')
    if rest != "status":
        requests.use_fast(not requests.fast if not rest else rest == "on")
    if requests.fast and not context.require_session().model.takes_tier(requests.service_tier):
        context.say("Fast mode has no effect with this model: it has no priority tier.", "warning")
    elif requests.fast:
        context.say(
            "Fast mode on: requests use the priority tier, usually at a higher price. /fast off ends it."
        )
    else:
        context.say(f"Fast mode off: the service tier is {requests.service_tier or 'the usual one'}.")


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
        context.say(await clipboard.copy_text(context.transcript.last_answer(), context.display.terminal))
    elif rest:
        raise UsageError("Usage: /copy or /copy last.")
    else:
        await copies.choose_copy(context)


async def transcript(context: CommandContext, rest: str) -> None:
    """Open the transcript in the pager; a screen reader gets the last shortened output in full."""
    if context.display.theme.linear:
        if not context.transcript.print_in_full():
            context.hint("Nothing more to expand.")
        return
    await pagers.show_pager(context, _transcript_pager(context))


def _transcript_pager(context: CommandContext) -> Callable[[Callable[[], None]], "pagers.Pager"]:
    return lambda close: pagers.Pager(
        context.display,
        "Transcript",
        context.transcript.pager_blocks(),
        empty="The transcript is empty.",
        waiting=lambda: pagers.waiting_question(context),
        tasks=context.tasks,
        on_close=close,
    )
