"""Checks, parses, stores and resets the value of one setting."""

from collections.abc import Sequence
from typing import Any, get_args, get_origin

from msgspec import DecodeError, Raw, ValidationError, convert, json

from tau.base.errors import ConfigError, UsageError
from tau.base.late import late
from tau.config.descriptions import show_value
from tau.config.json_file import change_json
from tau.config.paths import Paths
from tau.config.setting_table import Setting, setting_of, setting_values, settings_by_key, split_member
from tau.config.settings import Settings

difflib = late("difflib")

EXAMPLES = {list: '["first", "second"]', dict: '{"name": "value"}'}


def find_setting(key: str) -> Setting:
    """Return the setting with this dotted key; UsageError with similar names if there is none."""
    found = setting_of(key)
    if found is None:
        raise UsageError(f'Unknown setting "{key}".{suggest_names(key) or " List all with tau config list."}')
    return found


def suggest_names(key: str) -> str:
    """A sentence that suggests similar settings, or nothing."""
    known = settings_by_key()
    inside = [
        name for name in known if name.lower().endswith("." + key.lower()) or name.startswith(key + ".")
    ]
    by_case = {name.lower(): name for name in known}
    near = [by_case[name] for name in difflib.get_close_matches(key.lower(), by_case, 3, 0.7)]
    group = key.lower().rpartition(".")[0]
    near = [name for name in near if name.lower().rpartition(".")[0] == group] or near
    names = list(dict.fromkeys([*near, *inside]))[:3]
    return f" Did you mean {' or '.join(names)}?" if names else ""


def value_problem(setting: Setting, value: Any) -> str | None:
    """What is wrong with a value, in one sentence, or None."""
    for name in value if isinstance(value, dict) else ():
        member = setting_of(f"{setting.key}.{name}")
        if member is not None and (problem := value_problem(member, value[name])):
            return problem
    try:
        convert(value, setting.annotation)
    except ValidationError:
        return f"{setting.key} must be {setting.type}, not {show_value(value)}."
    return None


def parse_value(setting: Setting, text: str) -> Any:
    """Parse a typed value: `true`, `10`, bare or quoted text, JSON for lists and objects."""
    annotation = setting.annotation.__origin__
    kinds = get_args(annotation) if type(None) in get_args(annotation) else (annotation,)
    try:
        value = json.decode(text)
    except (DecodeError, UnicodeError):
        value = text
    if str in kinds and not isinstance(value, str) and not (value is None and type(None) in kinds):
        value = text
    problem = value_problem(setting, value)
    if problem:
        example = EXAMPLES.get(get_origin(annotation) or annotation)
        raise UsageError(problem + (f" Write it as JSON: '{example}'." if example else ""))
    return value


def setting_value(settings: Settings, key: str) -> Any:
    """The plain value of one setting, or of a member of a map; None if the map lacks it."""
    name, member = split_member(key)
    value = setting_values(settings)[name]
    return value.get(member) if member else value


def set_setting(paths: Paths, key: str, value_text: str) -> object:
    """Store one setting in the user's file and return its value."""
    value = parse_value(find_setting(key), value_text)
    encoded = json.encode(value)

    def change(members: dict[str, Raw]) -> None:
        name, member = split_member(key)
        path = [*name.split("."), *([member] if member else ())]
        if not _replace(members, key, encoded) and not _insert(members, path, encoded):
            message = f"Cannot set {key}: its group in the file is not an object; fix that first."
            raise ConfigError(message, path=paths.settings)

    change_json(paths.settings, change)
    return value


def reset_setting(paths: Paths, key: str) -> bool:
    """Remove one key, nested or dotted, from the user's file and return whether it was there.

    Unknown keys can be removed too.
    """
    if not paths.settings.exists():
        find_setting(key)
        return False
    found = False

    def change(members: dict[str, Raw]) -> None:
        nonlocal found
        found = _replace(members, key, None)
        if not found:
            find_setting(key)

    change_json(paths.settings, change)
    return found


def _replace(members: dict[str, Raw], key: str, value: bytes | None) -> bool:
    """Change or remove `key` wherever it is, nested or dotted; False if it is missing."""
    found = key in members
    if found and value is not None:
        members[key] = Raw(value)
    elif found:
        del members[key]
    for group, rest in _splits(key):
        inner = _object(members.get(group))
        if inner is None or not _replace(inner, rest, value):
            continue
        found = True
        if inner:
            members[group] = Raw(json.encode(inner))
        else:
            del members[group]
    return found


def _insert(members: dict[str, Raw], path: Sequence[str], value: bytes) -> bool:
    """Add a value in nested spelling; False if its group is not an object."""
    group, *rest = path
    if not rest:
        members[group] = Raw(value)
        return True
    inner = _object(members.get(group)) if group in members else {}
    if inner is None or not _insert(inner, rest, value):
        return False
    members[group] = Raw(json.encode(inner))
    return True


def _splits(key: str) -> list[tuple[str, str]]:
    parts = key.split(".")
    return [(".".join(parts[:at]), ".".join(parts[at:])) for at in range(1, len(parts))]


def _object(raw: Raw | None) -> dict[str, Raw] | None:
    if raw is None or not bytes(raw).lstrip().startswith(b"{"):
        return None
    return json.decode(raw, type=dict[str, Raw])
