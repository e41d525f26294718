"""Checks hand-written data against a struct; errors name the field, its line and the allowed values."""

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

# Fields whose values are never shown, even in errors.
SECRET = frozenset({"apiKey", "headers"})

S = TypeVar("S", bound=Struct)
FieldPath = tuple[str | int, ...]  # keys and indexes of a value in a file


@cache
def field_types(struct: type[Struct]) -> dict[str, Any]:
    """A struct's fields as spelled in files, with their annotations."""
    return {field.encode_name: field.type for field in fields(struct)}


def decode_struct(source: JsonFile, way: FieldPath, plain: Any, struct: type[S]) -> S:
    """Convert plain data at `way` in the file to a struct."""
    try:
        return convert(plain, struct)
    except ValidationError as error:
        raise _explain(source, way, plain, struct, str(error)) from error


def check_members(source: JsonFile, way: FieldPath, members: Mapping[str, Any], struct: type[Struct]) -> None:
    """Check members that override single fields: each must be a known field with a valid value."""
    known = field_types(struct)
    for name, value in members.items():
        if name not in known:
            message = f"{format_path(*way, name)} is not a known field; use one of {', '.join(known)}."
            raise source.error(message, *way, name)
        try:
            convert(value, known[name])
        except ValidationError:
            raise _type_error(source, (*way, name), value, known[name]) from None


def unknown_fields(
    source: JsonFile, way: FieldPath, members: Mapping[str, Any], known: Collection[str]
) -> list[str]:
    """Return a warning for each unknown field."""
    warnings = []
    for name in members:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1, 0.7)
            hint = f" Did you mean {near[0]}?" if near else ""
            warnings.append(
                str(source.error(f"Ignored unknown field {format_path(*way, name)}.{hint}", *way, name))
            )
    return warnings


def format_path(*way: str | int) -> str:
    """Format a field path: `providers.x.models[0]`."""
    return error_paths.spell(*way).removeprefix(".")


def _type_error(source: JsonFile, way: FieldPath, value: Any, annotation: Any) -> ConfigError:
    shown = "" if SECRET.intersection(way) else f", not {show_value(value)}"
    return source.error(f"{format_path(*way)} must be {describe_type(annotation)}{shown}.", *way)


def _explain(source: JsonFile, way: FieldPath, plain: Any, annotation: Any, text: str) -> ConfigError:
    """Reword the decoder's error, whose path to the value omits the keys of objects."""
    _, steps = error_paths.split_place(text)
    value = plain
    for step in steps:
        annotation = _element_type(annotation, step)
        known_step = _first_misfit(value, annotation) if step is None else step
        value = value[known_step]
        way = (*way, known_step)
    if text.startswith("Object missing"):
        missing = next(name for name in field_types(annotation) if f"`{name}`" in text)
        return source.error(f"{format_path(*way)} needs the field {missing}.", *way)
    return _type_error(source, way, value, annotation)


def _element_type(annotation: Any, step: str | int | None) -> Any:
    """The annotation of a field, or of a list's or an object's elements."""
    if get_origin(annotation) in (Union, UnionType):
        annotation = next(part for part in get_args(annotation) if part is not UnsetType)
    if isinstance(step, str):
        return field_types(annotation)[step]
    return get_args(annotation)[1 if get_origin(annotation) is dict else 0]


def _first_misfit(members: Mapping[str, Any], annotation: Any) -> str:
    """The key of the first invalid member."""
    for key, value in members.items():
        try:
            convert(value, annotation)
        except ValidationError:
            return key
    raise AssertionError(f"every member fits: {json.encode(members)!r}")
