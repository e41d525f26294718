"""Lists the keys of relay.json, for the table in docs/relay.md."""

from collections.abc import Iterator
from types import UnionType
from typing import Any, get_args, get_origin

from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo, fields

from tau.config.descriptions import describe_type, show_value
from tau.relay.settings import RelayConfig


class RelaySetting(Struct, frozen=True):
    """One key as the docs table shows it."""

    key: str
    type: str
    default: str
    description: str


def describe_config(struct: type[Struct] = RelayConfig, prefix: str = "") -> Iterator[RelaySetting]:
    for one in fields(struct):
        key = prefix + one.encode_name
        if is_group(one):
            yield from describe_config(one.type, f"{key}.")
            continue
        (meta,) = one.type.__metadata__
        default = one.default_factory() if one.default_factory is not NODEFAULT else one.default
        shown = "required" if one.required else "" if default is None else show_value(default)
        yield RelaySetting(key, _short_type(one.type), shown, meta.description)


def _short_type(annotation: Any) -> str:
    text = describe_type(annotation)
    inner = get_args(annotation)[0]
    return text.removesuffix(" or null") if get_origin(inner) is UnionType else text


def is_group(one: FieldInfo) -> bool:
    return isinstance(one.type, type) and issubclass(one.type, Struct)
