"""A connection to a language server: requests, answers to its own questions, its progress."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import DecodeError, Raw, json

from tau.backends.lsp.config import ServerSpec
from tau.backends.lsp.protocol import LspError, to_uri
from tau.base import log
from tau.base.framing import FramedProcess, ProcessGone
from tau.base.json_rpc import (
    METHOD_NOT_FOUND,
    JsonRpcError,
    RpcFault,
    RpcId,
    RpcMessage,
    RpcPeer,
    decode_messages,
    encode_answer,
    encode_message,
)
from tau.base.tasks import spawn

REQUEST_S = 30.0
PROJECT_LOAD_S = 15.0
MAX_PROGRESS = 1_000
COMPLAINTS = {
    "eslint/noLibrary": "eslint is not installed in the project",
    "eslint/noConfig": "no configuration of eslint applies to the file",
}
MAX_FREED_BYTES = 512 * 1024  # longer messages are decoded in a thread
MAX_PENDING_ANSWERS = 10_000

ApplyEdit = Callable[[Any], Awaitable[str]]
"""Applies a workspace edit; returns why it did not, or nothing."""


class LspConnection:
    """Runs in the task group of its owner, which calls `read`."""

    def __init__(self, spec: ServerSpec, root: Path, link: FramedProcess, group: asyncio.TaskGroup) -> None:
        self.spec, self.root = spec, root
        self._link, self._group = link, group
        self._peer = RpcPeer(self._on_request, self._on_notification, lambda problem: None)
        self._answers: list[bytes] = []
        self._is_answering = False
        self._progress: dict[str, str] = {}
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._registered: dict[str, tuple[str, Any]] = {}
        self.capabilities: dict[str, Any] = {}
        self.changes = 0  # of files that it knows of
        self.apply_edit: ApplyEdit | None = None
        self.complaint = ""  # why its last diagnostics say nothing
        self.used_at = time.monotonic()

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def pid(self) -> int:
        return self._link.pid

    @property
    def is_alive(self) -> bool:
        return not self._link.gone.done()

    @property
    def gone(self) -> asyncio.Future[str]:
        return self._link.gone

    # Messages

    async def read(self) -> None:
        """Handle what it sends, until it ends. Runs in the owner's task group."""
        try:
            await self._link.read(self._take)
        except Exception as error:  # it would cancel the whole session
            log.warning(f"The language server {self.name} failed.", error)
            self._link.end(f"{self.name} could not be understood: {error!r}")
        reason = self._link.gone.result() if self._link.gone.done() else f"{self.name} ended"
        self._link.end(reason)
        self._peer.fail_all(ProcessGone(reason))
        self._quiet.set()
        self._on_end()

    async def _take(self, body: bytes) -> None:
        try:
            big = len(body) > MAX_FREED_BYTES
            messages = await asyncio.to_thread(decode_messages, body) if big else decode_messages(body)
        except DecodeError as error:
            self._link.end(f"{self.name} sent something that is not JSON-RPC ({error})")
            return
        for message in messages:
            if message.method == "textDocument/publishDiagnostics":
                await self._on_publish(message)
            else:
                self._peer.take_message(message)
        if self._answers and not self._is_answering:  # beside reading: it may not read before we do
            self._is_answering = True
            spawn(self._group, self._send_answers(), name="lsp answers")

    async def _send_answers(self) -> None:
        with suppress(ProcessGone):
            while self._answers:
                answers, self._answers = self._answers, []
                for answer in answers:
                    await self._link.send(answer)
        self._is_answering = False

    async def request(self, method: str, params: Any, timeout_s: float = REQUEST_S) -> Any:
        """Raises LspError. If we stop waiting, the server gets a cancellation."""
        self.used_at = time.monotonic()
        call = self._peer.begin(method, params)
        try:
            await self._link.send(call.data)
            async with asyncio.timeout(timeout_s):
                raw = await call.answer
        except TimeoutError:
            await self._cancel(call.id)
            raise LspError(f"no answer from {self.name} to {method} in {timeout_s:g} s") from None
        except asyncio.CancelledError:
            await self._cancel(call.id)
            raise
        except JsonRpcError as error:
            error.args = (f"{self.name}: {error}",)
            raise
        except ProcessGone as error:
            raise LspError(str(error)) from None
        finally:
            self._peer.end(call)
        try:
            return (
                await asyncio.to_thread(json.decode, raw) if len(raw) > MAX_FREED_BYTES else json.decode(raw)
            )
        except (DecodeError, RecursionError) as error:
            raise LspError(f"{self.name} sent an unreadable answer to {method}: {error}") from None

    async def _cancel(self, id: int) -> None:
        with suppress(ProcessGone):
            await self._link.send(encode_message("$/cancelRequest", {"id": id}))

    async def notify(self, method: str, params: object) -> None:
        try:
            await self._link.send(encode_message(method, params))
        except ProcessGone as error:
            raise LspError(str(error)) from None

    # What the server asks and tells

    def _on_request(self, id: RpcId, method: str, params: Raw) -> None:
        if len(self._answers) > MAX_PENDING_ANSWERS:
            self._link.end(f"{self.name} asks faster than it reads the answers")
            return
        known = fields_of(params)
        result: object = None
        match method:
            case "workspace/configuration":
                items = known.get("items")
                result = [self._setting(item) for item in items[:100]] if isinstance(items, list) else []
            case "client/registerCapability" | "client/unregisterCapability":
                self._register(known, add=method == "client/registerCapability")
            case "window/workDoneProgress/create" | "workspace/diagnostic/refresh":
                if method.endswith("refresh"):
                    self.changes += 1
            case "workspace/workspaceFolders":
                result = [{"uri": to_uri(self.root), "name": self.root.name}]
            case "eslint/noLibrary" | "eslint/noConfig":
                self.complaint = COMPLAINTS[method]
            case "window/showMessageRequest" | "workspace/semanticTokens/refresh":
                pass
            case "workspace/applyEdit":
                spawn(self._group, self._apply(id, known.get("edit")), name="lsp edit")
                return
            case _:
                fault = RpcFault(METHOD_NOT_FOUND, f"tau does not support {method[:100]}")
                self._answers.append(encode_answer(id, error=fault))
                return
        self._answers.append(encode_answer(id, result))

    async def _apply(self, id: RpcId, edit: object) -> None:
        apply, self.apply_edit = self.apply_edit, None  # one at a time
        try:
            why = "no edit was asked for" if apply is None else await apply(edit)
        except Exception as error:
            why = str(error)
        finally:
            self.apply_edit = apply
        result = {"applied": not why, **({"failureReason": why} if why else {})}
        with suppress(ProcessGone):
            await self._link.send(encode_answer(id, result))

    def _setting(self, item: object) -> object:
        value: object = self.spec.settings
        section = item.get("section") if isinstance(item, dict) else None
        for part in str(section).split(".") if section else ():
            value = value.get(part) if isinstance(value, dict) else None
        return value

    def _register(self, params: dict[str, Any], *, add: bool) -> None:
        rows = params.get("registrations" if add else "unregisterations")
        for row in rows[:200] if isinstance(rows, list) else ():
            if isinstance(row, dict) and isinstance(row.get("id"), str):
                if add and len(self._registered) < 500:
                    self._registered[row["id"]] = (str(row.get("method")), row.get("registerOptions"))
                else:
                    self._registered.pop(row["id"], None)
        self._on_end()

    def _on_notification(self, method: str, params: Raw) -> None:
        if method != "$/progress":
            return
        known = fields_of(params)
        value, token = known.get("value"), str(known.get("token"))
        kind = value.get("kind") if isinstance(value, dict) else None
        if kind == "begin" and len(self._progress) < MAX_PROGRESS:
            self._progress[token] = kind
        elif kind == "end":
            self._progress.pop(token, None)
        (self._quiet.clear if self._progress else self._quiet.set)()

    def provides(self, name: str, method: str = "") -> object:
        """The options of a capability; False or None without it."""
        found = self.capabilities.get(name)
        if not found and method:
            found = next(
                (options or True for known, options in self._registered.values() if known == method), found
            )
        return found

    async def load_project(self, limit_s: float = PROJECT_LOAD_S) -> None:
        """Wait until it reports no more work, or it takes too long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(min(limit_s, PROJECT_LOAD_S)):
                await self._quiet.wait()

    async def _on_publish(self, message: RpcMessage) -> None:
        """Diagnostics came."""

    def _on_end(self) -> None:
        """It ended, or can do something else now: those that wait have to look again."""


def fields_of(params: Raw) -> dict[str, object]:
    try:
        value = json.decode(params)
    except (DecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
