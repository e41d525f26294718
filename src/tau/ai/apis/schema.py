"""Rewrites tool schemas for servers that understand only a part of JSON Schema.

Each rule is a value of `Compat.schema_rules`:

- `inline-refs`: definitions replace the references to them; one that contains itself ends as any object.
- `no-unions`: of several alternatives, the first one that is not null; alternatives of words become one list.
- `no-null`: a value that may be null becomes one that may be left out.
- `typed`: a property without a type gets the one that its other keywords imply, else string.
- `known-keywords`: only keywords that every server knows.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from tau.ai.model import SchemaRule

Schema = dict[str, Any]

KNOWN = frozenset(
    {
        *("type", "description", "properties", "required", "items", "enum", "nullable", "anyOf", "format"),
        *("minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "pattern", "title"),
    }
)
UNIONS = ("anyOf", "oneOf")
DEFINITIONS = ("$defs", "definitions")
TYPES: dict[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array"}
IMPLIED = {"properties": "object", "additionalProperties": "object", "items": "array", "pattern": "string"}


def clean_schema(schema: Schema, rules: Collection[SchemaRule]) -> Schema:
    """The schema after the rules; the same object if there are none."""
    if not rules:
        return schema
    return _Cleaner(schema, frozenset(rules)).clean(schema, ())


class _Cleaner:
    def __init__(self, root: Schema, rules: frozenset[str]) -> None:
        self._root = root
        self._rules = rules

    def clean(self, schema: Schema, seen: tuple[str, ...]) -> Schema:
        """`seen` are the references that lead here."""
        if "inline-refs" in self._rules:
            found = self._inline(schema, seen)
            if found is None:
                return _kept({"type": "object"}, schema)
            schema, seen = found
        if "allOf" in schema and self._rules & {"no-unions", "known-keywords"}:
            schema = _with_all(schema)
        if "no-unions" in self._rules:
            schema = _without_unions(schema)
            if "$ref" in schema and "inline-refs" in self._rules:
                return self.clean(schema, seen)
        if "no-null" in self._rules:
            schema = _without_null(schema)
        if "typed" in self._rules:
            schema = _typed(schema)
        if "known-keywords" in self._rules:
            schema = _known(schema)
        return _mapped(schema, lambda inner: self.clean(inner, seen))

    def _inline(self, schema: Schema, seen: tuple[str, ...]) -> tuple[Schema, tuple[str, ...]] | None:
        """The schema with its definition in place; None if the definition contains itself."""
        schema = {key: value for key, value in schema.items() if key not in DEFINITIONS}
        while isinstance(ref := schema.get("$ref"), str):
            if ref in seen:
                return None
            seen = (*seen, ref)
            own = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**self._definition(ref), **own}
        return schema, seen

    def _definition(self, ref: str) -> Schema:
        found: Any = self._root
        for name in ref.removeprefix("#").strip("/").split("/"):
            found = (
                found.get(name.replace("~1", "/").replace("~0", "~"), {}) if isinstance(found, dict) else {}
            )
        if not isinstance(found, dict):
            return {}
        return {key: value for key, value in found.items() if key not in DEFINITIONS}


def _mapped(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """The schema with the schemas inside it changed."""
    changed: Schema = {}
    for key, value in schema.items():
        if key in ("properties", *DEFINITIONS) and isinstance(value, dict):
            changed[key] = {name: change(inner) for name, inner in value.items() if isinstance(inner, dict)}
        elif isinstance(value, dict) and key in ("items", "additionalProperties", "not"):
            changed[key] = change(value)
        elif isinstance(value, list) and key in (*UNIONS, "allOf", "prefixItems"):
            changed[key] = [change(inner) if isinstance(inner, dict) else inner for inner in value]
        else:
            changed[key] = value
    return changed


def _kept(schema: Schema, old: Mapping[str, Any]) -> Schema:
    """The schema with the description of the one that it replaces."""
    return {**schema, "description": old["description"]} if "description" in old else schema


def _is_null(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "null"


def _without_unions(schema: Schema) -> Schema:
    for key in UNIONS:
        parts = schema.get(key)
        if isinstance(parts, list):
            rest = {name: value for name, value in schema.items() if name != key}
            schema = {**_alternative(parts), **rest}
    types = schema.get("type")
    if isinstance(types, list):
        real = [name for name in types if name != "null"]
        schema = {**schema, "type": [*real[:1], *("null" for name in types if name == "null")]}
    return schema


def _with_all(schema: Schema) -> Schema:
    """One schema with the keywords of all parts of `allOf`."""
    merged = {name: value for name, value in schema.items() if name != "allOf"}
    parts = schema["allOf"]
    for part in parts if isinstance(parts, list) else ():
        merged = _merged(merged, part) if isinstance(part, dict) else merged
    return merged


def _alternative(parts: list[Any]) -> Schema:
    """One schema for all the alternatives."""
    words: list[Any] = []
    for part in parts:
        if isinstance(part, dict) and not _is_null(part):
            words.extend(part.get("enum") or ([part["const"]] if "const" in part else []))
    real = [part for part in parts if isinstance(part, dict) and not _is_null(part)]
    if not real:
        return {}
    chosen: Schema = dict(real[0])
    if words and all("const" in part or "enum" in part for part in real):
        chosen.pop("const", None)
        chosen["enum"] = list(dict.fromkeys(words))
    if len(real) < len(parts) and isinstance(chosen.get("type"), str):
        chosen["type"] = [chosen["type"], "null"]
    return chosen


def _merged(one: Schema, other: Schema) -> Schema:
    merged = {**other, **one}
    if "properties" in one and "properties" in other:
        merged["properties"] = {**other["properties"], **one["properties"]}
    if "required" in one and "required" in other:
        merged["required"] = list(dict.fromkeys([*one["required"], *other["required"]]))
    return merged


def _without_null(schema: Schema) -> Schema:
    types = schema.get("type")
    if isinstance(types, list):
        real = [name for name in types if name != "null"]
        schema = {**schema, "type": real[0] if len(real) == 1 else real} if real else _kept({}, schema)
    for key in UNIONS:
        if isinstance(parts := schema.get(key), list) and any(map(_is_null, parts)):
            real = [part for part in parts if not _is_null(part)]
            rest = {name: value for name, value in schema.items() if name != key}
            schema = {**real[0], **rest} if len(real) == 1 else {**rest, key: real}
    if isinstance(enum := schema.get("enum"), list) and None in enum:
        schema = {**schema, "enum": [value for value in enum if value is not None]}
    return {key: value for key, value in schema.items() if key != "default" or value is not None}


def _typed(schema: Schema) -> Schema:
    if "type" in schema or "$ref" in schema or any(key in schema for key in (*UNIONS, "allOf")):
        return schema
    values = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    named = next((kind for key, kind in IMPLIED.items() if key in schema), None)
    return {"type": TYPES.get(type(values[0]), "string") if values else named or "string", **schema}


def _known(schema: Schema) -> Schema:
    if "const" in schema and "enum" not in schema:
        schema = {**schema, "enum": [schema["const"]]}
    if "oneOf" in schema and "anyOf" not in schema:
        schema = {**schema, "anyOf": schema["oneOf"]}
    return {key: value for key, value in schema.items() if key in KNOWN}
