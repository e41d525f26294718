"""A connection to a debug adapter: numbers requests, matches responses, passes on events."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeAlias

from msgspec import DecodeError, Struct, json

from tau.base import log, secrets
from tau.base.errors import TauError
from tau.base.framing import FramedProcess, ProcessGone
from tau.base.tasks import spawn
from tau.base.text import clean_line, shortened

REQUEST_S = 30.0
MAX_FREED_BYTES = 512 * 1024  # longer messages are decoded in a thread
MAX_SHOWN_CHARS = 500
MAX_REVERSE_REQUESTS = 100  # at once

OnEvent: TypeAlias = Callable[[str, dict[str, Any]], None]
OnReverseRequest: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


class DapError(TauError):
    """The adapter refused, did not answer, or is gone. The text is for the model."""


class RequestTimeout(DapError):
    """No response in time; the session goes on."""


class DapMessage(Struct, frozen=True):
    """Any message. `body` and `arguments` are whatever the adapter sent."""

    type: str = ""
    seq: int = 0
    request_seq: int = 0
    success: bool = True
    command: str = ""
    event: str = ""
    message: Any = None
    body: Any = None
    arguments: Any = None


_DECODER = json.Decoder(DapMessage)


class PendingRequest(Struct, eq=False):
    """A request on its way; await `response`."""

    seq: int
    command: str
    response: asyncio.Future[dict[str, Any]]

    def fail(self, error: DapError) -> None:
        if not self.response.done():
            self.response.set_exception(error)
            self.response.exception()  # it may be that nobody waits any more


class DapConnection:
    """Runs in the task group of its owner, which calls `read`."""

    def __init__(
        self,
        link: FramedProcess,
        group: asyncio.TaskGroup,
        on_event: OnEvent,
        on_request: OnReverseRequest,
        on_end: Callable[[], None],
    ) -> None:
        self._link, self._group = link, group
        self._on_event, self._on_request, self._on_end = on_event, on_request, on_end
        self._pending: dict[int, PendingRequest] = {}
        self._seq = 0
        self._reverse_requests = 0

    @property
    def pid(self) -> int:
        return self._link.pid

    @property
    def is_alive(self) -> bool:
        return not self._link.gone.done()

    @property
    def why_gone(self) -> str:
        return self._link.gone.result() if self._link.gone.done() else ""

    async def read(self) -> None:
        """Handle what the adapter sends, until it ends. Runs in the owner's task group."""
        try:
            await self._link.read(self._take)
        except Exception as error:  # it would cancel the whole session
            log.warning("A debug adapter failed.", error)
            self._link.end(f"the debug adapter could not be understood: {error!r}")
        self._link.end("the debug adapter ended")
        for pending in tuple(self._pending.values()):
            pending.fail(DapError(self.why_gone))
        self._on_end()

    async def _take(self, body: bytes) -> None:
        try:
            big = len(body) > MAX_FREED_BYTES
            message = await asyncio.to_thread(_DECODER.decode, body) if big else _DECODER.decode(body)
        except (DecodeError, UnicodeDecodeError, RecursionError) as error:
            self._link.end(f"the debug adapter sent something that is not DAP ({error})")
            return
        match message.type:
            case "response":
                self._on_response(message)
            case "event":
                self._on_event(message.event, _fields(message.body))
            case "request":
                self._reverse_requests += 1
                if self._reverse_requests > MAX_REVERSE_REQUESTS:
                    self._link.end("the debug adapter asks faster than it reads the answers")
                    return
                spawn(self._group, self._answer(message), name="dap answer")

    def _on_response(self, message: DapMessage) -> None:
        pending = self._pending.get(message.request_seq)
        if pending is None or pending.response.done():
            return
        if message.success:
            pending.response.set_result(_fields(message.body))
        else:
            pending.fail(DapError(_refusal(message, pending.command)))

    async def _answer(self, request: DapMessage) -> None:
        self._seq += 1
        answer: dict[str, object] = {
            "seq": self._seq,
            "type": "response",
            "request_seq": request.seq,
            "command": request.command,
        }
        try:
            answer |= {
                "success": True,
                "body": await self._on_request(request.command, _fields(request.arguments)),
            }
        except (TauError, OSError, ValueError) as error:
            answer |= {"success": False, "message": str(error)}
        finally:
            self._reverse_requests -= 1
        with suppress(ProcessGone):
            await self._link.send(json.encode(answer))

    async def begin(self, command: str, arguments: object = None) -> PendingRequest:
        """Send a request without waiting for its response. Raises DapError."""
        self._seq += 1
        pending = PendingRequest(self._seq, command, asyncio.get_running_loop().create_future())
        self._pending[pending.seq] = pending
        message = {"seq": pending.seq, "type": "request", "command": command}
        if arguments is not None:
            message["arguments"] = arguments
        try:
            await self._link.send(json.encode(message))
        except ProcessGone as error:
            self.forget(pending)
            raise DapError(str(error)) from None
        return pending

    def forget(self, pending: PendingRequest) -> None:
        self._pending.pop(pending.seq, None)

    async def finish(self, pending: PendingRequest, timeout_s: float = REQUEST_S) -> dict[str, Any]:
        """Wait for the response. Raises DapError."""
        try:
            async with asyncio.timeout(timeout_s):
                return await pending.response
        except TimeoutError:
            raise RequestTimeout(
                f"DAP request {pending.command} timed out after {timeout_s * 1000:.0f}ms"
            ) from None
        finally:
            self.forget(pending)

    async def request(
        self, command: str, arguments: object = None, timeout_s: float = REQUEST_S
    ) -> dict[str, Any]:
        """Raises DapError."""
        return await self.finish(await self.begin(command, arguments), timeout_s)

    async def close(self) -> None:
        await self._link.close()


def _fields(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _refusal(message: DapMessage, command: str) -> str:
    """What the adapter says is wrong; some put it into a format with variables."""
    error = _fields(_fields(message.body).get("error"))
    text = str(error.get("format") or message.message or f"the adapter refused {command}")
    for name, value in _fields(error.get("variables")).items():
        text = text.replace(f"{{{name}}}", str(value))
    return secrets.mask(shortened(clean_line(text), MAX_SHOWN_CHARS))
