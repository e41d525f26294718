"""What users set for a plugin: its manifest declares the names, one file keeps the values."""

from pathlib import Path
from typing import Any

from msgspec import DecodeError, json

from tau.base.errors import TauError
from tau.base.files import make_private, write_atomic
from tau.ext.plugins.manifest import TYPES, read_manifest


class PluginSettings:
    """Of the plugin in `folder`; the values of all plugins are in `plugins/settings.json`."""

    def __init__(self, home: Path, folder: Path, name: str) -> None:
        self._path = home / "plugins" / "settings.json"
        self._name = name
        declared = read_manifest(folder).settings
        self.declared = {key: row for key, row in declared.items() if isinstance(row, dict)}

    def values(self) -> dict[str, Any]:
        """Those that the user has set, else the defaults."""
        own = self._stored().get(self._name, {})
        return {key: own.get(key, row.get("default")) for key, row in self.declared.items()}

    def lines(self) -> list[str]:
        values = self.values()
        return [
            f"{key} = {json.encode(values[key]).decode()}  {row.get('description', '')}".rstrip()
            for key, row in self.declared.items()
        ] or [f"{self._name} has no settings."]

    def change(self, key: str, text: str | None) -> None:
        """Set it, or with None use the default again. Raises TauError."""
        if key not in self.declared:
            names = ", ".join(self.declared) or "none"
            raise TauError(f'{self._name} has no setting "{key}"; it has {names}.')
        stored = self._stored()
        own = {name: value for name, value in stored.get(self._name, {}).items() if name != key}
        if text is not None:
            own[key] = _parsed(key, text, self.declared[key])
        make_private(self._path.parent)
        write_atomic(self._path, json.format(json.encode({**stored, self._name: own}), indent=2))

    def _stored(self) -> dict[str, dict[str, object]]:
        try:
            return json.decode(self._path.read_bytes(), type=dict[str, dict[str, Any]])
        except FileNotFoundError:
            return {}
        except DecodeError as error:
            raise TauError(f"{self._path} cannot be read: {error}") from error


def _parsed(key: str, text: str, row: dict[str, Any]) -> object:
    kind = str(row.get("type") or "string")
    value: object = text
    if kind != "string":
        try:
            value = json.decode(text)
        except DecodeError:
            value = None
        if type(value) not in TYPES.get(kind, (object,)):
            example = {"boolean": "true or false", "list": 'a list such as ["a", "b"]'}.get(kind, f"a {kind}")
            raise TauError(f'{key} needs {example}, not "{text}".')
    choices = row.get("enum")
    if isinstance(choices, list) and value not in choices:
        named = " or ".join(map(str, choices))
        raise TauError(f'{key} can be {named}, not "{text}".')
    return value
