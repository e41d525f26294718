"""Whether a value fits a tool's schema."""

from typing import Any

import pytest

from tau.ai.text_calls.values import matches

PATH: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


@pytest.mark.parametrize(
    ("schema", "fitting", "other"),
    [
        ({"type": "integer"}, [1, 1.0], [True, 1.5, "1", None]),
        ({"type": "number"}, [1, 1.5], [False, "1"]),
        ({"type": "boolean"}, [True], [1, "true"]),
        ({"type": ["string", "null"]}, ["", None], [0, []]),
        ({"type": "of the future"}, [1, {}], []),
        ({}, [1, {}], []),
        (True, [1, {}], []),
        (False, [], [1, {}]),
        ({"enum": ["a", 1]}, ["a", 1], ["b", None]),
        ({"const": "a"}, ["a"], ["b"]),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, ["a", None], [1]),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, ["a", None], [1]),
        ({"allOf": [{"type": "string"}, {"enum": ["a", 1]}]}, ["a"], ["b", 1]),
        ({"type": "array", "items": {"type": "string"}}, [[], ["a", "b"]], [["a", 1], "a", {}]),
        (PATH, [{"path": "a"}, {"path": "a", "more": 1}], [{}, {"path": 1}, {"more": 1}]),
        ({**PATH, "additionalProperties": False}, [{"path": "a"}], [{"path": "a", "more": 1}]),
        ({"additionalProperties": {"type": "string"}}, [{"a": "b"}, 1], [{"a": 1}]),
    ],
    ids=str,
)
def test_value_fits_the_schema(schema: Any, fitting: list[Any], other: list[Any]) -> None:
    root = schema if isinstance(schema, dict) else {}
    assert [matches(value, schema, root) for value in fitting] == [True] * len(fitting)
    assert [matches(value, schema, root) for value in other] == [False] * len(other)


@pytest.mark.parametrize(("count", "fits"), [(1, False), (21, False), (22, True)])
def test_schema_of_more_than_21_references_allows_everything(count: int, fits: bool) -> None:
    root: dict[str, Any] = {"$defs": {str(n): {"$ref": f"#/$defs/{n + 1}"} for n in range(1, count)}}
    root["$defs"][str(count)] = {"type": "string"}
    assert matches("a", {"$ref": "#/$defs/1"}, root)
    assert matches(5, {"$ref": "#/$defs/1"}, root) is fits
