"""One row of a settings list: its kind, its choices, and parsing of typed values."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from tau.tui.component import Component
from tau.tui.text.clean import clean_line

Value = bool | int | float | str
SettingKind = Literal["toggle", "choice", "number", "text", "submenu"]

SettingDone = Callable[[Value | None], None]
"""Called by a submenu when done: with the new value, or None to keep the old one."""


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
    """Format the value for display."""
    value = setting.value
    if setting.kind == "toggle":
        return "on" if value else "off"
    if setting.kind == "choice" and value in setting.choices:
        return choice_names(setting)[setting.choices.index(value)]
    if setting.secret and value:
        return "set"
    return clean_line(str(value)) or "not set"


def choice_names(setting: SettingRow) -> list[str]:
    """Return the label of each choice."""
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
