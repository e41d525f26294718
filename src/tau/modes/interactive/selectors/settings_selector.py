"""Shows and changes settings: by tab or search, applied immediately."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import ValidationError

from tau.base.errors import TauError
from tau.base.late import late
from tau.config.setting_table import settings_by_key
from tau.config.setting_values import value_problem
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.dialogs.dialog_widgets import FocusDelegate
from tau.modes.interactive.screen_protocols import Display
from tau.modes.interactive.selectors.panel import CANCEL, CONFIRM, Hint, Panel, list_rows
from tau.modes.interactive.selectors.setting_changes import (
    apply_settings,
    is_live,
    read_settings,
    remove_setting,
    save_setting,
    with_value,
)
from tau.modes.interactive.selectors.setting_rows import facts, parse_value, setting_rows, tabs
from tau.tui.component import Component, LiveComponent
from tau.tui.input.key import InputEvent
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import truncate
from tau.tui.text.wrap import wrap
from tau.tui.widgets.list_parts import DESCRIPTION_ROWS
from tau.tui.widgets.settings_list import SettingDone, SettingRow, SettingsList, Value
from tau.tui.widgets.tab_bar import Tab, TabBar

appearance = late("tau.modes.interactive.themes.appearance")

NEXT, PREVIOUS, RESET = "app.settings.nextTab", "app.settings.previousTab", "app.settings.reset"
HINTS = (
    Hint(CONFIRM, "change"),
    Hint(CANCEL, "close"),
    Hint(NEXT, "next group"),
    Hint(RESET, "reset to default"),
)
EDIT_HINTS = (Hint(CONFIRM, "apply"), Hint(CANCEL, "cancel"))
READ_HINTS = (Hint(CANCEL, "close"),)
INFO_ROWS = 2


async def choose_settings(context: CommandContext) -> None:
    """Show all settings until closed; each change is saved at once."""
    choosing = SettingsSelector(context)
    try:
        await context.ask(choosing.open)
    finally:
        choosing.close()


class SettingsSelector:
    """The current values, and what changing one does."""

    def __init__(self, context: CommandContext) -> None:
        self._context = context
        self._loaded = read_settings(context)
        names = appearance.theme_names()
        self._choices = {"theme.dark": names, "theme.light": names}
        self._body = SettingsBody(context.display, self._facts)
        self._body.list.on_change = self._change
        self._body.list.on_preview = self._preview
        self._body.on_reset = self._reset
        self._panel = Panel(context.display, "Settings", self._body, hints=self._hints, fit=self._body.fit)
        self._refresh()

    def open(self, done: Callable[[None], None]) -> Component:
        self._body.list.on_cancel = lambda: done(None)
        return self._panel

    def close(self) -> None:
        """End any preview."""
        if self._context.settings != self._loaded.settings:
            apply_settings(self._context, self._loaded.settings)

    def _hints(self) -> Sequence[Hint]:
        selected = self._body.list.selected
        if selected is not None and selected.kind == "submenu" and self._body.list.editing:
            return READ_HINTS
        return EDIT_HINTS if self._body.list.editing else HINTS

    def _facts(self, key: str) -> str:
        return facts(settings_by_key()[key], self._loaded)

    def _refresh(self) -> None:
        rows = setting_rows(self._loaded, self._choices)
        self._body.set_rows(
            {
                key: row._replace(submenu=self._help_text) if row.kind == "submenu" else row
                for key, row in rows.items()
            }
        )

    def _change(self, key: str, value: Value) -> None:
        """Save the value, and say so if something overrides it."""
        declared = settings_by_key()[key]
        wanted = parse_value(declared, value)
        problem = None if wanted is None else value_problem(declared, wanted)
        if problem is None:
            self._try(lambda: self._save(key, wanted))
        else:
            self._panel.tell(problem, "error")
        self._refresh()

    def _save(self, key: str, value: object) -> None:
        if value is None:
            self._loaded = remove_setting(self._context, key)
        else:
            self._loaded = save_setting(self._context, key, value)
        origin = self._loaded.origin(key)
        if origin.layer not in ("user", "default"):
            by = origin.path or "a flag of this run"
            self._panel.tell(f"Saved to your settings, but {by} overrides it here.")

    def _reset(self, key: str) -> None:
        self._try(lambda: self._save(key, None))
        if self._loaded.origin(key).layer == "default":
            self._panel.tell("Reset to default.", "info")
        self._refresh()

    def _try(self, do: Callable[[], None]) -> None:
        try:
            do()
        except TauError as error:
            self._panel.tell(str(error), "error")

    def _preview(self, key: str, value: Value) -> None:
        """Preview this value on the screen."""
        if is_live(key):
            with suppress(ValidationError):
                apply_settings(self._context, with_value(self._loaded.settings, key, value))

    def _help_text(self, setting: SettingRow, done: SettingDone) -> Component:
        file = self._context.paths.settings
        lines = (
            f"Now: {setting.value or '{}'}",
            "",
            f"This setting is an object. Edit it in {file}, or run:",
            f"tau config set {setting.key} '{{\"name\": ...}}'",
        )
        return HelpText(self._context.display, lines, lambda: done(None))


class SettingsBody(FocusDelegate):
    """Tabs, the settings of one, and details of the highlighted one. Search covers all tabs."""

    def __init__(self, display: Display, facts_of: Callable[[str], str]) -> None:
        self._display = display
        self._facts_of = facts_of
        self.inside = self.list = SettingsList(display.theme, display.keys)
        self.on_reset: Callable[[str], None] | None = None
        self._tabs = tabs()
        self._bar = TabBar(display.theme, display.keys, [Tab(name, name) for name in self._tabs])
        self._all: dict[str, SettingRow] = {}
        self._info_rows = INFO_ROWS
        self._parts: list[Sequence[str]] = []
        self._rows: list[str] = []

    def set_rows(self, rows: dict[str, SettingRow]) -> None:
        """Update the settings and their values."""
        self._all = rows
        self._fill()

    def fit(self, rows: int, width: int) -> None:
        around = 3 + DESCRIPTION_ROWS + 1
        below = INFO_ROWS + 1  # with an example
        self._info_rows = INFO_ROWS if rows - around - below >= 3 else 0
        self.list.max_rows = list_rows(self._display, rows - around - (below if self._info_rows else 0))

    def handle_input(self, event: InputEvent) -> bool:
        keys, setting = self._display.keys, self.list.selected
        if self.list.editing:
            return self.list.handle_input(event)
        if keys.matches(event, NEXT) or keys.matches(event, PREVIOUS):
            self._turn(1 if keys.matches(event, NEXT) else -1)
            return True
        if setting is not None and self.on_reset is not None and keys.matches(event, RESET):
            self.on_reset(setting.key)
            return True
        searching = bool(self.list.filter_text)
        done = self.list.handle_input(event)
        if searching != bool(self.list.filter_text):
            self._fill()
        return done

    def invalidate(self) -> None:
        self._parts = []
        self._bar.invalidate()
        super().invalidate()

    def render(self, width: int) -> list[str]:
        bar = self._bar.render(width) if not self.list.filter_text else self._everywhere(width)
        inside = self.list.render(width)
        parts = [bar, inside, self._info(width), self._example(width)]
        if parts != self._parts:
            self._parts = parts
            self._rows = [row for part in parts for row in part]
        return self._rows

    def _everywhere(self, width: int) -> list[str]:
        return [self._display.theme["muted"](truncate("In all groups:", width, ""))]

    def _turn(self, step: int) -> None:
        names = list(self._tabs)
        active = self._bar.active
        at = names.index(active.value) if active is not None else 0
        self._bar.activate(names[(at + step) % len(names)])
        self._fill()

    def _fill(self) -> None:
        active = self._bar.active
        keys = self._all if self.list.filter_text or active is None else self._tabs[active.value]
        self.list.set_settings(self._all[key] for key in keys)

    def _info(self, width: int) -> list[str]:
        setting = self.list.selected
        if not self._info_rows or setting is None or self.list.editing:
            return []
        theme = self._display.theme
        rows = wrap(clean_line(self._facts_of(setting.key)), max(width - 2, 1))[: self._info_rows]
        return [f"  {theme['dim'](row)}" if width > 2 else row for row in rows]

    def _example(self, width: int) -> list[str]:
        """The example line shown above the editor."""
        setting = self.list.selected
        is_wanted = setting is not None and setting.key.startswith("statusLine.")
        return self._display.editor.render(width)[:1] if is_wanted and self._info_rows else []


class HelpText(LiveComponent):
    """A text to read; any key closes it."""

    def __init__(self, display: Display, lines: Sequence[str], close: Callable[[], None]) -> None:
        self._display = display
        self._lines = [clean_line(line) for line in lines]
        self._close = close

    def handle_input(self, event: InputEvent) -> bool:
        if self._display.keys.matches(event, CONFIRM) or self._display.keys.matches(event, CANCEL):
            self._close()
            return True
        return False

    def render(self, width: int) -> list[str]:
        most = list_rows(self._display, self._display.terminal.rows - 4)
        return [row for line in self._lines for row in wrap(line, max(width, 1))][:most]
