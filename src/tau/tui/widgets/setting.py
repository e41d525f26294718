"""One setting as a list shows it: what kind it is, what it may be, and how a typed text becomes a value."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from tau.tui.component import Component
from tau.tui.text.clean import clean_line

Value = bool | int | float | str
SettingKind = Literal["toggle", "choice", "number", "text", "submenu"]

SettingDone = Callable[[Value | None], None]
"""What a submenu calls when it is finished: with the new value, or with None to leave all as it was."""


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
    """What the choices are called, if not by their values."""
    minimum: float | None = None
    maximum: float | None = None
    step: float = 1
    secret: bool = False
    """The value of a text is not shown."""
    submenu: Callable[["SettingRow", SettingDone], Component] | None = None


def cleaned(setting: SettingRow) -> SettingRow:
    """The same with texts that may be shown, and with a value that belongs to its kind."""
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


def shown_value(setting: SettingRow) -> str:
    """The value in words."""
    value = setting.value
    if setting.kind == "toggle":
        return "on" if value else "off"
    if setting.kind == "choice" and value in setting.choices:
        return choice_names(setting)[setting.choices.index(value)]
    if setting.secret and value:
        return "set"
    return clean_line(str(value)) or "not set"


def choice_names(setting: SettingRow) -> list[str]:
    """What each choice is called."""
    names = list(setting.names[: len(setting.choices)])
    return names + [clean_line(str(choice)) for choice in setting.choices[len(names) :]]


def stepped(setting: SettingRow, direction: int) -> Value:
    """The next value in a direction: the other state, the next choice, a step more or less."""
    if setting.kind == "toggle":
        return not setting.value
    if setting.kind == "choice" and setting.choices:
        at = setting.choices.index(setting.value) if setting.value in setting.choices else -1
        return setting.choices[(at + direction) % len(setting.choices)]
    if setting.kind == "number" and not isinstance(setting.value, str):
        return _number(setting, setting.value + direction * setting.step)
    return setting.value


def parsed(setting: SettingRow, text: str) -> Value:
    """The value that somebody typed; a ValueError says in one sentence what is wrong with it."""
    text = clean_line(text)
    if setting.kind != "number":
        return text
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{text or 'Nothing'} is not a number.") from None
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is not a number that can be used.")
    if setting.minimum is not None and value < setting.minimum:
        raise ValueError(f"The smallest value is {setting.minimum:g}.")
    if setting.maximum is not None and value > setting.maximum:
        raise ValueError(f"The largest value is {setting.maximum:g}.")
    if _whole(setting) and value != int(value):
        raise ValueError("Only whole numbers can be used.")
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
