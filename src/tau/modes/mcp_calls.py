"""Calls that our MCP server is answering, and those that wait for the answer to a question."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from secrets import token_hex
from typing import Any

from msgspec import Struct

from tau.base.json_rpc import INVALID_PARAMS, JsonRpcError
from tau.base.tasks import spawn
from tau.ext.mcp.messages import META, dict_at, text_at
from tau.modes import mcp_stateless

MAX_PAUSED = 32
Send = Callable[[bytes], Awaitable[None]]
Work = Callable[[], Awaitable[dict[str, Any]]]


class PausedCall(Struct, eq=False):
    """The work of a stateless call: one request starts it and ends with a question, the next one answers."""

    request: tuple[str, Any]  # method and parameters, which the next request repeats
    can_ask: bool
    result: asyncio.Future[dict[str, Any]]
    work: asyncio.Task[None] | None = None
    question: asyncio.Future[dict[str, Any]] | None = None
    answer: asyncio.Future[Any] | None = None

    async def run(self, work: Work) -> None:
        try:
            self.result.set_result(await work())
        except Exception as error:
            self.result.set_exception(error)
            self.result.exception()  # it may be that nobody waits any more
        finally:
            self.result.cancel()

    async def ask(self, params: dict[str, Any], seconds: float) -> Any:
        """End the request with a question; None without an answer."""
        if not self.can_ask or self.question is None or self.question.done():
            return None
        self.answer = asyncio.get_running_loop().create_future()
        self.question.set_result(params)
        try:
            async with asyncio.timeout(seconds):
                return answer_in(await self.answer)
        except TimeoutError:
            return None


class ServedCall(Struct, eq=False):
    """A call that is running: where what it causes is sent, and its token for progress."""

    send: Send
    token: int | str | None = None
    task: asyncio.Task[None] | None = None
    steps: int = 0
    paused: PausedCall | None = None  # of the revision that asks in results

    def cancel(self) -> None:
        for task in (self.task, self.paused.work if self.paused else None):
            if task is not None:
                task.cancel()


CURRENT_CALL: ContextVar[ServedCall | None] = ContextVar("call", default=None)


class StatelessCalls:
    """Calls of clients without a session; tasks belong to `tasks`."""

    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        self._tasks = tasks
        self._paused: dict[str, ServedCall] = {}  # by the state that the client sends back

    def close(self) -> None:
        for call in self._paused.values():
            call.cancel()

    async def serve(
        self, call: ServedCall, method: str, params: dict[str, Any], work: Work
    ) -> dict[str, Any]:
        """The result, or what the user has to answer first. Raises JsonRpcError."""
        mcp_stateless.check_request(method, params)
        request = method, {name: value for name, value in params.items() if name in ("name", "arguments")}
        if state := text_at(params, "requestState", 200):
            first = self._paused.get(state)
            if first is None or (paused := first.paused) is None or paused.request != request:
                raise JsonRpcError(INVALID_PARAMS, "The requestState belongs to no such request.")
            del self._paused[state]
            first.send, call.paused = call.send, paused
            if paused.answer is not None and not paused.answer.done():
                paused.answer.set_result(dict_at(dict_at(params, "inputResponses"), "answer"))
        else:
            capabilities = dict_at(dict_at(params, "_meta"), f"{META}clientCapabilities")
            result = asyncio.get_running_loop().create_future()
            first, paused = call, PausedCall(request, "elicitation" in capabilities, result)
            call.paused = paused
            paused.work = spawn(self._tasks, paused.run(work))
        paused.question = asyncio.get_running_loop().create_future()
        await asyncio.wait((paused.result, paused.question), return_when=asyncio.FIRST_COMPLETED)
        if paused.result.done():
            return mcp_stateless.complete(method, paused.result.result())
        while len(self._paused) >= MAX_PAUSED:
            self._paused.pop(next(iter(self._paused))).cancel()
        self._paused[state := token_hex(16)] = first
        asked = {"method": "elicitation/create", "params": {"mode": "form", **paused.question.result()}}
        return {"resultType": "input_required", "inputRequests": {"answer": asked}, "requestState": state}


def answer_in(result: dict[str, Any]) -> Any:
    """What the user answered; None if they declined."""
    return dict_at(result, "content").get("answer") if result.get("action") == "accept" else None
