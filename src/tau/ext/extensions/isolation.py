"""Runs an extension in a separate process: what it registers works here, calls go to its process."""

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any

from msgspec import DecodeError, Raw, ValidationError, convert, json

from tau.agent.output import ToolOutput
from tau.base.errors import ExtensionError, TauError
from tau.base.json_rpc import JsonRpcError, RpcCall, RpcFault, RpcId, RpcPeer, encode_answer, encode_message
from tau.base.run import LocalRunner
from tau.base.tasks import shielded
from tau.coding.extensions import ExtensionCommand, ExtensionShortcut
from tau.ext.extensions import isolation_protocol as protocol
from tau.ext.extensions.api import ExtensionAPI
from tau.ext.extensions.calls import RemoteError, current_run
from tau.ext.extensions.context import ToolRunContext
from tau.ext.extensions.function_tool import FunctionTool
from tau.ext.mcp.messages import McpError
from tau.ext.mcp.stdio import StderrLog, StdioTransport, open_stdio

if TYPE_CHECKING:
    from tau.ext.extensions.extension import Extension
    from tau.ext.extensions.host import ExtensionHost

CANCEL_S = 1.0
"""For code that is asked to stop, before its process is killed."""


class IsolatedProcess:
    """Starts with the extension, and again with the next call after it was killed or has crashed."""

    def __init__(self, host: "ExtensionHost", extension: "Extension") -> None:
        self._host, self._extension = host, extension
        self._api = ExtensionAPI(host, extension)
        self._peer = RpcPeer(self._on_request, self._on_notification, extension.log.warning)
        self._transport: StdioTransport | None = None
        self._services = AsyncExitStack()
        self._running: dict[int, tuple[object, Any]] = {}  # of each call: its context, and its clock
        self._starting = asyncio.Lock()

    async def start(self) -> None:
        """Start the process and register what its code does, unless it runs. Raises TauError."""
        async with self._starting:
            if self._transport is not None and not self._transport.lost.done():
                return
            await self.close()
            source = self._extension.source
            if source.isolation != "process" or source.function is not None:
                raise RemoteError(f'isolation can be "process", not "{source.isolation}".')
            options, group = self._host.options, self._host.group
            assert group is not None
            argv = (sys.executable, "-P", "-m", "tau.ext.extensions.isolated_main")
            runner = LocalRunner()
            self._services.callback(runner.close)
            errors = StderrLog(self._extension.log.path)
            opened = open_stdio(argv, options.cwd, {}, self._peer, runner, group, errors, inherit_env=True)
            self._transport = await self._services.enter_async_context(opened)
            load = protocol.LoadCall(
                source=source,
                home=options.paths.home,
                cwd=options.cwd,
                flags=dict(options.flags),
                search=[os.path.abspath(folder) for folder in sys.path if folder],  # noqa: PTH100
            )
            try:
                answer = await self._exchange(self._peer.begin("load", protocol.encode(load)))
            except BaseException:
                await self.close()
                raise
            self._register(protocol.decode(answer, protocol.Registrations))

    async def close(self) -> None:
        """End the process."""
        self._transport = None
        services, self._services = self._services, AsyncExitStack()
        await shielded(services.aclose())

    async def call(self, what: str, value: Any = None, context: object = None, call_id: str = "") -> object:
        """Call its code. Raises what that raised; kills the process if it is late, or does not stop."""
        await self.start()
        call = self._peer.begin("call", protocol.CodeCall(what, protocol.encode(value), call_id))
        self._running[call.id] = context, current_run.get()
        try:
            return await self._exchange(call)
        finally:
            self._running.pop(call.id, None)

    async def _exchange(self, call: RpcCall) -> Any:
        transport = self._transport
        assert transport is not None
        try:
            await transport.exchange(call, {})
            return json.decode(call.answer.result())
        except asyncio.CancelledError:
            await shielded(self._cancel(call, transport))
            raise
        except JsonRpcError as error:
            raise protocol.error_of(error) from None
        except McpError as error:
            raise RemoteError(f"its process ended: {error}") from None
        finally:
            self._peer.end(call)

    async def _cancel(self, call: RpcCall, transport: StdioTransport) -> None:
        run = current_run.get()
        is_late = run is not None and run.deadline is not None and run.deadline.expired()
        if not is_late:
            with suppress(McpError):
                await transport.notify(encode_message("cancel", call.id))
                await asyncio.wait((call.answer,), timeout=CANCEL_S)
        if not call.answer.done() and transport is self._transport:
            await self.close()

    def _register(self, made: protocol.Registrations) -> None:
        one = self._extension
        one.handlers.clear()
        one.tools = {tool.name: self._tool(tool) for tool in made.tools}
        one.commands = {
            name: ExtensionCommand(name=name, description=text, source=one.name)
            for name, text in made.commands.items()
        }
        one.command_functions = {name: self._command(name) for name in made.commands}
        one.shortcuts = {
            key: ExtensionShortcut(key=key, description=text, source=one.name, run=self._shortcut(key))
            for key, text in made.shortcuts.items()
        }
        one.providers = made.providers
        for event, count in made.events.items():
            for index in range(count):
                one.add_handler(event, self._handler(event, index))
        for problem in made.refused:
            self._host.say(one.name, f"Extension {one.name} runs in its own process: {problem}")
        self._host.changed(tools=True, commands=True)

    def _tool(self, tool: protocol.RemoteTool) -> FunctionTool:
        async def run(_ctx: ToolRunContext, **arguments: object) -> Any:
            answer = await self.call(f"tool:{tool.name}", arguments, _ctx, _ctx.call_id)
            return convert(answer, ToolOutput)

        return FunctionTool(
            self._host,
            self._extension,
            run,
            name=tool.name,
            label=tool.label,
            description=tool.description,
            effects=tool.effects,
            parameters=tool.parameters,
            exclusive=tool.exclusive,
        )

    def _command(self, name: str) -> Callable[..., object]:
        async def run(args: str, ctx: object) -> None:
            await self.call(f"command:{name}", args, ctx)

        return run

    def _shortcut(self, key: str) -> Callable[..., Any]:
        async def press(ctx: object) -> None:
            await self.call(f"shortcut:{key}", None, ctx)

        return lambda: self._host.run_shortcut(self._extension, key, press)

    def _handler(self, event: str, index: int) -> Callable[..., object]:
        async def ask(value: object, ctx: object) -> object:
            return protocol.decode_reply(event, await self.call(f"event:{event}:{index}", value, ctx))

        return ask

    def _on_notification(self, method: str, params: Raw) -> None:
        try:
            if method == "registered":
                self._register(protocol.decode(json.decode(params), protocol.Registrations))
            elif method == "say":
                self._host.say(self._extension.name, json.decode(params, type=str))
        except (DecodeError, ValidationError) as error:
            self._extension.log.warning(f"Its process sent something invalid: {error}")

    def _on_request(self, id: RpcId, method: str, params: Raw) -> None:
        self._host.spawn(self._serve(id, params))

    async def _serve(self, id: RpcId, params: Raw) -> None:
        """Do to the session what its code asks for."""
        try:
            wanted = json.decode(params, type=protocol.SessionCall)
            context, run = self._running.get(wanted.call, (None, None))
            current_run.set(run)  # whose clock an open dialog stops
            result = protocol.encode(await self._act(wanted, context))
            answer = encode_answer(id, result)
        except (ExtensionError, ValidationError) as error:
            answer = encode_answer(id, error=RpcFault(message=str(error)))
        except Exception as error:
            answer = encode_answer(id, error=protocol.fault_of(error))
        if self._transport is not None:
            with suppress(McpError):
                await self._transport.notify(answer)

    async def _act(self, wanted: protocol.SessionCall, context: Any) -> Any:
        context = context or self._host.context(self._extension)
        target = {"tau": self._api, "session": context.session, "ui": context.ui}.get(wanted.on, context)
        if not protocol.is_allowed(target, wanted.name):
            raise TauError(f"{wanted.on}.{wanted.name} does not work from another process.")
        result = getattr(target, wanted.name)
        if callable(result):
            result = result(*wanted.args, **wanted.named)
        return await result if asyncio.iscoroutine(result) else result
