"""Tool schemas for servers that understand only a part of JSON Schema."""

from typing import Any

import pytest

from tau.ai.apis.schema import KNOWN, clean_schema
from tau.ai.model import SchemaRule

ALL: tuple[SchemaRule, ...] = ("inline-refs", "no-unions", "no-null", "typed", "known-keywords")
POINT = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"$ref": "#/$defs/Number"}}}
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "at": {"$ref": "#/$defs/Point", "description": "Where"},
        "tree": {"$ref": "#/$defs/Tree"},
        "limit": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": None},
        "kind": {"oneOf": [{"const": "a"}, {"const": "b"}, {"enum": ["c", "a"]}]},
        "name": {"type": ["string", "null"], "default": None},
        "free": {"description": "Anything"},
        "word": {"enum": [1, 2, None]},
        "list": {"items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
        "both": {"allOf": [{"$ref": "#/$defs/Point"}, {"required": ["x"]}]},
        "map": {"type": "object", "additionalProperties": {"type": "string"}, "propertyNames": {}},
    },
    "required": ["at"],
    "additionalProperties": False,
    "$defs": {
        "Point": POINT,
        "Number": {"type": "number", "exclusiveMinimum": 0},
        "Tree": {
            "type": "object",
            "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
        },
    },
}


def cleaned(*rules: SchemaRule) -> dict[str, Any]:
    properties: dict[str, Any] = clean_schema(SCHEMA, rules)["properties"]
    return properties


def test_without_rules_nothing_changes() -> None:
    assert clean_schema(SCHEMA, ()) is SCHEMA


def test_references_are_replaced_by_what_they_name() -> None:
    properties = cleaned("inline-refs")
    assert properties["at"] == {
        "type": "object",
        "properties": {"x": {"type": "integer"}, "y": {"type": "number", "exclusiveMinimum": 0}},
        "description": "Where",
    }
    assert "$defs" not in clean_schema(SCHEMA, ["inline-refs"])


def test_definition_that_contains_itself_ends_as_an_object() -> None:
    assert cleaned("inline-refs")["tree"]["properties"]["children"]["items"] == {"type": "object"}


def test_reference_to_nothing_is_anything() -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/Gone"}, "b": {"$ref": "https://x/y"}}}
    assert clean_schema(schema, ["inline-refs"])["properties"] == {"a": {}, "b": {}}


def test_unions_become_one_alternative() -> None:
    properties = cleaned("no-unions")
    assert properties["limit"]["type"] == ["integer", "null"]
    assert properties["kind"] == {"enum": ["a", "b", "c"]}
    assert properties["list"]["items"] == {"type": "string"}


def test_nullable_values_lose_null() -> None:
    properties = cleaned("no-null")
    assert properties["limit"] == {"type": "integer", "minimum": 1}
    assert properties["name"] == {"type": "string"}
    assert properties["word"] == {"enum": [1, 2]}


def test_every_property_gets_a_type() -> None:
    properties = cleaned("typed")
    assert properties["free"] == {"type": "string", "description": "Anything"}
    assert properties["word"]["type"] == "integer"
    assert properties["list"]["type"] == "array"


def test_unknown_keywords_are_removed() -> None:
    properties = cleaned("known-keywords")
    assert properties["map"] == {"type": "object"}
    assert properties["kind"]["anyOf"] == [{"enum": ["a"]}, {"enum": ["b"]}, {"enum": ["c", "a"]}]
    assert "$schema" not in clean_schema(SCHEMA, ["known-keywords"])


def test_all_rules_leave_what_the_strictest_server_takes() -> None:
    def check(schema: dict[str, Any]) -> None:
        assert set(schema) <= KNOWN
        assert isinstance(schema["type"], str) and schema["type"] != "null"
        assert not {"anyOf", "oneOf", "allOf", "$ref"} & set(schema)
        for inner in schema.get("properties", {}).values():
            check(inner)
        if "items" in schema:
            check(schema["items"])

    whole = clean_schema(SCHEMA, ALL)
    check(whole)
    assert whole["required"] == ["at"] and list(whole["properties"]) == list(SCHEMA["properties"])
    assert whole["properties"]["both"]["required"] == ["x"]
    assert whole["properties"]["kind"]["enum"] == ["a", "b", "c"]
    assert whole["properties"]["limit"] == {"type": "integer", "minimum": 1}


@pytest.mark.parametrize("rule", ALL)
def test_cleaning_twice_changes_nothing(rule: SchemaRule) -> None:
    once = clean_schema(SCHEMA, [rule])
    assert clean_schema(once, [rule]) == once


@pytest.mark.parametrize("key", ("$ref", "anyOf", "oneOf", "allOf"))
def test_property_that_gets_its_type_elsewhere_gets_none(key: str) -> None:
    value: Any = "#/$defs/Point" if key == "$ref" else [{"type": "integer"}, {"type": "string"}]
    schema = {"type": "object", "properties": {"x": {key: value}}, "$defs": {"Point": POINT}}
    assert clean_schema(schema, ["typed"])["properties"]["x"] == {key: value}
