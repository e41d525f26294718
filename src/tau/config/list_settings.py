"""Changes lists in the user's settings file, such as permission rules."""

from collections.abc import Callable, Iterable

from msgspec import Raw, ValidationError, json

from tau.base.errors import ConfigError
from tau.config.json_file import change_json
from tau.config.paths import Paths

_GROUP = "tools"


def add_rules(paths: Paths, name: str, patterns: Iterable[str]) -> None:
    """Add patterns to the list `tools.<name>`, without duplicates. Raises ConfigError."""
    add_to_list(paths, f"{_GROUP}.{name}", patterns)


def remove_rule(paths: Paths, name: str, pattern: str) -> bool:
    """Remove a pattern from the list `tools.<name>`; whether it was there. Raises ConfigError."""
    return remove_from_list(paths, f"{_GROUP}.{name}", pattern)


def add_to_list(paths: Paths, key: str, values: Iterable[str]) -> None:
    """Add values to the list of a setting, without duplicates. Raises ConfigError."""
    _change(paths, key, lambda old: list(dict.fromkeys((*old, *values))))


def remove_from_list(paths: Paths, key: str, value: str) -> bool:
    """Remove a value from the list of a setting; whether it was there. Raises ConfigError."""
    found = False

    def without(old: list[str]) -> list[str]:
        nonlocal found
        found = value in old
        return [one for one in old if one != value]

    if paths.settings.exists():
        _change(paths, key, without)
    return found


def _change(paths: Paths, key: str, change: Callable[[list[str]], list[str]]) -> None:
    """Change a list wherever it is, under a dotted key or in its group."""
    group_name, _, name = key.rpartition(".")

    def apply(members: dict[str, Raw]) -> None:
        try:
            if key in members or not group_name:
                members[key] = _changed(members.get(key), change)
                return
            group = json.decode(members.get(group_name, Raw(b"{}")), type=dict[str, Raw])
            group[name] = _changed(group.get(name), change)
        except ValidationError:
            raise ConfigError(f"{key} must be a list of strings.", path=paths.settings) from None
        members[group_name] = Raw(json.encode(group))

    change_json(paths.settings, apply)


def _changed(stored: Raw | None, change: Callable[[list[str]], list[str]]) -> Raw:
    return Raw(json.encode(change([] if stored is None else json.decode(stored, type=list[str]))))
