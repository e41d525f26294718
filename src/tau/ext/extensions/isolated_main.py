"""The process of an isolated extension: runs its code, and passes on what that does to the session."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AsyncExitStack
from contextvars import ContextVar
from itertools import count
from pathlib import Path
from typing import Any

from msgspec import Raw, UnsetType, json

from tau.agent.events import AgentEvent, CompactionResult, Notice
from tau.agent.output import ToolOutput
from tau.ai.model import Model
from tau.ai.wire import AppMessage
from tau.base.errors import TauError
from tau.base.json_rpc import JsonRpcError, decode_messages, encode_answer, encode_message
from tau.base.tasks import spawn
from tau.coding.extensions import ExtensionCommand
from tau.coding.session.compaction.compactor import ContextUsage
from tau.coding.session.entries import KnownEntry
from tau.config.paths import Paths
from tau.ext.extensions import isolation_protocol as protocol
from tau.ext.extensions.actions import ExecResult, SessionActions
from tau.ext.extensions.context import (
    ExtensionCommandContext,
    ExtensionContext,
    HostClient,
    SessionReader,
)
from tau.ext.extensions.extension import Extension
from tau.ext.extensions.extension_set import register_code
from tau.ext.extensions.function_tool import NO_LIMIT_S, FunctionTool
from tau.ext.extensions.runtime import ExtensionRuntime
from tau.ext.extensions.session_link import HostOptions
from tau.ext.extensions.ui import ExtensionUi

NO_PORTS = "With isolation, a tool reaches files and programs through ctx.call or on its own."
ABSENT: dict[str, Any] = {"custom": None, "theme": None, "on_key": lambda: None}
"""What cannot cross to another process, and what it returns instead."""
RESULTS: dict[str, Any] = {
    "cwd": Path,
    "path": Path | None,
    "model": Model,
    "set_model": Model,
    "exec": ExecResult,
    "usage": ContextUsage,
    "compact": CompactionResult,
    "messages": list[AppMessage],
    "entries": list[KnownEntry],
    "call": ToolOutput,
    "commands": list[ExtensionCommand],
}
KINDS: tuple[tuple[type[HostClient], str], ...] = (
    (SessionActions, "tau"),
    (ExtensionContext, "ctx"),
    (SessionReader, "session"),
    (ExtensionUi, "ui"),
)
current_call: ContextVar[int] = ContextVar("current_call", default=0)


class ParentLink:
    """The pipes to tau. A thread reads them, so that code which blocks the loop can wait for an answer."""

    def __init__(self) -> None:
        self._input = os.fdopen(os.dup(0), "rb")
        self._output = os.dup(1)
        with open(os.devnull, "rb") as nothing:  # noqa: PTH123
            os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)  # what the code prints goes to its log
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._waiting: dict[int, Future[Raw]] = {}

    def request(self, params: protocol.SessionCall) -> "Future[Raw]":
        number = next(self._numbers)
        answer = self._waiting[number] = Future()
        self.send(encode_message("act", params, number))
        return answer

    def send(self, data: bytes) -> None:
        with self._lock:
            rest = memoryview(data + b"\n")
            while rest:
                rest = rest[os.write(self._output, rest) :]

    def read(self, on_message: Callable[[int | None, str, Raw], None]) -> None:
        """Pass messages on until tau closes the pipe; then the process ends, whatever it does."""
        for line in self._input:
            for message in decode_messages(line):
                if not isinstance(message.method, UnsetType):
                    on_message(
                        message.id if isinstance(message.id, int) else None, message.method, message.params
                    )
                    continue
                answer = self._waiting.pop(int(message.id or 0), None)
                if answer is None:
                    continue
                if not isinstance(message.error, UnsetType):
                    fault = message.error
                    answer.set_exception(
                        protocol.error_of(JsonRpcError(fault.code, fault.message, fault.data))
                    )
                elif not isinstance(message.result, UnsetType):
                    answer.set_result(message.result)
        os._exit(0)


class IsolatedHost(ExtensionRuntime):
    """The host of one extension, in its own process."""

    def __init__(self, link: ParentLink, load: protocol.LoadCall, group: asyncio.TaskGroup) -> None:
        super().__init__(self._pass_on)
        self._link = link
        self.group, self.remote, self.is_open, self.is_loading = group, self._act, True, True
        paths = Paths(load.home)
        self.options = HostOptions(paths=paths, cwd=load.cwd, flags=load.flags)
        self.extension = Extension(load.source, paths.logs)
        self.extensions = (self.extension,)

    def _pass_on(self, event: AgentEvent) -> None:
        if isinstance(event, Notice):
            self._link.send(encode_message("say", event.message))

    def _act(
        self, client: HostClient, name: str, args: tuple[Any, ...], named: dict[str, Any], is_async: bool
    ) -> Any:
        """Do it in tau's process, and wait; there is another thread that reads the answer."""
        on = next(on for kind, on in KINDS if isinstance(client, kind))
        if name in ABSENT or (name == "can" and args[0] in ABSENT):
            answer = ABSENT.get(name, False)
            return _returned(answer) if is_async else answer
        call = protocol.SessionCall(
            on, name, protocol.encode(args), protocol.encode(named), current_call.get()
        )
        future = self._link.request(call)
        if is_async:
            return self._awaited(name, future)
        return self._result(name, future.result())

    async def _awaited(self, name: str, future: "Future[Raw]") -> Any:
        return self._result(name, await asyncio.wrap_future(future))

    @staticmethod
    def _result(name: str, raw: Raw) -> Any:
        value = json.decode(raw)
        return protocol.decode(value, RESULTS[name]) if name in RESULTS and value is not None else value

    def changed(self, **_: bool) -> None:
        if not self.is_loading:
            self._link.send(encode_message("registered", protocol.encode(self.registrations())))

    def registrations(self) -> protocol.Registrations:
        one = self.extension
        refused = [
            *(["it cannot draw, so its renderers are not used."] if one.renderers else []),
            *(["its URL schemes are not used."] if one.schemes else []),
        ]
        return protocol.Registrations(
            tools=[
                protocol.RemoteTool(
                    name=tool.name,
                    label=tool.label,
                    description=tool.description,
                    parameters=tool.spec.parameters,
                    exclusive=tool.exclusive,
                    effects=tool.fixed_effects if isinstance(tool, FunctionTool) else None,
                )
                for tool in one.tools.values()
            ],
            commands={name: command.description for name, command in one.commands.items()},
            shortcuts={key: shortcut.description for key, shortcut in one.shortcuts.items()},
            events={name: len(functions) for name, functions in one.handlers.items()},
            providers=one.providers,
            refused=refused,
        )

    def context(self, extension: Extension) -> ExtensionContext:
        return ExtensionContext(self, extension)  # type: ignore[arg-type]

    def make_ui(self, extension: Extension) -> ExtensionUi:
        return ExtensionUi(self, extension)  # type: ignore[arg-type]

    def hub(self, extension: Extension) -> Any:
        raise TauError("With isolation, tau.events does not reach other extensions.")

    async def run_shortcut(self, extension: Extension, key: str, function: Callable[..., Any]) -> None:
        await self._run(function, self.context(extension))

    async def call(self, call: protocol.CodeCall) -> Any:
        """Call a function that was registered."""
        kind, _, name = call.what.partition(":")
        one = self.extension
        if kind == "event":
            event, _, index = name.rpartition(":")
            value = protocol.decode(call.value, protocol.EVENTS[event])
            function = one.handlers[event][int(index)]
            return protocol.encode_reply(event, await self._run(function, value, self.context(one)))
        if kind == "command":
            context = ExtensionCommandContext(self, one, AsyncExitStack())  # type: ignore[arg-type]
            return await self._run(one.command_functions[name], call.value, context)
        if kind == "shortcut":
            return await one.shortcuts[name].run()
        tool = one.tools[name]
        params, _ = tool.decode(call.value)
        return protocol.encode(await tool.run(params, RemotePorts(call.call_id)))

    async def _run(self, function: Callable[..., Any], *args: Any) -> Any:
        return await self.calls.run(self.extension, function, args, NO_LIMIT_S)


async def _returned(value: Any) -> Any:
    return value


class RemotePorts:
    """The ports of a tool call, which stay in tau's process; `ctx.update` and `ctx.call` cross."""

    def __init__(self, call_id: str) -> None:
        self.call_id = call_id

    def __getattr__(self, name: str) -> Any:
        raise TauError(NO_PORTS)


async def serve(link: ParentLink) -> None:
    loop = asyncio.get_running_loop()
    calls: dict[int, asyncio.Task[None]] = {}
    hosts: list[IsolatedHost] = []
    async with asyncio.TaskGroup() as group:

        async def load(params: Raw) -> Any:
            wanted = protocol.decode(json.decode(params), protocol.LoadCall)
            sys.path += [folder for folder in wanted.search if folder not in sys.path]
            host = IsolatedHost(link, wanted, group)
            await register_code(host, host.extension)
            host.is_loading = False
            hosts.append(host)
            return protocol.encode(host.registrations())

        async def answer(id: int, method: str, params: Raw) -> None:
            current_call.set(id)
            try:
                work = (
                    load(params)
                    if method == "load"
                    else hosts[0].call(json.decode(params, type=protocol.CodeCall))
                )
                link.send(encode_answer(id, await work))
            except BaseException as error:
                link.send(encode_answer(id, error=protocol.fault_of(error)))
            finally:
                calls.pop(id, None)

        def handle(id: int | None, method: str, params: Raw) -> None:
            if id is not None:
                calls[id] = spawn(group, answer(id, method, params))
            elif method == "cancel" and (task := calls.get(json.decode(params, type=int))) is not None:
                task.cancel()

        def on_message(id: int | None, method: str, params: Raw) -> None:
            loop.call_soon_threadsafe(handle, id, method, params)

        threading.Thread(target=link.read, args=(on_message,), daemon=True).start()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(ParentLink()))
