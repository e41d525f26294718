"""A settings list: grouped, searchable, edited in place, with descriptions."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from tau.tui.component import Component, LiveComponent
from tau.tui.input.bindings import Keymap
from tau.tui.input.key import InputEvent, Key
from tau.tui.style import Theme
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import fit, pad, truncate
from tau.tui.text.width import visible_width
from tau.tui.text.wrap import wrap
from tau.tui.widgets.fuzzy import score
from tau.tui.widgets.input_field import InputField
from tau.tui.widgets.list_parts import (
    DESCRIPTION_ROWS,
    FilterLine,
    description_rows,
    highlight_positions,
    key_step,
    move_place,
    position_row,
    spoken_rows,
)
from tau.tui.widgets.select_items import Choices, SelectItem
from tau.tui.widgets.select_list import SelectList

Value = bool | int | float | str
SettingKind = Literal["toggle", "choice", "number", "text", "submenu"]

SettingDone = Callable[[Value | None], None]
"""Called by a submenu when done: with the new value, or None to keep the old one."""
__all__ = ["SettingRow", "SettingsList", "Value"]


class SettingRow(NamedTuple):
    """A row of a settings list."""

    key: str
    label: str
    value: Value
    kind: SettingKind = "toggle"
    description: str = ""
    group: str = ""
    choices: Sequence[Value] = ()
    names: Sequence[str] = ()
    """Labels of the choices, if not their values."""
    minimum: float | None = None
    maximum: float | None = None
    step: float = 1
    secret: bool = False
    """The value of a text is masked."""
    submenu: Callable[["SettingRow", SettingDone], Component] | None = None


def clean_setting(setting: SettingRow) -> SettingRow:
    """Clean the texts of a setting and make its value fit its kind."""
    value = setting.value
    if isinstance(value, str):
        value = clean_line(value)
    if setting.kind == "toggle":
        value = bool(value)
    elif setting.kind == "choice" and setting.choices and value not in setting.choices:
        value = setting.choices[0]
    elif setting.kind == "number":
        value = _number(setting, value)
    return setting._replace(
        value=value,
        label=clean_line(setting.label),
        description=clean_line(setting.description),
        group=clean_line(setting.group),
        names=[clean_line(name) for name in setting.names],
    )


def format_value(setting: SettingRow) -> str:
    value = setting.value
    if setting.kind == "toggle":
        return "on" if value else "off"
    if setting.kind == "choice" and value in setting.choices:
        return choice_names(setting)[setting.choices.index(value)]
    if setting.secret and value:
        return "set"
    return clean_line(str(value)) or "not set"


def choice_names(setting: SettingRow) -> list[str]:
    names = list(setting.names[: len(setting.choices)])
    return names + [clean_line(str(choice)) for choice in setting.choices[len(names) :]]


def step_value(setting: SettingRow, direction: int) -> Value:
    """Return the next value in a direction: toggled, next choice, or one step."""
    if setting.kind == "toggle":
        return not setting.value
    if setting.kind == "choice" and setting.choices:
        at = setting.choices.index(setting.value) if setting.value in setting.choices else -1
        return setting.choices[(at + direction) % len(setting.choices)]
    if setting.kind == "number" and not isinstance(setting.value, str):
        return _number(setting, setting.value + direction * setting.step)
    return setting.value


def parse_value(setting: SettingRow, text: str) -> Value:
    """Parse a typed value; raises ValueError with a one-sentence reason."""
    text = clean_line(text)
    if setting.kind != "number":
        return text
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{text or 'Nothing'} is not a number.") from None
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is not a valid number.")
    if setting.minimum is not None and value < setting.minimum:
        raise ValueError(f"The minimum is {setting.minimum:g}.")
    if setting.maximum is not None and value > setting.maximum:
        raise ValueError(f"The maximum is {setting.maximum:g}.")
    if _whole(setting) and value != int(value):
        raise ValueError("Only whole numbers are allowed.")
    return _number(setting, value)


def _whole(setting: SettingRow) -> bool:
    return float(setting.step).is_integer() and not isinstance(setting.value, float)


def _number(setting: SettingRow, value: Value) -> Value:
    try:
        number = float(value)
    except ValueError:
        number = setting.minimum or 0.0
    if setting.minimum is not None:
        number = max(number, setting.minimum)
    if setting.maximum is not None:
        number = min(number, setting.maximum)
    return int(number) if _whole(setting) else round(number, 10)


class SettingsList(LiveComponent):
    """Enter changes the highlighted setting, left and right step through its values, letters search.

    `on_change` gets the key and a validated value. `on_preview` gets the highlighted choice of an open list,
    and the old value if that list is cancelled.
    """

    def __init__(
        self,
        theme: Theme,
        keys: Keymap,
        settings: Iterable[SettingRow] = (),
        max_rows: int = 12,
        *,
        on_change: Callable[[str, Value], None] | None = None,
        on_preview: Callable[[str, Value], None] | None = None,
        on_cancel: Callable[[], None] | None = None,
    ) -> None:
        self._theme = theme
        self._keys = keys
        self.max_rows = max_rows
        """Maximum number of setting rows."""
        self._filter = FilterLine(keys, "type to search the settings")
        self.on_change = on_change
        self.on_preview = on_preview
        self.on_cancel = on_cancel
        self._settings: dict[str, SettingRow] = {}
        self._choices: Choices[str] = Choices(())
        self._at = 0
        self._top = 0
        self._open: Component | None = None
        self._rows: list[str] | None = None
        self._drawn_for = (0, False, 0)
        self.set_settings(settings)

    def set_settings(self, settings: Iterable[SettingRow]) -> None:
        """Replace the settings or their values; the selection stays."""
        before = self.selected
        self._settings = {setting.key: clean_setting(setting) for setting in settings}
        self._choices = Choices(
            SelectItem(s.key, s.label, s.description, s.group) for s in self._settings.values()
        )
        self._open = None
        self._refilter(before.key if before else None)

    @property
    def selected(self) -> SettingRow | None:
        item = self._choices.at(self._at)
        return None if item is None else self._settings[item.value]

    @property
    def editing(self) -> bool:
        """Whether a value is being chosen or typed."""
        return self._open is not None

    @property
    def filter_text(self) -> str:
        return self._filter.text

    def select(self, key: str) -> bool:
        """Highlight a setting; False if it is not shown."""
        place = self._choices.place_of(key)
        if place >= 0:
            self._at = place
            self._rows = None
        return place >= 0

    def value(self, key: str) -> Value:
        """Return a setting's current value."""
        return self._settings[key].value

    def handle_input(self, event: InputEvent) -> bool:
        self._rows = None
        if self._open is not None:
            return self._open.handle_input(event)
        matches = self._keys.matches
        setting = self.selected
        if (step := key_step(self._keys, event, self.max_rows, len(self._choices.order))) is not None:
            self._at = move_place(self._at, step, len(self._choices.order))
        elif matches(event, "tui.select.cancel"):
            if self.on_cancel is not None:
                self.on_cancel()
        elif setting is not None and self._is_change_key(event):
            self._change(setting)
        elif setting is not None and matches(event, "tui.editor.cursorLeft"):
            self._store(setting, step_value(setting, -1))
        elif setting is not None and matches(event, "tui.editor.cursorRight"):
            self._store(setting, step_value(setting, 1))
        elif self._filter.apply(event):
            self._refilter(None)
        else:
            return False
        return True

    def invalidate(self) -> None:
        self._rows = None
        if self._open is not None:
            self._open.invalidate()

    def render(self, width: int) -> Sequence[str]:
        # An open editor may change on its own schedule, so render it each time.
        if self._open is not None:
            self._open.focused = self.focused
            rows = self._render_rows(max(width, 1))
            if self._rows is None or rows != self._rows:
                self._rows = rows
        elif self._rows is None or self._drawn_for != (width, self.focused, self.max_rows):
            self._rows = self._render_rows(max(width, 1))
        self._drawn_for = (width, self.focused, self.max_rows)
        return self._rows

    def _is_change_key(self, event: InputEvent) -> bool:
        if self._keys.matches(event, "tui.select.confirm"):
            return True
        blank = isinstance(event, Key) and event.text == " "
        return blank and not self.filter_text

    def _change(self, setting: SettingRow) -> None:
        """Toggle a two-state setting; open an editor for others."""
        if setting.kind == "submenu" and setting.submenu is not None:
            self._open = setting.submenu(setting, lambda value: self._finish(setting, value))
        elif setting.kind == "choice" and len(setting.choices) > 2:
            self._open = self._choice_list(setting)
        elif setting.kind in ("number", "text"):
            self._open = self._field(setting)
        else:
            self._store(setting, step_value(setting, 1))

    def _choice_list(self, setting: SettingRow) -> Component:
        names = choice_names(setting)
        items = [SelectItem(value, name) for value, name in zip(setting.choices, names, strict=True)]

        def preview(value: Value) -> None:
            if self.on_preview is not None:
                self.on_preview(setting.key, value)

        def leave() -> None:
            preview(setting.value)
            self._finish(setting, None)

        return SelectList(
            self._theme,
            self._keys,
            items,
            self.max_rows,
            filterable=len(items) > self.max_rows,
            current=setting.value,
            on_select=lambda item: self._finish(setting, item.value),
            on_change=lambda item: preview(item.value),
            on_cancel=leave,
        )

    def _field(self, setting: SettingRow) -> Component:
        def problem(text: str) -> str | None:
            try:
                parse_value(setting, text)
            except ValueError as error:
                return str(error)
            return None

        return InputField(
            self._theme,
            self._keys,
            "" if setting.secret else str(setting.value),
            mask=setting.secret,
            validate=problem,
            on_submit=lambda text: self._finish(setting, parse_value(setting, text)),
            on_cancel=lambda: self._finish(setting, None),
        )

    def _finish(self, setting: SettingRow, value: Value | None) -> None:
        self._open = None
        self._rows = None
        if value is not None:
            self._store(setting, value)

    def _store(self, setting: SettingRow, value: Value) -> None:
        changed = clean_setting(setting._replace(value=value))
        self._settings[setting.key] = changed
        self._rows = None
        # True == 1 in Python, but they differ as settings.
        if (type(changed.value), changed.value) != (type(setting.value), setting.value) and self.on_change:
            self.on_change(setting.key, changed.value)

    def _refilter(self, keep: str | None) -> None:
        self._choices.narrow(self.filter_text)
        self._at, self._top = 0, 0
        if keep is not None:
            self.select(keep)
        self._rows = None

    def _render_rows(self, width: int) -> list[str]:
        theme, choices, setting = self._theme, self._choices, self.selected
        if self._open is not None and setting is not None and not isinstance(self._open, InputField):
            heading = theme["heading"](truncate(setting.label, width, theme.symbols.ellipsis))
            return [heading, *self._open.render(width)]
        query = self.filter_text
        focused = self.focused and self._open is None
        rows = [self._filter.row(theme, width, focused)]
        if not choices.order:
            text = f"No setting matches {query}." if choices.items else "There are no settings."
            return rows + [theme["muted"](row) for row in wrap(text, width)[:DESCRIPTION_ROWS]]
        height = min(max(self.max_rows, 1), len(choices.lines))
        self._top = choices.window(self._top, self._at, height)
        for index in choices.lines[self._top : self._top + height]:
            if index < 0:
                group = truncate(choices.items[-1 - index].group, width, theme.symbols.ellipsis)
                rows.append(theme["heading"](group))
                continue
            shown = self._settings[choices.items[index].value]
            place = f"{self._at + 1} of {len(choices.order)}"
            state = _RowState(shown is setting, query, choices.label_width, self._open, place)
            rows += (
                _in_words(theme, shown, state, width) if theme.linear else _rows(theme, shown, state, width)
            )
        if height < len(choices.lines):
            position = (self._top, height, len(choices.lines), self._at + 1, len(choices.order))
            rows.append(position_row(theme, *position, width))
        if choices.has_descriptions and setting is not None and not theme.linear:
            rows += description_rows(theme, setting.description, width)
        return rows


class _RowState(NamedTuple):
    selected: bool
    query: str
    label_width: int
    field: Component | None
    """The editor of the selected setting's value."""
    place: str
    """Where the selected one is in the list, such as "3 of 13"."""


def _rows(theme: Theme, setting: SettingRow, state: _RowState, width: int) -> list[str]:
    """Render a setting next to its value; while it is edited, errors appear below."""
    symbols = theme.symbols
    style = theme["selected" if state.selected else "text"]
    match = score(state.query, setting.label) if state.query else None
    label = highlight_positions(setting.label, match[1] if match else (), style, theme["matched"])
    pointer = theme["accent"](symbols.pointer) if state.selected else " " * visible_width(symbols.pointer)
    column = min(state.label_width + visible_width(symbols.pointer) + 3, width // 2)
    text = pad(truncate(f"{pointer} {label}", column, symbols.ellipsis), column)
    room = width - column
    if state.selected and state.field is not None:
        field = state.field.render(room)
        return [text + field[0], *(" " * column + row for row in field[1:])]
    value = theme[_value_token(setting)](format_value(setting))
    if setting.kind == "submenu":
        value += f" {theme['muted'](symbols.folded)}"
    text += truncate(value, room, symbols.ellipsis)
    if state.selected and theme["selectedBackground"].open:
        return [theme["selectedBackground"](fit(text, width))]
    return [text]


def _value_token(setting: SettingRow) -> str:
    if setting.kind == "toggle":
        return "success" if setting.value else "muted"
    return "accent" if setting.value != "" else "muted"


def _in_words(theme: Theme, setting: SettingRow, state: _RowState, width: int) -> list[str]:
    name = f"Selected: {setting.label}" if state.selected else setting.label
    if state.selected and state.field is not None:
        return [*wrap(f"{name}, new value:", width), *state.field.render(width)]
    words = f"{name}: {format_value(setting)}{f' ({state.place})' if state.selected else ''}"
    if state.selected and setting.description:
        words += f". {setting.description}"
    return spoken_rows(words, width)
