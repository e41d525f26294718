"""`keybindings.json`: the user's keys by action name."""

from pathlib import Path

from tau.config.json_file import read_json


def load_keybindings(path: Path) -> dict[str, list[str]]:
    """Load the keys of each action in the file; an empty list unbinds an action.

    Raises ConfigError with path and line. The screen checks the action names.
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
