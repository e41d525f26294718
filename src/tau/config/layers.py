"""Settings from their layers: defaults < user < project < --config files < flags, merged as plain data."""

import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, ValidationError
from msgspec.structs import replace

from tau.base.errors import UsageError
from tau.base.files import mode_of
from tau.base.late import late
from tau.config.json_file import JsonFile, read_json
from tau.config.paths import Paths, project_dir
from tau.config.settings import Settings

descriptions = late("tau.config.descriptions")
project_rules = late("tau.config.project_rules")
scopes = late("tau.config.setting_scopes")
table = late("tau.config.setting_table")
setting_values = late("tau.config.setting_values")

Layer = Literal["default", "user", "project", "file", "flag"]


class SettingOrigin(Struct, frozen=True):
    """Where a value comes from; `path` if that is a file."""

    layer: Layer
    path: Path | None = None

    def __str__(self) -> str:
        return self.layer if self.path is None else f"{self.layer}: {self.path}"


DEFAULT = SettingOrigin("default")


class LoadedSettings(Struct, frozen=True):
    """`origins` has the keys that a layer sets; the others have their defaults. `project` is what the
    project's file sets and may set, `dropped` what it no longer sets and still holds.
    """

    settings: Settings
    origins: dict[str, SettingOrigin]
    warnings: list[str]
    project: dict[str, Any] = {}
    dropped: dict[str, Any] = {}

    def origin(self, key: str) -> SettingOrigin:
        return self.origins.get(key, DEFAULT)


class RunOverrides(Struct, frozen=True):
    """Overrides for one run: --config files, then flags."""

    files: tuple[Path, ...] = ()
    flags: dict[str, Any] = {}


def load_settings(
    paths: Paths, cwd: Path, *, files: Sequence[Path] = (), flags: Mapping[str, object] | None = None
) -> LoadedSettings:
    """Read and merge all layers. `files` come from --config; a flag with value None was not given.

    What the project's file forbade earlier and no longer does holds until the user accepts the change.
    """
    loaded = _load(paths, cwd, files, flags or {}, {})
    if not mode_of(paths.project_rules):
        return loaded
    dropped, notices = project_rules.dropped_rules(cwd, paths, loaded)
    if dropped:
        loaded = _load(paths, cwd, files, flags or {}, dropped)
    return replace(loaded, warnings=[*notices, *loaded.warnings], dropped=dropped)


def _load(
    paths: Paths, cwd: Path, files: Sequence[Path], flags: Mapping[str, Any], dropped: Mapping[str, Any]
) -> LoadedSettings:
    merged: dict[str, object] = {}
    origins: dict[str, SettingOrigin] = {}
    warnings: list[str] = []
    sources: list[tuple[JsonFile, Layer]] = []
    project: dict[str, object] = {}
    for path, layer in _files(paths, cwd, files):
        if layer == "file":
            _merge(merged, dropped)
            dropped = {}
        source = read_json(path)
        values, ignored = _accepted_values(source, layer, paths, merged)
        warnings += ignored
        if values:
            sources.append((source, layer))
        _merge(merged, values)
        if layer == "project":
            project = values
        origins.update(dict.fromkeys(_names(values), SettingOrigin(layer, path)))
    _merge(merged, dropped)
    given = {key: value for key, value in _flatten(flags) if value is not None}
    _merge(merged, given)
    origins.update(dict.fromkeys(_names(given), SettingOrigin("flag")))
    try:
        settings = table.convert_settings(_nest(merged)) if merged else Settings()
    except ValidationError:
        _raise_for_bad_value(sources, given)
        raise
    _refuse_unknown_flags(given)
    return LoadedSettings(settings, origins, warnings, project)


def _files(paths: Paths, cwd: Path, files: Sequence[Path]) -> Iterator[tuple[Path, Layer]]:
    yield paths.settings, "user"
    project = project_dir(cwd, paths)
    if project is not None:
        yield project / "settings.json", "project"
    for path in files:
        if not stat.S_ISREG(mode_of(path)):
            raise UsageError(f"Settings file {path} not found.")
        yield path, "file"


def _accepted_values(
    source: JsonFile, layer: Layer, paths: Paths, current: Mapping[str, Any]
) -> tuple[dict[str, object], list[str]]:
    """The accepted values of a file under dotted keys, and a warning for everything else.

    `current` are the values of earlier layers.
    """
    accepted: dict[str, Any] = {}
    ignored: list[str] = []
    for key, value in _flatten(source.content):
        setting = table.setting_of(key)
        refusal = _refusal(setting, value, paths, current) if setting and layer == "project" else ""
        if setting is not None and not refusal:
            _merge(accepted, {key: value})
            continue
        if table.is_setting_group(key):
            raise source.error(f"{key} is a group and must be an object: {{ ... }}.", key)
        if setting is not None:
            reason = f"Ignored {key}: {refusal}"
        elif key == "$schema":
            continue
        else:
            reason = f'Ignored unknown setting "{key}".{setting_values.suggest_names(key)}'
        ignored.append(str(source.error(reason, key)))
    return accepted, ignored


def _refusal(setting: "table.Setting", value: object, paths: Paths, current: Mapping[str, object]) -> str:
    """Why a project cannot set this value; empty if it can."""
    if setting.scope == "any":
        return ""
    if setting.scope == "user":
        return f"only you can set it, in {paths.settings}."
    own = current.get(setting.key, setting.default)
    if scopes.tightens(setting.key, value, own):
        return ""
    return f"a project can only make it stricter than your {descriptions.show_value(own)}."


def _flatten(content: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield dotted keys and values from nested or dotted spelling; an unknown object is one value.

    A member of a map, such as modelRoles.smol, is yielded as a map with only this member.
    """
    for name, value in content.items():
        key = prefix + name
        if isinstance(value, dict) and table.is_setting_group(key):
            yield from _flatten(value, key + ".")
            continue
        owner, member = table.split_member(key)
        yield (owner, {member: value}) if member else (key, value)


def _names(values: Mapping[str, object]) -> Iterator[str]:
    """The keys, and those of the members of maps."""
    for key, value in values.items():
        yield key
        if isinstance(value, dict):
            yield from (f"{key}.{member}" for member in value)


def _merge(merged: dict[str, Any], values: Mapping[str, object]) -> None:
    """Merge objects by member and lists that all layers add to; replace everything else."""
    for key, value in values.items():
        old = merged.get(key)
        if isinstance(old, list) and isinstance(value, list) and _is_joined(key):
            merged[key] = [*old, *(one for one in value if one not in old)]
        elif isinstance(old, dict) and isinstance(value, dict):
            merged[key] = dict(old)
            _merge(merged[key], value)
        else:
            merged[key] = value


def _is_joined(key: str) -> bool:
    setting = table.setting_of(key)
    return setting is not None and setting.joined


def _nest(values: Mapping[str, object]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key, value in values.items():
        *groups, name = key.split(".")
        members = nested
        for group in groups:
            members = members.setdefault(group, {})
        members[name] = value
    return nested


def _raise_for_bad_value(sources: Sequence[tuple[JsonFile, Layer]], flags: Mapping[str, Any]) -> None:
    """Find the invalid value and raise an error with its place and the allowed values."""
    for key, value in flags.items():
        setting = table.setting_of(key)
        if setting is not None and (problem := setting_values.value_problem(setting, value)):
            raise UsageError(problem)
    for source, layer in reversed(sources):
        for key, value in _flatten(source.content):
            setting = table.setting_of(key)
            if setting is None or (layer == "project" and setting.scope != "any"):
                continue
            if problem := setting_values.value_problem(setting, value):
                raise source.error(problem, key)


def setting_problems(content: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with settings that no file holds yet, a sentence each."""
    for key, value in _flatten(content):
        setting = table.setting_of(key)
        if setting is None:
            yield f'unknown setting "{key}".{setting_values.suggest_names(key)}'
        elif problem := setting_values.value_problem(setting, value):
            yield problem


def _refuse_unknown_flags(flags: Mapping[str, Any]) -> None:
    for key in flags:
        if table.setting_of(key) is None:
            raise UsageError(f'Unknown setting "{key}".{setting_values.suggest_names(key)}')
