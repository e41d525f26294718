"""The prompts of servers, as messages `/SERVER:PROMPT`, and what servers say about themselves."""

import re
from collections.abc import Sequence
from typing import Any

from tau.ai.wire import ImageContent, TextContent, UserContent, UserMessage, text_of
from tau.base.errors import UsageError
from tau.base.json_rpc import JsonRpcError
from tau.base.text import plain, shortened
from tau.coding.untrusted_text import fence
from tau.ext.mcp.connection import ServerConnection
from tau.ext.mcp.messages import dict_at, list_at, text_at

SERVER_CHARS, ALL_CHARS = 2_000, 8_000  # of instructions


def instructions_of(connections: Sequence[ServerConnection]) -> str:
    """A section of the system prompt, marked as text of others."""
    parts: list[str] = []
    left = ALL_CHARS
    for connection in connections:
        text = plain(connection.info.instructions).strip() if connection.info is not None else ""
        if text and left > 0:
            cut = shortened(text, min(SERVER_CHARS, left))
            left -= len(cut)
            parts += fence([cut], f"the MCP server {connection.name}, about how to use its tools")
    return "\n\n" + "\n".join(parts) if parts else ""


def parse_prompt(
    text: str, connections: dict[str, ServerConnection]
) -> tuple[ServerConnection, str, str] | None:
    """The server, its prompt and what follows; None for another message."""
    found = re.match(r"/([a-zA-Z0-9_.-]{1,100}):(\S+)\s*(.*)", text, re.DOTALL)
    connection = connections.get(found[1]) if found else None
    return None if found is None or connection is None else (connection, found[2], found[3])


async def expand_prompt(message: UserMessage, connections: dict[str, ServerConnection]) -> UserMessage:
    """Replace a message that names a prompt; any other stays as it is. Raises UsageError and McpError."""
    text = message.content if isinstance(message.content, str) else text_of(message.content)
    named = parse_prompt(text, connections) if text.startswith("/") else None
    if named is None:
        return message
    connection, name, rest = named
    client = await connection.connected()
    known = _find(connection, name)
    if known is None and client.info.offers(
        "prompts"
    ):  # a message right after the start is ahead of the list
        await connection.list_prompts(client)
        known = _find(connection, name)
    if known is None:
        names = ", ".join(text_at(one, "name") for one in connection.prompts) or "none"
        raise UsageError(f'{connection.name} has no prompt "{name}"; it has {names}.')
    given = {"name": name, "arguments": _arguments(known, rest)}
    try:
        result = await client.request("prompts/get", given)
    except JsonRpcError as error:
        raise UsageError(f"{connection.name} refused the prompt {name}: {error}") from None
    content: list[UserContent] = [
        part for one in list_at(result, "messages") for part in _parts(dict_at(one, "content"))
    ]
    return UserMessage(content or [TextContent(text)], message.timestamp)


def _find(connection: ServerConnection, name: str) -> dict[str, Any] | None:
    return next((one for one in connection.prompts if one.get("name") == name), None)


def _arguments(prompt: dict[str, object], rest: str) -> dict[str, str]:
    """`name=value` words; others in the order of the arguments, the last of which takes the rest."""
    declared = [text_at(one, "name") for one in list_at(prompt, "arguments")]
    needed = {text_at(one, "name") for one in list_at(prompt, "arguments") if one.get("required") is True}
    found: dict[str, str] = {}
    words = rest.split()
    while words:
        name, sign, value = words[0].partition("=")
        free = [one for one in declared if one not in found]
        if sign and name in declared:
            found[name] = value
            words.pop(0)
        elif len(free) > 1:
            found[free[0]] = words.pop(0)
        elif free:
            found[free[0]] = " ".join(words)
            words = []
        else:
            break
    if missing := sorted(needed - set(found)):
        raise UsageError(
            f"The prompt {text_at(prompt, 'name')} needs {', '.join(missing)}: write NAME=VALUE."
        )
    return found


def _parts(content: dict[str, object]) -> list[UserContent]:
    if content.get("type") == "image":
        return [ImageContent(text_at(content, "data", 10**7), text_at(content, "mimeType", 60))]
    text = text_at(content, "text", 10**6) or text_at(dict_at(content, "resource"), "text", 10**6)
    return [TextContent(plain(text))] if text else []
