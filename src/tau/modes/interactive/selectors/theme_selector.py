"""Chooses a theme, previewed while moving through the list."""

from tau.base.errors import ConfigError, TauError
from tau.base.late import late
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.selectors.pick_list import pick
from tau.modes.interactive.selectors.setting_changes import save_setting
from tau.tui.terminal.port import Background
from tau.tui.widgets.select_list import SelectItem

appearance = late("tau.modes.interactive.themes.appearance")

GROUPS = {"dark": "For dark terminals", "light": "For light terminals", "any": "For both"}


async def choose_theme(context: CommandContext) -> None:
    """Ask for a theme for the current background, dark or light; canceling restores the old one."""
    background = context.themes.background
    chosen = None
    try:
        chosen = await pick(
            context,
            f"Theme for {background} terminals",
            theme_items(background),
            verb="use",
            current=getattr(context.settings.theme, background),
            on_change=lambda item: _try(context, item.value),
        )
        if chosen is None:
            return
        context.themes.use(chosen)
        loaded = save_setting(context, f"theme.{background}", chosen)
    finally:
        context.themes.restyle()
    origin = loaded.origin(f"theme.{background}")
    if origin.layer in ("user", "default"):
        context.hint(f"Theme: {chosen}.")
    else:
        context.say(f"Saved {chosen} to your settings, but {origin.path or 'a flag'} overrides it here.")


def theme_items(background: Background) -> list[SelectItem[str]]:
    """All themes, those for this background first; unreadable ones say why."""
    items = []
    for name in appearance.theme_names():
        try:
            theme = appearance.load_theme(name)
        except ConfigError as error:
            items.append(SelectItem(name, name, str(error), "Unusable", "", True))
            continue
        items.append(SelectItem(name, name, theme.description, GROUPS[theme.kind]))
    order = [GROUPS[background], GROUPS["any"], *GROUPS.values(), "Unusable"]
    return sorted(items, key=lambda item: order.index(item.group))


def _try(context: CommandContext, name: str) -> None:
    try:
        context.themes.use(name)
    except TauError:
        context.themes.restyle()  # the list shows the error
