"""Checks the data of a yield against a JSON Schema; loaded with the first agent that has one."""

from collections.abc import Iterator
from typing import Any

import jsonschema
import msgspec
import referencing

from tau.base.text import shortened

MAX_ERRORS = 20
EMPTY: tuple[object, ...] = (None, "", [], {})


def schema_problem(schema: object) -> str | None:
    """Why a schema cannot be used."""
    if not isinstance(schema, (dict, bool)):
        return "a schema is an object"
    try:
        jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator).check_schema(schema)  # type: ignore[arg-type]
    except (jsonschema.SchemaError, RecursionError, ValueError) as error:
        return shortened(str(getattr(error, "message", error)), 300)
    return None


def check(data: Any, schema: dict[str, object]) -> tuple[object, list[str]]:
    """The data as the schema wants it, and all that is wrong with it.

    Models send JSON as a string, and empty values for optional fields: both are repaired.
    """
    errors = list(_errors(data, schema))
    if errors and isinstance(data, str):
        try:
            parsed = msgspec.json.decode(_unfenced(data))
        except (msgspec.DecodeError, RecursionError):
            return data, errors
        return check(parsed, schema) if not isinstance(parsed, str) else (data, errors)
    if errors:
        pruned = _without_empty(data, schema)
        if pruned != data and len(fewer := list(_errors(pruned, schema))) < len(errors):
            return pruned, fewer
    return data, errors


def _errors(data: Any, schema: dict[str, object]) -> Iterator[str]:
    kind = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
    registry: Any = referencing.Registry()  # fetches nothing
    try:
        for count, error in enumerate(kind(schema, registry=registry).iter_errors(data)):
            if count == MAX_ERRORS:
                yield "and more"
                return
            yield f"{error.json_path}: {shortened(error.message, 300)}"
    except Exception as error:  # of a schema with references to elsewhere, or nested without end
        yield f"the schema cannot be used: {shortened(str(error), 200)}"


def _without_empty(data: object, schema: object, depth: int = 0) -> object:
    """Without the empty values of fields that are not required."""
    if depth > 50 or not isinstance(schema, dict):
        return data
    if isinstance(data, dict):
        required = schema.get("required", ())
        properties = schema.get("properties", {})
        return {
            name: _without_empty(value, properties.get(name), depth + 1)
            for name, value in data.items()
            if value not in EMPTY or name in required
        }
    if isinstance(data, list):
        return [_without_empty(one, schema.get("items"), depth + 1) for one in data]
    return data


def _unfenced(text: str) -> str:
    return text.strip().removeprefix("```json").removeprefix("```").removesuffix("```")
