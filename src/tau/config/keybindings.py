"""`keybindings.json`: keys of the user's own, by the name of what they do."""

from pathlib import Path

from tau.config.json_file import read_json


def load_keybindings(path: Path) -> dict[str, list[str]]:
    """The keys of each action that the file names; an empty list takes an action's keys away.

    Raises ConfigError with path and line. Whether the names mean anything is for the screen to say.
    """
    source = read_json(path)
    found: dict[str, list[str]] = {}
    for action, value in source.content.items():
        keys = [value] if isinstance(value, str) else value
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            message = f'"{action}" needs a key such as "ctrl+g", or a list of keys.'
            raise source.error(message, action)
        found[action] = keys
    return found
