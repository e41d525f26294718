"""`tau config list|get|set|reset|path`: show and change settings."""

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from io import StringIO

from msgspec import json

from tau.base.errors import UsageError
from tau.cli.main import write_stdout
from tau.config.layers import LoadedSettings, load_settings
from tau.config.paths import Paths, current_folder, project_dir, user_paths
from tau.config.setting_table import setting_of, setting_values, settings_schema
from tau.config.setting_values import find_setting, reset_setting, set_setting, setting_value
from tau.modes.columns import align_rows
from tau.modes.output_stream import tell


def run(argv: Sequence[str]) -> int:
    """Run `tau config`. Raises UsageError and ConfigError."""
    with redirect_stdout(StringIO()) as text:  # written at once, which may fail
        _run(argv)
    return write_stdout(text.getvalue())


def _run(argv: Sequence[str]) -> None:
    words, as_json = _split(argv)
    action, arguments = (words[0], words[1:]) if words else ("list", [])
    if action not in ACTIONS:
        raise UsageError(f'Unknown action "{action}"; use one of {", ".join(ACTIONS)}.')
    do, wanted = ACTIONS[action]
    if len(arguments) != len(wanted):
        raise UsageError(f"Usage: {' '.join(['tau config', action, *wanted])}.")
    do(user_paths(os.environ), arguments, as_json)


def _split(argv: Sequence[str]) -> tuple[list[str], bool]:
    """Split words and options. The word after `set KEY` is a value, even if it starts with a dash."""
    words: list[str] = []
    options: set[str] = set()
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            words += rest
            break
        is_value = len(words) == 2 and words[0] == "set" and word != "--json"
        if word.startswith("-") and not is_value:
            options.add(word)
        else:
            words.append(word)
    unknown = options - {"--json"}
    if unknown:
        raise UsageError(f'Unknown flag "{min(unknown)}". See tau config --help.')
    return words, "--json" in options


def _list(paths: Paths, _: list[str], as_json: bool) -> None:
    loaded = _load(paths)
    values = setting_values(loaded.settings)
    if as_json:
        _write_json([_row(key, value, loaded) for key, value in values.items()])
        return
    rows = [("setting", "value", "from")]
    rows += [(key, _show(value), _place(loaded, key)) for key, value in values.items()]
    sys.stdout.write("\n".join([*align_rows(rows), ""]))


def _get(paths: Paths, arguments: list[str], as_json: bool) -> None:
    key = find_setting(arguments[0]).key
    loaded = _load(paths)
    value = setting_value(loaded.settings, key)
    if as_json:
        _write_json(_row(key, value, loaded))
    else:
        sys.stdout.write((value if isinstance(value, str) else json.encode(value).decode()) + "\n")


def _set(paths: Paths, arguments: list[str], as_json: bool) -> None:
    key, text = arguments
    value = set_setting(paths, key, text)
    loaded = _load(paths)
    if as_json:
        _write_json(_row(key, setting_value(loaded.settings, key), loaded))
        return
    sys.stdout.write(f"{key} is now {_show(value)}, in {paths.settings}.\n")
    _report_override(loaded, key)


def _reset(paths: Paths, arguments: list[str], as_json: bool) -> None:
    (key,) = arguments
    was_set = reset_setting(paths, key)
    loaded = _load(paths)
    known = setting_of(key) is not None
    value = setting_value(loaded.settings, key) if known else None
    if as_json:
        _write_json(_row(key, value, loaded) if known else {"key": key, "value": None})
        return
    done = "was removed from" if was_set else "is not set in"
    now = f"; it is now {_show(value)}" if known else ""
    sys.stdout.write(f"{key} {done} {paths.settings}{now}.\n")
    _report_override(loaded, key)


def _path(paths: Paths, _: list[str], as_json: bool) -> None:
    if not as_json:
        sys.stdout.write(f"{paths.settings}\n")
        return
    project = project_dir(current_folder(), paths)
    names = ("home", "settings", "auth", "models", "sessions", "logs")
    _write_json(
        {
            **{name: str(getattr(paths, name)) for name in names},
            "project": str(project / "settings.json") if project else None,
        }
    )


def _schema(paths: Paths, _: list[str], as_json: bool) -> None:
    _write_json(settings_schema())


_Action = Callable[[Paths, list[str], bool], None]

ACTIONS: dict[str, tuple[_Action, tuple[str, ...]]] = {
    "list": (_list, ()),
    "get": (_get, ("KEY",)),
    "set": (_set, ("KEY", "VALUE")),
    "reset": (_reset, ("KEY",)),
    "path": (_path, ()),
    "schema": (_schema, ()),
}


def _load(paths: Paths) -> LoadedSettings:
    loaded = load_settings(paths, current_folder())
    for warning in loaded.warnings:
        tell(warning)
    return loaded


def _report_override(loaded: LoadedSettings, key: str) -> None:
    origin = loaded.origin(key)
    if origin.layer == "project":
        tell(f"In this folder, {origin.path} overrides {key}.")


def _place(loaded: LoadedSettings, key: str) -> str:
    origin = loaded.origin(key)
    return origin.layer if origin.path is None else str(origin.path)


def _row(key: str, value: object, loaded: LoadedSettings) -> dict[str, object]:
    setting = find_setting(key)
    origin = loaded.origin(key)
    return {
        "key": key,
        "value": value,
        "origin": origin.layer,
        "path": str(origin.path) if origin.path else None,
        "default": setting.default,
        "type": setting.type,
        "scope": setting.scope,
        "description": setting.description,
    }


def _show(value: object) -> str:
    """Format text bare, None as a dash, everything else, and the empty text, as JSON."""
    if isinstance(value, str) and value:
        return value
    return "-" if value is None else json.encode(value).decode()


def _write_json(value: object) -> None:
    sys.stdout.write(json.format(json.encode(value), indent=2).decode() + "\n")
