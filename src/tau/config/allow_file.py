"""Adds patterns to `tools.allow` in the user's settings file, where nothing else is touched."""

from collections.abc import Iterable

from msgspec import Raw, ValidationError, json

from tau.base.errors import ConfigError
from tau.config.json_file import change_json
from tau.config.paths import Paths

GROUP, NAME = "tools", "allow"
KEY = f"{GROUP}.{NAME}"


def add_allowed(paths: Paths, patterns: Iterable[str]) -> None:
    """Keep these patterns beside those that are there, each once. Raises ConfigError."""

    def change(members: dict[str, Raw]) -> None:
        try:
            if KEY in members:
                members[KEY] = _with(members[KEY], patterns)
                return
            group = json.decode(members[GROUP], type=dict[str, Raw]) if GROUP in members else {}
            group[NAME] = _with(group.get(NAME), patterns)
        except ValidationError:
            raise ConfigError(f"{KEY} must be a list of texts; correct it.", path=paths.settings) from None
        members[GROUP] = Raw(json.encode(group))

    change_json(paths.settings, change)


def _with(stored: Raw | None, patterns: Iterable[str]) -> Raw:
    old = [] if stored is None else json.decode(stored, type=list[str])
    return Raw(json.encode(list(dict.fromkeys((*old, *patterns)))))
