"""An editor for tests of ACP mode: the SDK's own client, which records what it gets."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from acp import schema as a
from acp.client.connection import ClientSideConnection
from acp.exceptions import RequestError
from acp.interfaces import Client
from acp.stdio import spawn_agent_process

from tests.e2e.program import FAKE, TAU, Program
from tests.support.limits import HANG_S


class Editor(Client):
    """Allows what it is asked about unless `answer` says otherwise; has no files and no terminals."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.asked: list[tuple[a.ToolCallUpdate, list[a.PermissionOption]]] = []
        self.answer: Callable[[a.ToolCallUpdate], Awaitable[str | None]] = self._allow
        self.seen = asyncio.Event()

    async def _allow(self, call: a.ToolCallUpdate) -> str | None:
        return "once"

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)
        self.seen.set()

    async def request_permission(
        self, session_id: str, tool_call: a.ToolCallUpdate, options: list[a.PermissionOption], **_: Any
    ) -> a.RequestPermissionResponse:
        self.asked.append((tool_call, options))
        chosen = await self.answer(tool_call)
        if chosen is None:
            return a.RequestPermissionResponse(outcome=a.DeniedOutcome(outcome="cancelled"))
        return a.RequestPermissionResponse(outcome=a.AllowedOutcome(outcome="selected", option_id=chosen))

    def of(self, kind: str) -> list[Any]:
        return [update for update in self.updates if update.session_update == kind]

    def text(self, kind: str = "agent_message_chunk") -> str:
        return "".join(update.content.text for update in self.of(kind))

    async def wait_for(self, found: Callable[[], Any]) -> None:
        """Wait until an update makes it true."""
        while not found():
            self.seen.clear()
            await self.seen.wait()


class FullEditor(Editor):
    """Has unsaved files by path, and runs what it is asked to in real processes."""

    def __init__(self) -> None:
        super().__init__()
        self.buffers: dict[str, str] = {}
        self.saves = True
        self.commands: list[str] = []
        self.processes: dict[str, asyncio.subprocess.Process] = {}
        self.outputs: dict[str, bytearray] = {}
        self.released: list[str] = []

    async def read_text_file(
        self, session_id: str, path: str, line: int | None = None, limit: int | None = None, **_: Any
    ) -> a.ReadTextFileResponse:
        if path not in self.buffers:
            raise RequestError(-32002, "not open")
        return a.ReadTextFileResponse(content=self.buffers[path])

    async def write_text_file(self, session_id: str, path: str, content: str, **_: Any) -> None:
        self.buffers[path] = content
        if self.saves:
            Path(path).write_text(content)

    async def create_terminal(
        self,
        session_id: str,
        command: str,
        args: list[str] | None = None,
        env: list[a.EnvVariable] | None = None,
        cwd: str | None = None,
        output_byte_limit: int | None = None,
        **_: Any,
    ) -> a.CreateTerminalResponse:
        id = f"term_{len(self.commands)}"
        self.commands.append(" ".join(args or []))
        variables = {one.name: one.value for one in env or []}
        process = await asyncio.create_subprocess_exec(
            command,
            *(args or []),
            cwd=cwd,
            env={**os.environ, **variables},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        self.processes[id], self.outputs[id] = process, bytearray()
        return a.CreateTerminalResponse(terminal_id=id)

    async def terminal_output(self, session_id: str, terminal_id: str, **_: Any) -> a.TerminalOutputResponse:
        process, output = self.processes[terminal_id], self.outputs[terminal_id]
        assert process.stdout is not None
        try:
            async with asyncio.timeout(0.01):
                while piece := await process.stdout.read(1000):
                    output.extend(piece)
            await process.wait()
        except TimeoutError:
            pass
        code = process.returncode
        ended = None if code is None else a.TerminalExitStatus(exit_code=code if code >= 0 else None)
        return a.TerminalOutputResponse(output=output.decode(), truncated=False, exit_status=ended)

    async def kill_terminal(self, session_id: str, terminal_id: str, **_: Any) -> None:
        if self.processes[terminal_id].returncode is None:
            self.processes[terminal_id].kill()
            await self.processes[terminal_id].wait()

    async def release_terminal(self, session_id: str, terminal_id: str, **_: Any) -> None:
        await self.kill_terminal(session_id, terminal_id)
        self.released.append(terminal_id)


@asynccontextmanager
async def connected(
    tau: Program, editor: Editor, *args: str, capabilities: a.ClientCapabilities | None = None
) -> AsyncIterator[ClientSideConnection]:
    """tau as the agent of this editor, initialized."""
    async with asyncio.timeout(HANG_S):
        async with spawn_agent_process(
            editor, TAU[0], *TAU[1:], "acp", *FAKE, *args, cwd=str(tau.project), use_unstable_protocol=True
        ) as (agent, _):
            await agent.initialize(1, capabilities or a.ClientCapabilities())
            yield agent


def text(value: str) -> list[Any]:
    return [a.TextContentBlock(type="text", text=value)]
