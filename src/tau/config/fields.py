"""Checks hand-written data against a struct; errors name the field, its line and what is allowed there."""

from collections.abc import Collection, Mapping
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

from msgspec import Struct, UnsetType, ValidationError, convert, json
from msgspec.structs import fields

from tau.base.errors import ConfigError
from tau.base.late import late
from tau.config.descriptions import describe_type, show_value
from tau.config.json_file import JsonFile

difflib = late("difflib")
error_paths = late("tau.base.error_paths")

# Fields whose values are never shown, not even in an error.
SECRET = frozenset({"apiKey", "headers"})

S = TypeVar("S", bound=Struct)
FieldPath = tuple[str | int, ...]  # the keys and indexes that lead to a value in a file


@cache
def field_types(struct: type[Struct]) -> dict[str, Any]:
    """The fields of a struct as files spell them, with their annotations."""
    return {field.encode_name: field.type for field in fields(struct)}


def decode_struct(source: JsonFile, way: FieldPath, plain: Any, struct: type[S]) -> S:
    """Plain data at `way` in the file, as a struct."""
    try:
        return convert(plain, struct)
    except ValidationError as error:
        raise _explain(source, way, plain, struct, str(error)) from error


def check_members(source: JsonFile, way: FieldPath, members: Mapping[str, Any], struct: type[Struct]) -> None:
    """Members that change single fields of a struct: each must be one of its fields and fit."""
    known = field_types(struct)
    for name, value in members.items():
        if name not in known:
            raise source.error(f"{spell(*way, name)} is not known; there are {', '.join(known)}.", *way, name)
        try:
            convert(value, known[name])
        except ValidationError:
            raise _wrong(source, (*way, name), value, known[name]) from None


def unknown_fields(
    source: JsonFile, way: FieldPath, members: Mapping[str, Any], known: Collection[str]
) -> list[str]:
    """A warning for every field that nothing reads."""
    warnings = []
    for name in members:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1, 0.7)
            hint = f" Did you mean {near[0]}?" if near else ""
            warnings.append(
                str(source.error(f"Unknown field {spell(*way, name)} is ignored.{hint}", *way, name))
            )
    return warnings


def spell(*way: str | int) -> str:
    """A way in words: `providers.x.models[0]`."""
    return str(error_paths.spell(*way)).removeprefix(".")


def _wrong(source: JsonFile, way: FieldPath, value: Any, annotation: Any) -> ConfigError:
    shown = "" if SECRET.intersection(way) else f", not {show_value(value)}"
    return source.error(f"{spell(*way)} must be {describe_type(annotation)}{shown}.", *way)


def _explain(source: JsonFile, way: FieldPath, plain: Any, annotation: Any, text: str) -> ConfigError:
    """The decoder's complaint in our words. It tells the way to the value, but hides the keys of objects."""
    _, steps = error_paths.split_place(text)
    value = plain
    for step in steps:
        annotation = _inside(annotation, step)
        known_step = _misfit(value, annotation) if step is None else step
        value = value[known_step]
        way = (*way, known_step)
    if text.startswith("Object missing"):
        missing = next(name for name in field_types(annotation) if f"`{name}`" in text)
        return source.error(f"{spell(*way)} needs the field {missing}.", *way)
    return _wrong(source, way, value, annotation)


def _inside(annotation: Any, step: str | int | None) -> Any:
    """The annotation of a field, or of the elements of a list or an object."""
    if get_origin(annotation) in (Union, UnionType):
        annotation = next(part for part in get_args(annotation) if part is not UnsetType)
    if isinstance(step, str):
        return field_types(annotation)[step]
    return get_args(annotation)[1 if get_origin(annotation) is dict else 0]


def _misfit(members: Mapping[str, Any], annotation: Any) -> str:
    """The key of the first member that does not fit."""
    for key, value in members.items():
        try:
            convert(value, annotation)
        except ValidationError:
            return key
    raise AssertionError(f"every member fits: {json.encode(members)!r}")
