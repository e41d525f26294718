"""Tools and URL schemes that run in the program that drives the session."""

import asyncio
import re
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from tau.agent.effects import Effects
from tau.agent.events import ToolResult
from tau.agent.output import ToolOutput
from tau.agent.ports import ToolContext
from tau.agent.tool import Tool
from tau.ai.dialect import ToolSpec
from tau.ai.wire import TextContent
from tau.base.errors import ToolError, UsageError
from tau.coding.files.targets import SCHEME_NAME, WEB
from tau.coding.ports import Resource
from tau.modes.rpc.frames import (
    HostToolCall,
    HostToolCancel,
    HostToolReply,
    HostUriCancel,
    HostUriReply,
    HostUriRequest,
    UriOperation,
)
from tau.modes.rpc.replies import PendingReplies
from tau.modes.session_commands.host_tools import HostScheme, HostTool
from tau.modes.session_host import SessionHost

Send = Callable[[Struct], None]
TOOL_NAME = r"[A-Za-z0-9_-]{1,64}"  # what every provider accepts


class RpcHostLink:
    """Implements `HostLink` over the pipe."""

    def __init__(self, host: SessionHost, send: Send) -> None:
        self._host = host
        self._send = send
        self._calls = PendingReplies[HostToolReply]("host_tool")
        self._uris = PendingReplies[HostUriReply]("host_uri")
        self._contexts: dict[str, ToolContext] = {}

    def set_tools(self, tools: list[HostTool]) -> list[str]:
        """Raises UsageError for a name that is taken or that no model could call."""
        names = [tool.name for tool in tools]
        own = {tool.name for tool in self._host.session.tools}
        for name in names:
            if not re.fullmatch(TOOL_NAME, name):
                raise UsageError(f'The tool name "{name}" is invalid; use 1 to 64 letters, digits, _ and -.')
            if name in own or names.count(name) > 1:
                raise UsageError(f'The tool name "{name}" is taken; choose another.')
        self._host.tools = [ProgramTool(tool, self) for tool in tools]
        self._host.apply_host_parts()
        return names

    def set_schemes(self, schemes: list[HostScheme]) -> list[str]:
        """Raises UsageError for a name that is no scheme or that tau uses itself."""
        offered = [ProgramScheme(scheme, self) for scheme in schemes]
        names = [scheme.scheme for scheme in offered]
        earlier = {scheme.scheme for scheme in self._host.schemes}
        own = {*self._host.session.urls.names(), *WEB, "file"} - earlier
        for name in names:
            if not re.fullmatch(SCHEME_NAME, name):
                raise UsageError(f'The scheme "{name}" is invalid; use letters, digits, +, - and periods.')
            if name in own or names.count(name) > 1:
                raise UsageError(f'The scheme "{name}" is taken; choose another.')
        for name in earlier:
            self._host.session.urls.unregister(name)
        self._host.schemes = offered
        self._host.apply_host_parts()
        return names

    def take_tool_reply(self, reply: HostToolReply) -> None:
        context = self._contexts.get(reply.id)
        if isinstance(reply.partial_result, UnsetType):
            self._calls.resolve(reply.id, reply)
        elif context is not None:
            context.update(_output(reply.partial_result, is_error=False))

    def take_uri_reply(self, reply: HostUriReply) -> None:
        self._uris.resolve(reply.id, reply)

    async def call_tool(self, name: str, arguments: dict[str, Any], ctx: ToolContext) -> ToolOutput:
        id = self._calls.new_id()
        self._contexts[id] = ctx
        self._send(HostToolCall(id, ctx.call_id, name, arguments))
        try:
            reply = await self._calls.wait(id)
        except asyncio.CancelledError:
            self._send(HostToolCancel(self._calls.new_id(), id))
            raise
        finally:
            del self._contexts[id]
        return _output(reply.result, is_error=reply.is_error)

    async def request_uri(self, url: str, content: str | None) -> HostUriReply:
        """Raises ToolError if the program cannot serve it."""
        id = self._uris.new_id()
        operation: UriOperation = "read" if content is None else "write"
        sent = UNSET if content is None else content
        self._send(HostUriRequest(id=id, operation=operation, url=url, content=sent))
        try:
            reply = await self._uris.wait(id)
        except asyncio.CancelledError:
            self._send(HostUriCancel(self._uris.new_id(), id))
            raise
        if reply.is_error:
            done = "read" if content is None else "written"
            raise ToolError(reply.error or f"{url} cannot be {done}.")
        return reply


def _output(result: msgspec.Raw | UnsetType, *, is_error: bool) -> ToolOutput:
    """What the program sent: a text, or an object with `content` and perhaps `details`."""
    if isinstance(result, UnsetType):
        return ToolOutput([TextContent("(no output)")], is_error=is_error)
    try:
        decoded = msgspec.json.decode(result, type=ToolResult | str)
    except msgspec.ValidationError as error:
        raise ToolError(f"The program's result is invalid: {error}.") from error
    if isinstance(decoded, str):
        return ToolOutput.text(decoded, is_error=is_error)
    return ToolOutput(decoded.content, decoded.details, is_error)


class ProgramArguments(Struct, frozen=True):
    """Arguments as the model sent them: the program checks them."""

    values: dict[str, Any] = {}


class ProgramTool(Tool[ProgramArguments]):
    """A tool of the driving program. What it does happens there, so nothing here can bind it."""

    def __init__(self, definition: HostTool, link: RpcHostLink) -> None:
        self.name = definition.name
        self.label = definition.label or definition.name
        self._definition = definition
        self._link = link

    @cached_property
    def description(self) -> str:
        return self._definition.description

    @cached_property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, self.description, self._definition.parameters)

    @property
    def offered(self) -> bool:
        return not self._definition.hidden

    def decode(self, arguments: dict[str, Any]) -> tuple[ProgramArguments, list[str]]:
        return ProgramArguments(arguments), []

    def effects(self, params: ProgramArguments, cwd: Path) -> Effects:
        return Effects(acts_elsewhere=True)

    async def run(self, params: ProgramArguments, ctx: ToolContext) -> ToolOutput:
        return await self._link.call_tool(self.name, params.values, ctx)


class ProgramScheme:
    """Implements `tau.coding.ports.UrlScheme`."""

    def __init__(self, definition: HostScheme, link: RpcHostLink) -> None:
        self._definition = definition
        self._link = link

    @property
    def scheme(self) -> str:
        return self._definition.scheme.lower()

    async def resolve(self, rest: str, ctx: ToolContext) -> Resource:
        url = f"{self.scheme}://{rest}"
        reply = await self._link.request_uri(url, None)
        immutable = self._definition.immutable if reply.immutable is None else reply.immutable
        return Resource(
            url=url,
            data=(reply.content or "").encode(),
            immutable=immutable or not self._definition.writable,
            note="\n".join(reply.notes),
        )

    async def write(self, rest: str, data: bytes, ctx: ToolContext) -> Resource:
        if not self._definition.writable:
            raise ToolError(f"{self.scheme}:// cannot be written.")
        url = f"{self.scheme}://{rest}"
        reply = await self._link.request_uri(url, data.decode("utf-8", "replace"))
        return Resource(url=url, data=data, immutable=False, note="\n".join(reply.notes))

    def written_files(self, rest: str) -> None:
        """The program writes what it likes."""
