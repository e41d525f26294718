"""Commands about MCP servers."""

from typing import Any

from msgspec import Struct

from tau.modes.mcp_session import run_words
from tau.modes.session_commands.command import CommandCall, command


class McpRequest(Struct, frozen=True):
    """The words after `tau mcp`, such as `["tools", "github"]`."""

    words: list[str] = []


class McpAnswer(Struct, frozen=True):
    """`text` is for people, `data` for programs."""

    text: str
    data: Any = None
    ok: bool = True


async def mcp(call: CommandCall, request: McpRequest) -> McpAnswer:
    done = await run_words(call.host.session, request.words)
    return McpAnswer(done.text, done.data, done.ok)


COMMANDS = (command(mcp, "List, add, test and call MCP servers, with the words of tau mcp", slow=True),)
