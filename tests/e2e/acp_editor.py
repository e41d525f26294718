"""An editor for tests of ACP mode: the SDK's own client, which records what it gets."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from acp import schema as a
from acp.client.connection import ClientSideConnection
from acp.exceptions import RequestError
from acp.interfaces import Client
from acp.stdio import spawn_agent_process

from tests.e2e.program import FAKE, TAU, Program
from tests.support.limits import HANG_S

Answer = Callable[[a.ToolCallUpdate, list[a.PermissionOption]], str | None]


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


def error_of(error: BaseException) -> tuple[int, str]:
    assert isinstance(error, RequestError)
    return error.code, str(error)
