"""JSON schemas of tool parameters, and decoding of a model's arguments with errors it can act on."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, TypeVar, get_type_hints

import msgspec
from msgspec import Struct

from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.text import shortened

error_paths = late("tau.base.error_paths")
inspect = late("inspect")

P = TypeVar("P", bound=Struct)
_Schema = dict[str, Any]

UNLISTED = {"unlisted": True}  # `extra_json_schema` of a parameter that is accepted but not sent to models

_MAX_VALUE_CHARS = 80


@cache
def json_schema(params: type[Struct]) -> _Schema:
    """The schema of a parameter struct as sent with every request, without what is useless to a model.

    The result is cached: do not modify it.
    """
    schema = full_schema(params)
    return {
        key: _compact(value) if key == "properties" else value
        for key, value in schema.items()
        if value != []  # nothing is required
    }


def decode_arguments(params: type[P], arguments: Mapping[str, Any]) -> tuple[P, list[str]]:
    """The parameters, and the names of unknown arguments.

    Accepts what models send: "5" for 5, lists as JSON text, null for "not given". A struct may declare
    `aliases: ClassVar[dict[str, str]]`, names that models know from other tools. Raises ToolError.
    """
    schema = full_schema(params)
    known, ignored = _match_names(params, schema, arguments)
    missing = [name for name in schema.get("required", ()) if name not in known]
    if missing:
        raise ToolError(_missing_message(schema, missing, arguments))
    try:
        return msgspec.convert(known, params, strict=False), ignored
    except msgspec.ValidationError as error:
        errors = list(_field_errors(params, schema, known)) or [str(error)]
        raise ToolError(f"Wrong arguments: {'; '.join(errors)}.") from None


def _match_names(
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
            known[name] = _parse_json_text(value, properties[name])
    return known, ignored


def _parse_json_text(value: Any, schema: _Schema) -> Any:
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


def _missing_message(schema: _Schema, missing: list[str], arguments: Mapping[str, Any]) -> str:
    required = schema.get("required", ())
    fields = ", ".join(name if name in required else f"{name} (optional)" for name in schema["properties"])
    noun = "field is" if len(missing) == 1 else "fields are"
    received = [f"`{name}`{' (null)' if arguments[name] is None else ''}" for name in [*arguments][:20]]
    sent = ", ".join(received) or "nothing"
    names = ", ".join(f"`{name}`" for name in missing)
    return f"Required {noun} missing: {names}. Fields: {fields}. Received: {sent}."


def _field_errors(params: type[Struct], schema: _Schema, known: Mapping[str, Any]) -> Iterator[str]:
    for field in msgspec.structs.fields(params):
        if field.encode_name not in known:
            continue
        value = known[field.encode_name]
        try:
            msgspec.convert(value, field.type, strict=False)
        except msgspec.ValidationError as error:
            expected = schema["properties"][field.encode_name]
            yield _error_message(field.encode_name, value, expected, schema.get("$defs", {}), str(error))


def _error_message(name: str, value: Any, schema: _Schema, definitions: _Schema, error: str) -> str:
    """One field's error. Inside lists and objects, follow the path that msgspec names as far as possible."""
    message, steps = error_paths.split_path(error)
    where = f"`{name}{error_paths.format_path(*steps)}`"
    for step in steps:
        schema = _resolve(schema, definitions)
        inner = schema.get("properties", {}).get(step) if isinstance(step, str) else schema.get("items")
        if inner is None:
            return f"{where}: {message}"
        schema, value = inner, value[step]
    sent = shortened(msgspec.json.encode(value).decode(), _MAX_VALUE_CHARS)
    return f"{where} must be {_describe_schema(_resolve(schema, definitions))}, not {sent}"


def _resolve(schema: _Schema, definitions: _Schema) -> _Schema:
    """Resolve a reference, or the type in "this or null"."""
    options = [option for option in schema.get("anyOf", ()) if option != {"type": "null"}]
    if len(options) == 1:
        schema = options[0]
    target: _Schema = definitions.get(schema.get("$ref", "").removeprefix("#/$defs/"), schema)
    return target


def _describe_schema(schema: _Schema) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(msgspec.json.encode(value).decode() for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(
            _describe_schema(option) for option in schema["anyOf"] if option != {"type": "null"}
        )
    kind = schema["type"]
    if kind in ("integer", "number"):
        return ("an integer" if kind == "integer" else "a number") + _bounds(schema, "minimum", "maximum")
    if kind == "array":
        of = (schema.get("items") or {}).get("type", "value")
        plural = "lists" if of == "array" else f"{of}s"
        return f"a list of {plural}" + _bounds(schema, "minItems", "maxItems")
    if kind == "object":
        names = ", ".join(schema.get("properties", ()))
        return f"an object with {names}" if names else "an object"
    if kind == "string":
        return "a string" + _bounds(schema, "minLength", "maxLength")
    return "true or false"


_UNITS = {"minItems": " items", "minLength": " characters"}


def _bounds(schema: _Schema, low: str, high: str) -> str:
    unit = _UNITS.get(low, "")
    minimum, maximum = schema.get(low), schema.get(high)
    if minimum is not None and maximum is not None:
        return f" from {minimum} to {maximum}{unit}" if not unit else f" of {minimum} to {maximum}{unit}"
    if minimum is not None:
        return f" of at least {minimum}{unit}"
    return f" of at most {maximum}{unit}" if maximum is not None else ""


@cache
def full_schema(params: type[Struct]) -> _Schema:
    """msgspec's schema with references inlined, except where a type contains itself.

    A parameter that the tool's prompt explains has a `title`, for people, instead of a description.
    """
    raw = msgspec.json.schema(params)
    definitions: _Schema = raw.pop("$defs", {})
    for definition in definitions.values():
        definition.pop("description", None)  # a docstring, for programmers
    needed: set[str] = set()
    schema = _inline_references(raw, definitions, (), needed)
    inlined: _Schema = {}
    while needed - inlined.keys():
        name = min(needed - inlined.keys())
        inlined[name] = _inline_references(definitions[name], definitions, (name,), needed)
    return {**schema, "$defs": inlined} if inlined else schema


def _inline_references(node: Any, definitions: _Schema, ancestors: tuple[str, ...], needed: set[str]) -> Any:
    if isinstance(node, list):
        return [_inline_references(item, definitions, ancestors, needed) for item in node]
    if not isinstance(node, dict):
        return node
    name = node.get("$ref", "").removeprefix("#/$defs/")
    if name in ancestors:
        needed.add(name)
        return node
    if name:
        siblings = {key: value for key, value in node.items() if key != "$ref"}
        target = _inline_references(definitions[name], definitions, (*ancestors, name), needed)
        return {**target, **siblings}
    result: _Schema = {}
    for key, value in node.items():
        if key == "properties":
            result[key] = {
                field: _inline_references(schema, definitions, ancestors, needed)
                for field, schema in value.items()
            }
        elif key != "discriminator" and (key != "title" or "properties" not in node):
            result[key] = _inline_references(value, definitions, ancestors, needed)
    if "type" not in result and all(isinstance(value, str) for value in result.get("enum", (None,))):
        result["type"] = "string"  # some servers reject a property without a type
    return result


_USELESS = (("minItems", 1), ("minLength", 1), ("minimum", 0))
_EXPLAINED = ("title", "default", "minimum", "maximum", "maxItems", "maxLength")  # the prompt has them


def _compact(properties: _Schema) -> _Schema:
    return {name: _compact_field(field) for name, field in properties.items() if "unlisted" not in field}


def _compact_field(field: _Schema) -> _Schema:
    """Drop what is useless to a model: empty defaults and items, and other ways to say the same.

    These are "or null" where omitting it is enough, and "or one item" where a list is taken.
    """
    field = dict(field)
    if "default" in field:
        if len(options := [o for o in field.get("anyOf", ()) if o != {"type": "null"}]) == 1:
            del field["anyOf"]
            field = {**options[0], **field}
        if not field["default"]:
            del field["default"]
    one, *more = field.get("anyOf", ({},))
    if more == [{"type": "array", "items": one}]:
        del field["anyOf"]
        field = {**field, **more[0]}
    useless = _EXPLAINED if "title" in field else ()
    field = {
        key: value for key, value in field.items() if key not in useless and (key, value) not in _USELESS
    }
    if "properties" in field:
        field["properties"] = _compact(field["properties"])
    if isinstance(field.get("items"), dict):
        field["items"] = _compact_field(field["items"])
    return field


def function_schema(function: Callable[..., Any]) -> _Schema:
    """The schema of a function's parameters, from their hints. Raises TypeError for one without a hint."""
    hints = get_type_hints(function, include_extras=True)
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in hints:
            raise TypeError(f"The parameter {name} of {function.__name__} needs a type hint.")
        has_default = parameter.default is not parameter.empty
        fields.append((name, hints[name], parameter.default) if has_default else (name, hints[name]))
    return json_schema(msgspec.defstruct(function.__name__, fields))
