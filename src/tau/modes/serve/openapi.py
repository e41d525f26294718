"""The OpenAPI document: the operations, and a path for every session command."""

import re
from typing import Any

import msgspec
from msgspec import Struct

from tau.base.version import VERSION
from tau.modes.serve.errors import HttpErrorBody
from tau.modes.serve.idempotency import MAX_KEY_CHARS
from tau.modes.serve.operation import ApiOperation
from tau.modes.session_commands.command import SessionCommand

_TEMPLATE = "#/components/schemas/{name}"
_ERROR = {
    "description": "Failed",
    "content": {"application/json": {"schema": {"$ref": _TEMPLATE.format(name="HttpErrorBody")}}},
}
_FAILURES = ("400", "401", "403", "404", "409", "413", "415", "421", "429")


def openapi_document(
    operations: tuple[ApiOperation, ...], command: ApiOperation, commands: dict[str, SessionCommand]
) -> dict[str, object]:
    types: dict[object, None] = {HttpErrorBody: None}
    for operation in (*operations, command):
        types |= dict.fromkeys(one for one in (operation.body, operation.query, operation.response) if one)
    for row in commands.values():
        types |= dict.fromkeys(one for one in (row.request, row.response) if one)
    listed = list(types)
    schemas, components = msgspec.json.schema_components(listed, ref_template=_TEMPLATE)
    components["ImageContent"]["required"].remove("type")  # in requests, images are among themselves
    by_type = dict(zip(listed, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(
            operation, by_type, components
        )
    for name, row in commands.items():
        path = command.path.replace("{name}", name)
        paths[path] = {"post": _described_command(command, row, by_type, components)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "tau", "version": VERSION},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "tau_token"},
            },
        },
    }


def _described(
    operation: ApiOperation, by_type: dict[object, Any], components: dict[str, Any]
) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", operation.path)
    ]
    parameters += [
        {"name": name, "in": "header", "schema": {"type": "string", "maxLength": MAX_KEY_CHARS}}
        for name in operation.headers
    ]
    if operation.query is not None:
        properties = _struct_schema(operation.query, by_type, components).get("properties", {})
        parameters += [{"name": name, "in": "query", "schema": schema} for name, schema in properties.items()]
    answer: dict[str, Any] = {"description": "Done"}
    if operation.media:
        answer["content"] = {media: {} for media in operation.media}
    elif operation.response is not None:
        answer["content"] = {"application/json": {"schema": by_type[operation.response]}}
    status = 204 if operation.response is None and not operation.media else operation.status
    described: dict[str, object] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": parameters,
        "responses": {str(status): answer, **dict.fromkeys(_FAILURES, _ERROR)},
    }
    if not operation.is_open:
        described["security"] = [{"token": []}, {"cookie": []}]
    if operation.body is not None:
        described["requestBody"] = _body(operation.body, by_type, components)
    return described


def _described_command(
    command: ApiOperation, row: SessionCommand, by_type: dict[object, Any], components: dict[str, object]
) -> dict[str, object]:
    data = {} if row.response is None else {"data": by_type[row.response]}
    answer: dict[str, object] = {
        "type": "object",
        "properties": {**data, "sessionId": {"type": "string"}},
        "required": list(data),
    }
    described = _described(
        msgspec.structs.replace(command, path=command.path.replace("{name}", row.name)), by_type, components
    )
    described["operationId"] = f"command_{row.name}"
    described["summary"] = row.summary
    described["responses"]["200"]["content"]["application/json"]["schema"] = answer
    described["requestBody"] = _body(row.request, by_type, components)
    return described


def _body(type: type[Struct], by_type: dict[object, object], components: dict[str, Any]) -> dict[str, Any]:
    required = bool(_struct_schema(type, by_type, components).get("required"))
    return {"required": required, "content": {"application/json": {"schema": by_type[type]}}}


def _struct_schema(type: type[Struct], by_type: dict[Any, Any], components: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = components[by_type[type]["$ref"].rpartition("/")[2]]
    return found
