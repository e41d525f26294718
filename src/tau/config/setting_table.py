"""The settings as people see them: a table by dotted key, derived from the struct."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

from msgspec import Meta, Struct, convert, to_builtins
from msgspec.json import decode, schema
from msgspec.structs import FieldInfo, fields, replace

from tau.base.late import late
from tau.config.settings import Scope, Settings

descriptions = late("tau.config.descriptions")
scopes = late("tau.config.setting_scopes")


class Setting(Struct, frozen=True):
    """One setting as people see it; values are checked against `annotation`."""

    key: str
    default: Any
    description: str
    scope: Scope
    annotation: Any
    joined: bool = False  # the values of all layers count
    members: tuple[str, ...] = ()  # usual names in a map, such as the roles in modelRoles

    @property
    def type(self) -> str:
        return descriptions.describe_type(self.annotation)


@cache
def settings_by_key() -> dict[str, Setting]:
    """Every setting under its dotted key, in the order of the struct."""
    return _walk(Settings, "")


def setting_of(key: str) -> Setting | None:
    """The setting with this dotted key, or the member of a map, such as modelRoles.smol.

    Looks only at the groups on the way: at a start, all are too many.
    """
    name, member = split_member(key)
    one = _field_of(name)
    if one is None or _is_group(one):
        return None
    setting = _describe(name, one)
    if not member:
        return setting
    annotation = _annotated(get_args(setting.annotation.__origin__)[1])
    return replace(setting, key=key, default=None, annotation=annotation, members=())


def split_member(key: str) -> tuple[str, str]:
    """The key of a map and the name of its member; any other key as it is, without a member."""
    place = key.find(".")
    while place > 0:
        one = _field_of(key[:place])
        if one is None:
            break
        if not _is_group(one):
            is_map = get_origin(_annotated(one.type).__origin__) is dict
            return (key[:place], key[place + 1 :]) if is_map else (key, "")
        place = key.find(".", place + 1)
    return key, ""


def is_setting_group(key: str) -> bool:
    one = _field_of(key)
    return one is not None and _is_group(one)


def describe_settings() -> list[Setting]:
    """The settings table, for `tau config list` and the docs."""
    return list(settings_by_key().values())


def convert_settings(values: Mapping[str, object]) -> Settings:
    """The settings with these nested values. Raises ValidationError. Only their types are looked at."""
    known = _fields_of(Settings)
    named = {
        known[key].name: convert(value, known[key].type) for key, value in values.items() if key in known
    }
    return replace(Settings(), **named)


def setting_values(settings: Settings) -> dict[str, Any]:
    """The plain value of every setting under its dotted key."""
    values: dict[str, Any] = {}
    plain = to_builtins(settings)
    for key in settings_by_key():
        value = plain
        for part in key.split("."):
            value = value[part]
        values[key] = value
    return values


def settings_schema() -> dict[str, object]:
    whole = schema(Settings)
    definitions = whole.pop("$defs")
    for key, description in _descriptions().items():
        struct: type[Struct] = Settings
        *groups, name = key.split(".")
        for group in groups:
            struct = _fields_of(struct)[group].type
        definitions[struct.__name__]["properties"][name]["description"] = description
    top = definitions.pop("Settings")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **top, "$defs": definitions}


def _walk(struct: type[Struct], prefix: str) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for name, one in _fields_of(struct).items():
        key = prefix + name
        found |= _walk(one.type, key + ".") if _is_group(one) else {key: _describe(key, one)}
    return found


@cache
def _fields_of(struct: type[Struct]) -> dict[str, FieldInfo]:
    return {one.encode_name: one for one in fields(struct)}


def _is_group(one: FieldInfo) -> bool:
    return isinstance(one.type, type) and issubclass(one.type, Struct)


def _field_of(key: str) -> FieldInfo | None:
    struct: type[Struct] = Settings
    *groups, name = key.split(".")
    for group in groups:
        one = _fields_of(struct).get(group)
        if one is None or not _is_group(one):
            return None
        struct = one.type
    return _fields_of(struct).get(name)


def _describe(key: str, one: FieldInfo) -> Setting:
    annotation = _annotated(one.type)
    (meta,) = annotation.__metadata__
    default = one.default_factory() if callable(one.default_factory) else one.default
    extra = meta.extra or {}
    scope: Scope = extra.get("scope") or scopes.scope_of(key)
    joined = extra.get("joined", False)
    members = extra.get("members", ())
    return Setting(key, default, _descriptions().get(key, ""), scope, annotation, joined, members)


def _annotated(type: object) -> Any:
    """With what else is known of the values, which may be nothing."""
    return type if hasattr(type, "__metadata__") else Annotated[type, Meta()]


@cache
def _descriptions() -> dict[str, str]:
    """By dotted key; apart from the struct, because a start needs none."""
    return decode(Path(__file__).with_name("setting_descriptions.json").read_bytes(), type=dict[str, str])
