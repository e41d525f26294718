"""Checks arguments against a tool's schema, and reads those that come as plain text."""

from typing import Any

from msgspec import DecodeError, json

MAX_REFERENCES = 20

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def matches(value: object, schema: object, root: dict[str, Any], references: int = 0) -> bool:
    """Whether a value fits the parts of JSON Schema that tools use. Unknown keywords allow everything."""
    if not isinstance(schema, dict):
        return schema is not False
    if isinstance(name := schema.get("$ref"), str):
        if references > MAX_REFERENCES:
            return True
        return matches(value, _definition(name, root), root, references + 1)
    if (kinds := _kinds(schema)) and not any(_is_a(value, kind) for kind in kinds):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "const" in schema and value != schema["const"]:
        return False
    for word in ("anyOf", "oneOf"):
        choices = schema.get(word)
        if choices and not any(matches(value, choice, root, references) for choice in choices):
            return False
    if not all(matches(value, part, root, references) for part in schema.get("allOf", ())):
        return False
    if isinstance(value, list) and "items" in schema:
        return all(matches(item, schema["items"], root, references) for item in value)
    return not isinstance(value, dict) or _has_properties(value, schema, root, references)


def _has_properties(
    value: dict[str, object], schema: dict[str, Any], root: dict[str, Any], references: int
) -> bool:
    properties = schema.get("properties", {})
    if any(name not in value for name in schema.get("required", ())):
        return False
    others = schema.get("additionalProperties", True)
    return all(matches(item, properties.get(name, others), root, references) for name, item in value.items())


def _kinds(schema: dict[str, Any]) -> list[str]:
    kind = schema.get("type")
    return [kind] if isinstance(kind, str) else list(kind or ())


def _is_a(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(kind, (object,)))


def _definition(name: str, root: dict[str, object]) -> object:
    found: object = root
    for step in name.removeprefix("#/").split("/"):
        found = found.get(step, {}) if isinstance(found, dict) else {}
    return found


def read_text(text: str, schema: object, root: dict[str, object]) -> object:
    """The value of a parameter that came as text: text where the schema takes text, else JSON.

    Text that is neither comes back as it is, and does not match the schema.
    """
    if matches("", _unbounded(schema), root) or matches(text, schema, root):
        return text
    try:
        return json.decode(text.strip())
    except DecodeError:
        word = text.strip().lower()
        return {"true": True, "false": False, "none": None, "null": None}.get(word, text)


def _unbounded(schema: object) -> object:
    """The schema without the values that it allows: an enumeration of words is text too."""
    if isinstance(schema, dict) and all(isinstance(one, str) for one in schema.get("enum", [0])):
        return {key: value for key, value in schema.items() if key != "enum"}
    return schema
