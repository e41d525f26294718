"""What MCP servers send: tools, resources, prompts and results, read tolerantly."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Raw, Struct, json

from tau.base.errors import TauError
from tau.base.late import late

hashlib = late("hashlib")

HANDSHAKE_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
MODERN_VERSIONS = ("2026-07-28",)
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022
META: Final = "io.modelcontextprotocol/"
MAX_URI_CHARS = 2_000
MAX_TOOLS = 2_000
MAX_DESCRIPTION_CHARS = 8_000


class McpError(TauError):
    """A server cannot be used. `needs_login`: it wants a login first; `final`: trying again cannot help."""

    def __init__(self, message: str, *, needs_login: bool = False, final: bool = False) -> None:
        super().__init__(message)
        self.needs_login = needs_login
        self.final = final


class ConnectionLost(McpError):
    """The connection ended; `sent` says whether the server may have seen the request."""

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent


class NotStreamable(McpError):
    """The server does not know the streamable transport, so it may know the older one."""


class ToolDefinition(Struct, frozen=True, rename="camel"):
    """A tool as its server describes it."""

    name: str
    title: str = ""
    description: str = ""
    input_schema: dict[str, Any] = {}
    annotations: dict[str, Any] = {}
    task_support: str = ""

    @property
    def digest(self) -> str:
        """Identifies what the model and the user see of it."""
        shown = (self.name, self.title, self.description, self.input_schema, self.annotations)
        return hashlib.sha256(json.encode(shown, order="sorted")).hexdigest()[:32]

    @property
    def is_read_only(self) -> bool:
        """Only a hint: the server says so."""
        return self.annotations.get("readOnlyHint") is True


class ServerInfo(Struct, frozen=True):
    """What a server said about itself when we connected."""

    version: str
    name: str = ""
    server_version: str = ""
    instructions: str = ""
    capabilities: dict[str, Any] = {}

    @property
    def is_modern(self) -> bool:
        return self.version in MODERN_VERSIONS

    def offers(self, *path: str) -> bool:
        """Whether it has a capability, such as `("tools", "listChanged")`."""
        current: Any = self.capabilities
        for step in path:
            if not isinstance(current, dict) or current.get(step) in (None, False):
                return False
            current = current[step]
        return True


def read_object(raw: Raw | bytes) -> dict[str, Any]:
    """Decode a JSON object; anything else is empty."""
    try:
        value = json.decode(bytes(raw))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def text_at(fields: Mapping[str, Any], name: str, limit: int = MAX_DESCRIPTION_CHARS) -> str:
    value = fields.get(name)
    return value[:limit] if isinstance(value, str) else ""


def dict_at(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = fields.get(name)
    return value if isinstance(value, dict) else {}


def list_at(fields: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    value = fields.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def read_tool(fields: Mapping[str, Any]) -> ToolDefinition | None:
    """None for one without a name. The schema stays as it is, but for the type that providers insist on."""
    name = text_at(fields, "name", 256)
    if not name:
        return None
    schema = dict_at(fields, "inputSchema")
    if "type" not in schema and not any(key in schema for key in ("$ref", "anyOf", "oneOf", "allOf")):
        schema = {"type": "object", **schema}
    annotations = dict_at(fields, "annotations")
    support = text_at(dict_at(fields, "execution"), "taskSupport", 20)
    return ToolDefinition(
        name,
        text_at(fields, "title", 200) or text_at(annotations, "title", 200),
        text_at(fields, "description"),
        schema,
        annotations,
        support,
    )
