"""Stores the user's permission rules in their settings file."""

from collections.abc import Callable, Iterable

from msgspec import Raw, ValidationError, json

from tau.base.errors import ConfigError
from tau.config.json_file import change_json
from tau.config.paths import Paths

_GROUP = "tools"


def add_rules(paths: Paths, name: str, patterns: Iterable[str]) -> None:
    """Add patterns to the list `tools.<name>`, without duplicates. Raises ConfigError."""
    _change(paths, name, lambda old: list(dict.fromkeys((*old, *patterns))))


def remove_rule(paths: Paths, name: str, pattern: str) -> bool:
    """Remove a pattern from the list `tools.<name>`; whether it was there. Raises ConfigError."""
    found = False

    def without(old: list[str]) -> list[str]:
        nonlocal found
        found = pattern in old
        return [one for one in old if one != pattern]

    if paths.settings.exists():
        _change(paths, name, without)
    return found


def _change(paths: Paths, name: str, change: Callable[[list[str]], list[str]]) -> None:
    """Change a list wherever it is, under a dotted key or in its group."""
    key = f"{_GROUP}.{name}"

    def apply(members: dict[str, Raw]) -> None:
        try:
            if key in members:
                members[key] = _changed(members[key], change)
                return
            group = json.decode(members[_GROUP], type=dict[str, Raw]) if _GROUP in members else {}
            group[name] = _changed(group.get(name), change)
        except ValidationError:
            raise ConfigError(f"{key} must be a list of strings.", path=paths.settings) from None
        members[_GROUP] = Raw(json.encode(group))

    change_json(paths.settings, apply)


def _changed(stored: Raw | None, change: Callable[[list[str]], list[str]]) -> Raw:
    return Raw(json.encode(change([] if stored is None else json.decode(stored, type=list[str]))))
