"""JSON schemas of tool parameters, and decoding of a model's arguments with errors it can act on."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.text import shortened

error_paths = late("tau.base.error_paths")

P = TypeVar("P", bound=Struct)
_Schema = dict[str, Any]

_SHOWN_CHARS = 80


@cache
def json_schema(params: type[Struct]) -> _Schema:
    """The schema of a parameter struct as sent with every request, without what is useless to a model.

    The result is cached: do not modify it.
    """
    schema = _full_schema(params)
    return {key: _compact(value) if key == "properties" else value for key, value in schema.items()}


def decode_arguments(params: type[P], arguments: Mapping[str, Any]) -> tuple[P, list[str]]:
    """The parameters, and the names of unknown arguments.

    Accepts what models send: "5" for 5, lists as JSON text, null for "not given". A struct may declare
    `aliases: ClassVar[dict[str, str]]`, names that models know from other tools. Raises ToolError.
    """
    schema = _full_schema(params)
    known, ignored = _settle(params, schema, arguments)
    missing = [name for name in schema.get("required", ()) if name not in known]
    if missing:
        raise ToolError(_missing_text(schema, missing, arguments))
    try:
        return msgspec.convert(known, params, strict=False), ignored
    except msgspec.ValidationError as error:
        wrong = list(_wrong_fields(params, schema, known)) or [str(error)]
        raise ToolError(f"Wrong arguments: {'; '.join(wrong)}.") from None


def _settle(
    params: type[Struct], schema: _Schema, arguments: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """The arguments under our names, without those that mean "not given"; and the unknown names."""
    properties: _Schema = schema["properties"]
    aliases: Mapping[str, str] = getattr(params, "aliases", {})
    known: dict[str, Any] = {}
    ignored: list[str] = []
    for sent_name, value in arguments.items():
        name = sent_name
        if name not in properties and aliases.get(name, name) not in arguments:
            name = aliases.get(name, name)
        if name not in properties:
            ignored.append(sent_name)
        elif value is not None or {"type": "null"} in properties[name].get("anyOf", ()):
            known[name] = _unquoted(value, properties[name])
    return known, ignored


def _unquoted(value: Any, schema: _Schema) -> Any:
    """Parse a list or object sent as JSON text; return any other value as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    kinds = {option.get("type") for option in schema.get("anyOf", (schema,))}
    if "string" in kinds or not kinds & {"array", "object"}:
        return value
    try:
        return msgspec.json.decode(value)
    except msgspec.DecodeError:
        return value


def _missing_text(schema: _Schema, missing: list[str], arguments: Mapping[str, Any]) -> str:
    required = schema.get("required", ())
    fields = ", ".join(name if name in required else f"{name} (optional)" for name in schema["properties"])
    noun = "field is" if len(missing) == 1 else "fields are"
    received = [f"`{name}`{' (null)' if arguments[name] is None else ''}" for name in [*arguments][:20]]
    sent = ", ".join(received) or "nothing"
    names = ", ".join(f"`{name}`" for name in missing)
    return f"Required {noun} missing: {names}. Fields: {fields}. Received: {sent}."


def _wrong_fields(params: type[Struct], schema: _Schema, known: Mapping[str, Any]) -> Iterator[str]:
    for field in msgspec.structs.fields(params):
        if field.encode_name not in known:
            continue
        value = known[field.encode_name]
        try:
            msgspec.convert(value, field.type, strict=False)
        except msgspec.ValidationError as error:
            expected = schema["properties"][field.encode_name]
            yield _wrong_text(field.encode_name, value, expected, schema.get("$defs", {}), str(error))


def _wrong_text(name: str, value: Any, schema: _Schema, definitions: _Schema, error: str) -> str:
    """One field's error. Inside lists and objects, follow the path that msgspec names as far as possible."""
    message, steps = error_paths.split_place(error)
    where = f"`{name}{error_paths.spell(*steps)}`"
    for step in steps:
        schema = _opened(schema, definitions)
        inner = schema.get("properties", {}).get(step) if isinstance(step, str) else schema.get("items")
        if inner is None:
            return f"{where}: {message}"
        schema, value = inner, value[step]
    return f"{where} must be {_expected(_opened(schema, definitions))}, not {_shown(value)}"


def _opened(schema: _Schema, definitions: _Schema) -> _Schema:
    """Resolve a reference, or the type in "this or null"."""
    options = [option for option in schema.get("anyOf", ()) if option != {"type": "null"}]
    if len(options) == 1:
        schema = options[0]
    target: _Schema = definitions.get(schema.get("$ref", "").removeprefix("#/$defs/"), schema)
    return target


def _shown(value: Any) -> str:
    return shortened(msgspec.json.encode(value).decode(), _SHOWN_CHARS)


def _expected(schema: _Schema) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(msgspec.json.encode(value).decode() for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_expected(option) for option in schema["anyOf"] if option != {"type": "null"})
    kind = schema["type"]
    if kind in ("integer", "number"):
        return ("an integer" if kind == "integer" else "a number") + _bounds(schema, "minimum", "maximum")
    if kind == "array":
        of = schema.get("items") or {}
        return f"a list of {_PLURALS.get(of.get('type', ''), 'values')}" + _bounds(
            schema, "minItems", "maxItems"
        )
    if kind == "object":
        names = ", ".join(schema.get("properties", ()))
        return f"an object with {names}" if names else "an object"
    if kind == "string":
        return "a string" + _bounds(schema, "minLength", "maxLength")
    return "true or false"


_PLURALS = {
    "string": "strings",
    "integer": "integers",
    "number": "numbers",
    "boolean": "booleans",
    "object": "objects",
    "array": "lists",
}
_COUNTED = {"minItems": " items", "minLength": " characters"}


def _bounds(schema: _Schema, low: str, high: str) -> str:
    unit = _COUNTED.get(low, "")
    minimum, maximum = schema.get(low), schema.get(high)
    if minimum is not None and maximum is not None:
        return f" from {minimum} to {maximum}{unit}" if not unit else f" of {minimum} to {maximum}{unit}"
    if minimum is not None:
        return f" of at least {minimum}{unit}"
    return f" of at most {maximum}{unit}" if maximum is not None else ""


@cache
def _full_schema(params: type[Struct]) -> _Schema:
    """msgspec's schema with references inlined, except where a type contains itself."""
    raw = msgspec.json.schema(params)
    definitions: _Schema = raw.pop("$defs", {})
    needed: set[str] = set()
    schema = _inlined(raw, definitions, (), needed)
    schema.pop("description", None)  # the tool's prompt says it better than the struct's docstring
    done: _Schema = {}
    while needed - done.keys():
        name = min(needed - done.keys())
        done[name] = _inlined(definitions[name], definitions, (name,), needed)
    return {**schema, "$defs": done} if done else schema


def _inlined(node: Any, definitions: _Schema, inside: tuple[str, ...], needed: set[str]) -> Any:
    if isinstance(node, list):
        return [_inlined(item, definitions, inside, needed) for item in node]
    if not isinstance(node, dict):
        return node
    name = node.get("$ref", "").removeprefix("#/$defs/")
    if name in inside:
        needed.add(name)
        return node
    if name:
        beside = {key: value for key, value in node.items() if key != "$ref"}
        target = _inlined(definitions[name], definitions, (*inside, name), needed)
        return {**target, **beside}
    result: _Schema = {}
    for key, value in node.items():
        if key == "properties":
            result[key] = {
                field: _inlined(schema, definitions, inside, needed) for field, schema in value.items()
            }
        elif key not in ("title", "discriminator"):
            result[key] = _inlined(value, definitions, inside, needed)
    if "type" not in result and all(isinstance(value, str) for value in result.get("enum", (None,))):
        result["type"] = "string"  # some servers reject a property without a type
    return result


def _compact(properties: _Schema) -> _Schema:
    return {name: _compact_field(field) for name, field in properties.items()}


def _compact_field(field: _Schema) -> _Schema:
    """Drop what is useless to a model: empty defaults, and "or null" where omitting it means the same."""
    field = dict(field)
    if "default" in field:
        if len(options := [o for o in field.get("anyOf", ()) if o != {"type": "null"}]) == 1:
            del field["anyOf"]
            field = {**options[0], **field}
        if not field["default"]:
            del field["default"]
    if "properties" in field:
        field["properties"] = _compact(field["properties"])
    if isinstance(field.get("items"), dict):
        field["items"] = _compact_field(field["items"])
    return field
