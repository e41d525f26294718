"""tau as an MCP server: its tools under the user's policy, and prompts to the agent, for one client."""

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Raw, json

from tau.agent.events import AgentEvent, ToolStart
from tau.agent.output import ToolOutput
from tau.ai.faux import Faux
from tau.ai.wire import ImageContent, TextContent
from tau.base import log
from tau.base.errors import TauError
from tau.base.json_rpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    JsonRpcError,
    RpcFault,
    RpcId,
    RpcPeer,
    encode_answer,
    encode_message,
)
from tau.base.tasks import spawn
from tau.config.command_files import CommandFile
from tau.ext.mcp.messages import HANDSHAKE_VERSIONS, MODERN_VERSIONS, dict_at, read_object, text_at
from tau.modes import mcp_calls
from tau.modes.exit_status import judge
from tau.modes.mcp_calls import CURRENT_CALL, Send, ServedCall, StatelessCalls, answer_in
from tau.modes.session_host import SessionHost
from tau.sdk import SessionOptions

TOOLS = ("read", "search", "find", "edit", "write", "bash")
READ_ONLY = frozenset(("read", "search", "find"))
MAX_CALLS = 16
ELICIT_S = 600.0
NOT_OPEN = "Send initialize first."
PROMPT = json.decode(Path(__file__).with_name("mcp_prompt.json").read_bytes())


class ElicitingUi:
    """Implements `Ui`: asks the client's user by elicitation."""

    def __init__(self, endpoint: "McpEndpoint") -> None:
        self._endpoint = endpoint

    async def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str | None:
        answer = await self._endpoint.elicit(title, {"type": "string", "enum": list(options)})
        return answer if answer in options else None

    async def confirm(self, title: str, message: str, *, timeout: float | None = None) -> bool | None:
        answer = await self._endpoint.elicit(f"{title}\n{message}", {"type": "boolean"})
        return answer if isinstance(answer, bool) else None

    async def input(self, title: str, placeholder: str = "", *, timeout: float | None = None) -> str | None:
        answer = await self._endpoint.elicit(title, {"type": "string"})
        return answer if isinstance(answer, str) else None

    async def editor(self, title: str, prefill: str = "") -> str | None:
        return await self.input(title, prefill)

    def notify(self, message: str, level: str = "info") -> None:
        self._endpoint.warn(message)

    def status(self, key: str, text: str | None) -> None: ...
    def widget(self, key: str, lines: Sequence[str] | None) -> None: ...
    def title(self, text: str) -> None: ...
    async def custom(self, component: Any) -> Any:
        return None


class McpEndpoint:
    """One client. `options` are those of its sessions; tasks belong to `tasks`."""

    def __init__(self, options: SessionOptions, tasks: asyncio.TaskGroup, send: Send) -> None:
        self._options, self._tasks, self._send = options, tasks, send
        self.peer = RpcPeer(self._on_request, self._on_notification, lambda what: log.debug(what))
        self._capabilities: dict[str, Any] = {}
        self.version = ""
        self._level = "warning"
        self._tools: SessionHost | None = None
        self._agent: SessionHost | None = None
        self._opening = asyncio.Lock()
        self._calls: dict[ServedCall, RpcId] = {}  # clients over HTTP may use the same ids
        self._stateless = StatelessCalls(tasks)
        self._answering: Send = send  # where the request that is being handled is answered

    def take(self, data: bytes, send: Send | None = None) -> None:
        """Handle a message; `send` answers it, if not the usual one."""
        self._answering = send or self._send
        self.peer.take(data)

    async def close(self) -> None:
        for call in list(self._calls):
            call.cancel()
        self._stateless.close()
        for host in (self._tools, self._agent):
            if host is not None:
                await host.close()

    def abandon(self, send: Send) -> None:
        """Nobody reads the answers any more that go to `send`."""
        for call in self._calls:
            if call.send is send and call.paused is not None:
                call.cancel()

    def _on_request(self, id: RpcId, method: str, params: Raw) -> None:
        call = ServedCall(self._answering)
        call.task = spawn(self._tasks, self._serve(id, call, method, read_object(params)))
        self._calls[call] = id

    async def _serve(self, id: RpcId, call: ServedCall, method: str, params: dict[str, Any]) -> None:
        CURRENT_CALL.set(call)
        try:
            if len(self._calls) > MAX_CALLS:
                raise JsonRpcError(INTERNAL_ERROR, f"More than {MAX_CALLS} requests at a time.")
            if mcp_calls.is_stateless(method, params):
                self.version, self._capabilities = MODERN_VERSIONS[0], {"elicitation": {}}
                work = partial(self._result, call, method, params)
                result = await self._stateless.serve(call, method, params, work)
            else:
                result = await self._result(call, method, params)
            answer = encode_answer(id, result)
        except JsonRpcError as error:
            answer = encode_answer(id, error=RpcFault(error.code, str(error), error.data))
        except asyncio.CancelledError:
            return
        except Exception as error:
            log.error(f"The MCP request {method} failed.", error)
            answer = encode_answer(
                id, error=RpcFault(INTERNAL_ERROR, "It failed; the log file has the details.")
            )
        finally:
            self._calls.pop(call, None)
        with suppress(TauError, OSError):
            await call.send(answer)

    async def _result(self, call: ServedCall, method: str, params: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "initialize":
                return self._initialize(params)
            case "ping":
                return {}
            case _ if not self.version:
                raise JsonRpcError(INVALID_REQUEST, NOT_OPEN)
            case "server/discover":
                return {"supportedVersions": MODERN_VERSIONS, **_about(self._options.cwd)}
            case "tools/list":
                return {"tools": await self._list()}
            case "prompts/list":
                return {"prompts": [_prompt_row(file) for file in (await self._commands()).values()]}
            case "prompts/get":
                return await self._expand(text_at(params, "name"), dict_at(params, "arguments"))
            case "resources/list" | "resources/templates/list":
                return {"resources" if method == "resources/list" else "resourceTemplates": []}
            case "resources/read":
                uri = text_at(params, "uri")
                raise JsonRpcError(INVALID_PARAMS, "There is no such resource.", {"uri": uri})
            case "completion/complete":
                return {"completion": {"values": []}}
            case "logging/setLevel":
                self._level = text_at(params, "level", 20)
                return {}
            case "tools/call":
                call.token = dict_at(params, "_meta").get("progressToken")
                return await self._call(call, text_at(params, "name"), dict_at(params, "arguments"))
        raise JsonRpcError(METHOD_NOT_FOUND, f"Unknown method {method}.")

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        asked = text_at(params, "protocolVersion", 40)
        self.version = asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[0]
        self._capabilities = dict_at(params, "capabilities")
        about = _about(self._options.cwd)
        about["capabilities"]["logging"] = {}
        return {"protocolVersion": self.version, "serverInfo": mcp_calls.SERVER_INFO, **about}

    async def _list(self) -> list[dict[str, Any]]:
        session = (await self._tool_host()).session
        rows = [
            {
                "name": tool.name,
                "title": tool.label,
                "description": tool.spec.description,
                "inputSchema": tool.spec.parameters,
                "annotations": {"readOnlyHint": tool.name in READ_ONLY},
            }
            for tool in session.tools
        ]
        return [*rows, PROMPT]

    async def _commands(self) -> dict[str, CommandFile]:
        """The slash commands that files define are our prompts."""
        supplies = (await self._tool_host()).session.supplies()
        return {file.name: file for file in await asyncio.to_thread(supplies.commands)}

    async def _expand(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        file = (await self._commands()).get(name)
        if file is None:
            raise JsonRpcError(INVALID_PARAMS, f'There is no prompt "{name}".')
        supplies = (await self._tool_host()).session.supplies()
        try:
            text = supplies.command_prompt(file, text_at(arguments, "arguments", 100_000))
        except TauError as error:
            raise JsonRpcError(INTERNAL_ERROR, str(error)) from None
        return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}

    def warn(self, text: str) -> None:
        """Tell the client, if it wants warnings."""
        if self._level in ("debug", "info", "notice", "warning") and self._calls:
            message = encode_message("notifications/message", {"level": "warning", "data": text})
            spawn(self._tasks, _quietly(next(reversed(self._calls)).send(message)))

    async def _call(self, call: ServedCall, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if name == "prompt":
            return await self._prompt(call, arguments)
        if name not in TOOLS:
            raise JsonRpcError(INVALID_PARAMS, f'Unknown tool "{name}".')
        session = (await self._tool_host()).session
        output = await session.call_tool(name, arguments)
        return _result_of(output)

    async def _prompt(self, call: ServedCall, arguments: dict[str, Any]) -> dict[str, Any]:
        """A turn of the agent. Canceling the request stops it."""
        text = text_at(arguments, "prompt", 10**6)
        if not text.strip():
            raise JsonRpcError(INVALID_PARAMS, "The prompt is empty.")
        host = await self._agent_host(text_at(arguments, "session", 200))
        session = host.session
        if host.busy:
            return _result_of(ToolOutput.text("The agent is working on another prompt.", is_error=True))
        stop = session.subscribe(lambda event: self._report(call, event))
        try:
            outcome = await session.prompt(text)
        except asyncio.CancelledError:
            await session.activities.end_run()
            raise
        except TauError as error:
            return _result_of(ToolOutput.text(str(error), is_error=True))
        finally:
            stop()
        said = "" if outcome.message is None else outcome.message.text
        verdict = judge(outcome)
        result = _result_of(
            ToolOutput.text(said or verdict.remark or "(no answer)", is_error=verdict.code != 0)
        )
        return {**result, "structuredContent": {"session": session.log.header.id, "answer": said}}

    def _report(self, call: ServedCall, event: AgentEvent) -> None:
        if isinstance(event, ToolStart) and call.token is not None:
            call.steps += 1
            progress = {"progressToken": call.token, "progress": call.steps, "message": event.tool_name}
            spawn(self._tasks, _quietly(call.send(encode_message("notifications/progress", progress))))

    async def elicit(self, message: str, schema: dict[str, Any]) -> Any:
        """The user's answer; None without one."""
        call = CURRENT_CALL.get() or next(reversed(self._calls), None)
        wanted = {"type": "object", "properties": {"answer": schema}, "required": ["answer"]}
        params = {"message": message, "requestedSchema": wanted}
        if call is not None and (paused := call.paused) is not None:
            return await paused.ask(params, ELICIT_S)
        request = self.peer.begin("elicitation/create", params)
        try:
            await (self._send if call is None else call.send)(request.data)
            async with asyncio.timeout(ELICIT_S):
                result = read_object(await request.answer)
        except (TauError, TimeoutError, OSError):
            return None
        finally:
            self.peer.end(request)
        return answer_in(result)

    def _on_notification(self, method: str, params: Raw) -> None:
        if method == "notifications/cancelled":
            id = read_object(params).get("requestId")
            for call in [call for call, own in self._calls.items() if own == id]:
                call.cancel()

    async def _tool_host(self) -> SessionHost:
        """The session that calls share, so that an edit knows what was read. It needs no model."""
        async with self._opening:
            if self._tools is None:
                plain = self._options.next(tools=TOOLS, save=False, stream=Faux([]).stream, ui=self._ui())
                host = SessionHost(plain, lambda event: None, self._tasks)
                await host.open()
                self._tools = host
        return self._tools

    async def _agent_host(self, resume: str) -> SessionHost:
        async with self._opening:
            if self._agent is None:
                chosen = self._options.next(resume=resume or None, ui=self._ui())
                host = SessionHost(chosen, lambda event: None, self._tasks)
                await _opened(host.open())
                self._agent = host
            elif resume != self._agent.session.log.header.id:
                chosen = self._options.next(resume=resume or None, ui=self._ui())
                await _opened(self._agent.switch(chosen))
        return self._agent

    def _ui(self) -> ElicitingUi | None:
        return ElicitingUi(self) if "elicitation" in self._capabilities else None


async def _opened(work: Awaitable[None]) -> None:
    try:
        await work
    except TauError as error:
        raise JsonRpcError(INVALID_PARAMS, str(error)) from None


def _about(cwd: Path) -> dict[str, Any]:
    return {
        "capabilities": {"tools": {}, "prompts": {}, "resources": {}, "completions": {}},
        "instructions": f"Works in {cwd}. What needs approval is asked by elicitation.",
    }


async def _quietly(work: Awaitable[None]) -> None:
    with suppress(TauError, OSError):
        await work


def _prompt_row(file: CommandFile) -> dict[str, Any]:
    argument = {"name": "arguments", "description": file.hint or "What follows the command"}
    return {"name": file.name, "description": file.description, "arguments": [argument]}


def _result_of(output: ToolOutput) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    for part in output.content:
        if isinstance(part, ImageContent):
            parts.append({"type": "image", "data": part.data, "mimeType": part.mime_type})
        elif isinstance(part, TextContent):
            parts.append({"type": "text", "text": part.text})
    return {"content": parts, "isError": output.is_error}
