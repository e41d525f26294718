"""Checks requests of the revision 2026-07-28, which need no session, and completes their results."""

from base64 import b64decode
from binascii import Error
from collections.abc import Mapping
from typing import Any

from tau.base.json_rpc import INVALID_PARAMS, METHOD_NOT_FOUND, JsonRpcError
from tau.base.version import VERSION
from tau.ext.mcp.messages import (
    HEADER_MISMATCH,
    META,
    MODERN_VERSIONS,
    UNSUPPORTED_VERSION,
    dict_at,
    text_at,
)

METHODS = frozenset(
    (
        *("server/discover", "tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list"),
        *("resources/templates/list", "resources/read", "completion/complete"),
    )
)
CACHEABLE = frozenset(one for one in METHODS if one.endswith("/list")) | {"server/discover", "resources/read"}
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
SERVER_INFO = {"name": "tau", "title": "tau", "version": VERSION}


def is_stateless(method: str, params: Mapping[str, Any]) -> bool:
    return method == "server/discover" or f"{META}protocolVersion" in dict_at(params, "_meta")


def check_request(method: str, params: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
    """Raises JsonRpcError."""
    meta = dict_at(params, "_meta")
    for key in ("protocolVersion", "clientCapabilities"):
        if f"{META}{key}" not in meta:
            raise JsonRpcError(INVALID_PARAMS, f"_meta lacks {META}{key}.")
    if headers is not None:
        _check_headers(headers, method, params)
    version = text_at(meta, f"{META}protocolVersion", 40)
    if version not in MODERN_VERSIONS:
        data = {"supported": MODERN_VERSIONS, "requested": version}
        raise JsonRpcError(UNSUPPORTED_VERSION, f'The revision "{version}" is not supported.', data)
    if method not in METHODS:
        raise JsonRpcError(METHOD_NOT_FOUND, f"Unknown method {method}.")


def _check_headers(headers: Mapping[str, str], method: str, params: Mapping[str, Any]) -> None:
    """Headers repeat what the body says, so that proxies can trust them. Raises JsonRpcError."""
    wanted = {
        "mcp-protocol-version": text_at(dict_at(params, "_meta"), f"{META}protocolVersion"),
        "mcp-method": method,
    }
    if method in NAMED:
        wanted["mcp-name"] = text_at(params, NAMED[method])
    for name, value in wanted.items():
        if _plain(headers.get(name, "").strip()) != value and value:
            raise JsonRpcError(HEADER_MISMATCH, f"The header {name} differs from the body.")


def _plain(value: str) -> str:
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return b64decode(value[9:-2], validate=True).decode()
    except (Error, UnicodeDecodeError):
        return ""


def complete(method: str, result: dict[str, Any]) -> dict[str, Any]:
    """A result as this revision wants it. What we list can change any time."""
    hints = {"ttlMs": 0, "cacheScope": "private"} if method in CACHEABLE else {}
    return {"resultType": "complete", "_meta": {f"{META}serverInfo": SERVER_INFO}, **hints, **result}
