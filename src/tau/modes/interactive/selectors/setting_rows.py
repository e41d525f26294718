"""Settings as list rows: their kind, their tab, and how typed text is parsed."""

import re
from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from msgspec import json

from tau.config.descriptions import show_value
from tau.config.layers import LoadedSettings
from tau.config.setting_table import Setting as Declared
from tau.config.setting_table import describe_settings, setting_values
from tau.modes.interactive.selectors.setting_changes import takes_effect
from tau.tui.widgets.settings_list import SettingKind, SettingRow, Value

TABS: Mapping[str, tuple[str, ...]] = {
    "Appearance": ("theme", "statusLine", "display"),
    "Interaction": (
        *("interaction", "steeringMode", "followUpMode", "interruptMode"),
        *("plan", "todo", "tasks", "titles", "sessionDir"),
    ),
    "Models": (
        *("defaultProvider", "defaultModel", "defaultThinkingLevel", "enabledModels", "modelRoles"),
        *("thinkingBudgets", "cacheRetention", "serviceTier", "retry", "stream", "local", "keys", "secrets"),
    ),
    "Context": (
        *("compaction", "branchSummary", "contextFiles", "skills", "extensions", "disabledProviders"),
        *("disabledExtensions", "checkpoint", "images", "inspectImage", "ttsr", "rules", "hooks", "memory"),
        "hindsight",
    ),
    "Tools": (
        *("tools", "sandbox", "bash", "shellPath", "async", "eval", "python", "rpc", "task", "irc", "mcp"),
        *("ssh", "fetch", "web_search", "browser", "providers", "exa", "searxng", "github"),
    ),
    "Files": ("read", "edit", "search", "commit", "lsp", "debug"),
}
OTHER = "More"
SCREEN_GROUPS = ("theme", "statusLine", "display", "interaction")
_LAYERS = {
    "user": "your settings.json",
    "project": "this project",
    "file": "a --config file",
    "flag": "this run (a flag or --config)",
}


def tabs() -> dict[str, list[str]]:
    """The keys of all settings by tab; the rest come last."""
    by_head = {head: name for name, heads in TABS.items() for head in heads}
    keys: dict[str, list[str]] = {name: [] for name in (*TABS, OTHER)}
    for declared in describe_settings():
        keys[by_head.get(declared.key.partition(".")[0], OTHER)].append(declared.key)
    return {name: own for name, own in keys.items() if own}


def setting_rows(loaded: LoadedSettings, choices: Mapping[str, Sequence[str]]) -> dict[str, SettingRow]:
    """A row for every setting. `choices` lists the allowed values of text settings, such as themes."""
    values = setting_values(loaded.settings)
    return {one.key: row_of(one, values[one.key], choices.get(one.key, ())) for one in describe_settings()}


def row_of(declared: Declared, value: object, choices: Sequence[str] = ()) -> SettingRow:
    """One setting with its value."""
    kind, allowed = kind_of(declared.annotation.__origin__)
    (meta,) = declared.annotation.__metadata__
    if choices and kind == "text":
        kind, allowed = "choice", tuple(dict.fromkeys([*choices, str(value)]))
    group, _, name = declared.key.rpartition(".")
    return SettingRow(
        key=declared.key,
        label=label_of(name),
        value=display_value(value),
        kind=kind,
        description=f"{declared.description}. ({declared.key})",
        group=label_of(group) if group else "General",
        choices=allowed,
        minimum=meta.ge,
        maximum=meta.le,
        step=step_of(declared.default) if kind == "number" else 1,
    )


def kind_of(annotation: object) -> tuple[SettingKind, tuple[Value, ...]]:
    """How a value of this type is edited, and its allowed values."""
    origin = get_origin(annotation)
    if annotation is bool:
        return "toggle", ()
    if origin is Literal:
        return "choice", get_args(annotation)
    if annotation in (int, float):
        return "number", ()
    if origin is dict:
        return "submenu", ()
    if annotation is str or origin in (list, Union, UnionType):
        return "text", ()
    raise TypeError(f"no way to change a value of the type {annotation}")


def step_of(default: Any) -> float:
    """What one press of an arrow key changes: a sensible part of the usual size."""
    if isinstance(default, float):
        return 0.05
    digits = len(str(abs(int(default))))
    return float(10 ** max(digits - 2, 0))


def display_value(value: Any) -> Value:
    """A value as shown in a row: lists with commas, objects as JSON, None as empty."""
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return json.encode(value).decode() if value else ""
    plain: Value = value
    return plain


def parse_value(declared: Declared, value: Value) -> object:
    """The value to store in the file; None removes the setting."""
    annotation = declared.annotation.__origin__
    if get_origin(annotation) is list:
        return [part.strip() for part in str(value).split(",") if part.strip()]
    if get_origin(annotation) in (Union, UnionType) and value == "":
        return None
    return value


def facts(declared: Declared, loaded: LoadedSettings) -> str:
    """Where the value comes from, its default, when a change takes effect, and who may set it."""
    origin = loaded.origin(declared.key)
    where = _LAYERS.get(origin.layer, "")
    parts = [f"From {where}" if origin.path is None or origin.layer == "user" else f"From {origin.path}"]
    if origin.layer == "default":
        parts = ["Not changed"]
    else:
        parts.append(f"default {_default(declared.default)}")
    if effect := takes_effect(declared.key):
        parts.append(f"changes take effect {effect}")
    if declared.scope == "tighten":
        parts.append("projects can only tighten it")
    elif declared.scope == "user" and declared.key.partition(".")[0] not in SCREEN_GROUPS:
        parts.append("projects cannot set it")
    return "; ".join(parts) + "."


def _default(value: object) -> str:
    if value is None or value in ([], {}):
        return "not set"
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else show_value(value).strip('"')


def label_of(name: str) -> str:
    """`hideThinking` as `Hide thinking`, `bash.autoBackground` as `Bash, auto background`."""
    words = re.sub(r"([a-z0-9])([A-Z])", lambda found: f"{found[1]} {found[2].lower()}", name)
    words = words.replace(".", ", ")
    return words[:1].upper() + words[1:]
