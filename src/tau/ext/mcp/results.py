"""Turns what a server returns into what the model sees: text, images, saved files."""

import asyncio
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, Struct, UnsetType, json

from tau.agent.output import ToolOutput
from tau.agent.ports import Artifacts
from tau.ai.wire import TextContent, UserContent
from tau.base.errors import ToolError
from tau.base.late import late
from tau.base.sizes import MIB, format_bytes
from tau.base.text import clean_line, shortened
from tau.ext.mcp.messages import dict_at, list_at, text_at

images = late("tau.coding.images")

MAX_PARTS = 100
MAX_BLOB_BYTES = 16 * MIB


class McpDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """A call of a server's tool. `structured` is set if the text does not have it."""

    server: str
    tool: str
    structured: Any = UNSET
    progress: float | UnsetType = UNSET
    total: float | UnsetType = UNSET


async def to_output(
    result: Mapping[str, Any], details: McpDetails, artifacts: Artifacts, *, resize: bool = True
) -> ToolOutput:
    """Large text is cut later, by the limits that all tools share."""
    parts = list_at(result, "content")
    content: list[UserContent] = []
    for part in parts[:MAX_PARTS]:
        content.append(await _part(part, details.server, artifacts, resize=resize))
    if len(parts) > MAX_PARTS:
        content.append(TextContent(f"[{len(parts) - MAX_PARTS} more parts are left out]"))
    structured = result.get("structuredContent", UNSET)
    texts = [part.text for part in content if isinstance(part, TextContent)]
    if structured is not UNSET and not any(text.strip() for text in texts):
        content.append(TextContent(json.format(json.encode(structured), indent=1).decode()))
        structured = UNSET
    elif structured is not UNSET and any(_is_same(text, structured) for text in texts):
        structured = UNSET
    return ToolOutput(
        content or [TextContent("(no output)")],
        McpDetails(server=details.server, tool=details.tool, structured=structured),
        result.get("isError") is True,
    )


def _is_same(text: str, structured: Any) -> bool:
    try:
        return bool(json.decode(text) == structured)
    except (ValueError, RecursionError):
        return False


async def _part(part: dict[str, Any], server: str, artifacts: Artifacts, *, resize: bool) -> UserContent:
    kind = part.get("type")
    match kind:
        case "text":
            return TextContent(text_at(part, "text", 64 * MIB))
        case "image":
            return await _image(part, artifacts, resize=resize)
        case "audio":
            return _saved(text_at(part, "data", 64 * MIB), text_at(part, "mimeType", 100), artifacts)
        case "resource_link":
            name, uri = clean_line(text_at(part, "name", 200)), clean_line(text_at(part, "uri", 2_000))
            about = clean_line(text_at(part, "description", 300))
            return TextContent(
                f"[Resource {name}: read mcp://{server}/{uri}{f' ({about})' if about else ''}]"
            )
        case "resource":
            return await resource_part(dict_at(part, "resource"), artifacts, resize=resize)
    return TextContent(f"[A part of the unknown type {clean_line(str(kind))[:40]} is left out]")


async def resource_part(fields: dict[str, Any], artifacts: Artifacts, *, resize: bool = True) -> UserContent:
    """The content of a resource: text as it is, images as images, the rest as a file."""
    if isinstance(text := fields.get("text"), str):
        return TextContent(text)
    blob, mime = text_at(fields, "blob", 64 * MIB), text_at(fields, "mimeType", 100)
    if mime.startswith("image/"):
        return await _image({"data": blob, "mimeType": mime}, artifacts, resize=resize)
    return _saved(blob, mime, artifacts)


async def _image(part: dict[str, Any], artifacts: Artifacts, *, resize: bool) -> UserContent:
    data = decode_blob(text_at(part, "data", 64 * MIB))
    try:
        return (await asyncio.to_thread(images.load_image, data, auto_resize=resize)).content()
    except ToolError as error:
        saved = _saved_bytes(data, text_at(part, "mimeType", 100), artifacts)
        return TextContent(f"[An image that cannot be shown: {error} {saved}]")


def decode_blob(text: str) -> bytes:
    try:
        return b64decode(text, validate=False)
    except ValueError:
        return b""


def _saved(blob: str, mime: str, artifacts: Artifacts) -> TextContent:
    return TextContent(f"[{_saved_bytes(decode_blob(blob), mime, artifacts)}]")


def _saved_bytes(data: bytes, mime: str, artifacts: Artifacts) -> str:
    what = f"{shortened(clean_line(mime), 60) or 'binary data'}, {format_bytes(len(data))}"
    try:
        sink = artifacts.create("mcp")
        sink.write(data[:MAX_BLOB_BYTES])
        sink.close()
    except OSError as error:
        return f"{what}, which could not be saved: {error.strerror}"
    return f"{what}, saved as artifact://{sink.id}"
