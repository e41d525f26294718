"""A client for RPC mode: starts an agent as a child process and drives it."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tau.agent.arguments import function_schema
from tau.ai.wire import ImageContent
from tau.base.tasks import spawn
from tau.config.paths import current_folder
from tau.modes.rpc.client_methods import (
    ConversationMethods,
    HostMethods,
    LoginMethods,
    ModelMethods,
    ServerMethods,
    SessionMethods,
    StateMethods,
    SubagentsMethods,
)
from tau.modes.rpc.connection import RpcConnection, RpcError
from tau.modes.rpc.message_builder import MessageBuilder
from tau.modes.session_commands.host_tools import HostTool

READY_TIMEOUT_S = 30.0
REQUEST_TIMEOUT_S = 30.0
UNLIMITED = frozenset({"bash", "compact", "handoff", "login", "abort", "export_html", "mcp"})
"""Commands that take as long as they take."""
PROMPTS = frozenset({"prompt", "steer", "follow_up", "abort_and_prompt"})
DIALOGS = ("select", "confirm", "input", "editor")

Event = dict[str, Any]
Listener = Callable[[Event], None]
UiAnswer = Callable[[Event], "Awaitable[Event | None] | Event | None"]


class RpcClient(
    ConversationMethods,
    SessionMethods,
    ModelMethods,
    StateMethods,
    SubagentsMethods,
    LoginMethods,
    ServerMethods,
    HostMethods,
):
    """Use it as a context: `async with RpcClient() as agent: await agent.prompt_and_wait("hi")`.

    `command` starts any agent that speaks the protocol; the default is this tau. Events are plain
    dictionaries, as they came over the pipe; `message_update` events have a `message` with what has streamed
    so far. `connection` has the agent's `pid` and `stderr`.
    """

    def __init__(
        self,
        args: Sequence[str] = (),
        *,
        command: Sequence[str] | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        ready_timeout_s: float = READY_TIMEOUT_S,
        request_timeout_s: float = REQUEST_TIMEOUT_S,
    ) -> None:
        own = (sys.executable, "-m", "tau", "--mode", "rpc", "--snapshots", "none")
        self._argv = [*(own if command is None else command), *args]
        self._cwd = cwd or current_folder()
        self._env = env or {}
        self._ready_timeout_s = ready_timeout_s
        self._request_timeout_s = request_timeout_s
        self._idle = asyncio.Event()
        self._idle.set()
        self._unsettled = 0  # prompts whose `agent_settled` is still to come
        self.connection = RpcConnection(self._take, lambda: self._count_unsettled(-self._unsettled))
        self._tasks: asyncio.TaskGroup | None = None
        self._listeners: list[Listener] = []
        self._builder = MessageBuilder()
        self._answer_ui: UiAnswer | None = None
        self._functions: dict[str, Callable[..., Any]] = {}
        self._calls: dict[str, asyncio.Task[None]] = {}

    async def __aenter__(self) -> "RpcClient":
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Start the agent and wait until it is ready. Raises RpcError with its stderr if it is not."""
        self._tasks = await self.connection.start(self._argv, self._cwd, self._env, self._ready_timeout_s)

    async def stop(self) -> None:
        """End the agent; its work is recorded."""
        for call in self._calls.values():
            call.cancel()
        await self.connection.stop()

    def on_event(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with each event; the returned function stops that."""
        self._listeners.append(listener)

        def stop() -> None:
            with suppress(ValueError):
                self._listeners.remove(listener)

        return stop

    def on_ui_request(self, answer: UiAnswer) -> None:
        """Answer dialogs: `answer` gets a request and returns `{"value": ...}`, `{"confirmed": ...}` or None.

        Without it, or if it returns None, dialogs are canceled.
        """
        self._answer_ui = answer

    async def use_tools(self, *functions: Callable[..., object]) -> list[str]:
        """Offer functions as tools: hints and the docstring become the schema. Returns their names."""
        self._functions = {function.__name__: function for function in functions}
        tools = [
            HostTool(name, (function.__doc__ or name).strip(), function_schema(function))
            for name, function in self._functions.items()
        ]
        return (await self.set_host_tools(tools)).tool_names

    async def wait_for_idle(self, timeout_s: float | None = None) -> None:
        """Wait until the accepted prompts are done. Raises RpcError if the agent dies, TimeoutError."""
        async with asyncio.timeout(timeout_s):
            await self._idle.wait()
        if self.connection.gone is not None:
            raise self.connection.gone

    async def collect_events(self, timeout_s: float | None = None) -> list[Event]:
        """The events until the agent is idle."""
        return await self._collect(None, timeout_s)

    async def prompt_and_wait(
        self, message: str, *, images: Sequence[ImageContent] = (), timeout_s: float | None = None
    ) -> list[Event]:
        """Send a message; returns the events until the agent is idle."""
        return await self._collect(lambda: self.prompt(message, list(images)), timeout_s)

    async def ask(self, command: str, request: Struct, response: object) -> object:
        """Send a command and return the data of its answer, as `response`. Raises RpcError."""
        data = await self.request(command, msgspec.to_builtins(request))
        if response is None:
            return None
        try:
            return msgspec.json.decode(data, type=response)
        except msgspec.DecodeError as error:
            raise RpcError(f"The agent's answer to {command} is invalid: {error}.") from error

    async def request(self, command: str, fields: Mapping[str, Any]) -> bytes:
        """Send any command and return the data of its answer as JSON. Raises RpcError."""
        timeout_s = None if command in UNLIMITED else self._request_timeout_s
        if command not in PROMPTS:
            return await self.connection.request(command, fields, timeout_s)
        self._count_unsettled(1)
        try:
            data = await self.connection.request(command, fields, timeout_s)
        except BaseException:
            self._count_unsettled(-1)
            raise
        if (msgspec.json.decode(data) or {}).get("disposition", "started") != "started":
            self._count_unsettled(-1)  # the current run takes it
        return data

    def _count_unsettled(self, change: int) -> None:
        self._unsettled = max(0, self._unsettled + change)
        if self._unsettled:
            self._idle.clear()
        else:
            self._idle.set()

    async def _collect(
        self, begin: Callable[[], Awaitable[object]] | None, timeout_s: float | None
    ) -> list[Event]:
        events: list[Event] = []
        stop = self.on_event(events.append)
        try:
            if begin is not None:
                await begin()
            await self.wait_for_idle(timeout_s)
        finally:
            stop()
        return events

    def _take(self, frame: Event) -> None:
        match frame.get("type"):
            case "extension_ui_request" if frame.get("method") in DIALOGS:
                self._start(self._answer_dialog(frame))
            case "host_tool_call":
                self._calls[frame["id"]] = self._start(self._call_function(frame))
            case "host_tool_cancel":
                if (task := self._calls.get(frame["targetId"])) is not None:
                    task.cancel()
            case _:
                self._report(frame)

    def _start(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        assert self._tasks is not None
        return spawn(self._tasks, work)

    def _report(self, event: Event) -> None:
        event = self._builder.complete(event)
        for listener in tuple(self._listeners):
            listener(event)
        if event.get("type") == "agent_settled":
            self._count_unsettled(-1)
        elif event.get("type") == "agent_start" and not self._unsettled:
            self._count_unsettled(1)  # the agent continues on its own

    async def _answer_dialog(self, frame: Event) -> None:
        answer: Event | None = None
        if self._answer_ui is not None:
            given = self._answer_ui(frame)
            answer = await given if isinstance(given, Awaitable) else given
        with suppress(RpcError):
            await self.connection.write(
                {"type": "extension_ui_response", "id": frame["id"], **(answer or {"cancelled": True})}
            )

    async def _call_function(self, frame: Event) -> None:
        id = frame["id"]
        function = self._functions.get(frame["toolName"])
        try:
            if function is None:
                raise LookupError(f"There is no tool {frame['toolName']}.")
            result = function(**frame["arguments"])
            result = await result if isinstance(result, Awaitable) else result
            text = result if isinstance(result, str) else msgspec.json.encode(result, enc_hook=str).decode()
            reply: Event = {"result": {"content": [{"type": "text", "text": text}]}}
        except Exception as error:
            reply = {"result": f"{type(error).__name__}: {error}", "isError": True}
        finally:
            self._calls.pop(id, None)
        with suppress(RpcError):
            await self.connection.write({"type": "host_tool_result", "id": id, **reply})
