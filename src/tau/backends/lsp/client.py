"""One running language server: requests, its own questions, open files, diagnostics."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import DecodeError, Raw, json

from tau.backends.lsp.config import ServerSpec
from tau.backends.lsp.documents import MAX_OPEN, Document, read_document, stamp_of
from tau.backends.lsp.protocol import Diagnostic, LspError, convert, from_uri, to_uri
from tau.backends.lsp.watch import FileWatch
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
SETTLE_S = 0.5
RESCAN_S = 2.0
MAX_KEPT_DIAGNOSTICS = 10_000  # per file
MAX_PROGRESS = 1_000
MAX_FREED_BYTES = 512 * 1024  # longer messages are decoded in a thread
MAX_PENDING_ANSWERS = 10_000
SERVER_CANCELLED, CONTENT_MODIFIED = -32802, -32801

ApplyEdit = Callable[[Any], Awaitable[str]]
"""Applies a workspace edit; returns why it did not, or nothing."""

_WORKSPACE_EDIT = {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]}
CAPABILITIES: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-8", "utf-16"]},
    "window": {"workDoneProgress": True, "showMessage": {}},
    "workspace": {
        "applyEdit": True,
        "configuration": True,
        "workspaceFolders": True,
        "workspaceEdit": _WORKSPACE_EDIT,
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "didChangeConfiguration": {"dynamicRegistration": True},
        "symbol": {"symbolKind": {"valueSet": list(range(1, 27))}},
        "executeCommand": {},
        "fileOperations": {"willRename": True, "didRename": True},
        "diagnostics": {"refreshSupport": True},
    },
    "textDocument": {
        "synchronization": {"didSave": True, "dynamicRegistration": False},
        "publishDiagnostics": {"versionSupport": True, "relatedInformation": True, "dataSupport": True},
        "diagnostic": {"dynamicRegistration": True, "relatedDocumentSupport": True},
        "hover": {"contentFormat": ["plaintext", "markdown"]},
        "definition": {"linkSupport": True},
        "typeDefinition": {"linkSupport": True},
        "implementation": {"linkSupport": True},
        "references": {},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "rename": {"prepareSupport": True},
        "formatting": {},
        "callHierarchy": {},
        "codeAction": {
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix", "refactor", "source"]}},
            "resolveSupport": {"properties": ["edit", "command"]},
            "dataSupport": True,
            "isPreferredSupport": True,
        },
    },
}


class LanguageServer:
    """Runs in the task group of its owner. Every question first sends what changed on disk."""

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
        self._watch = FileWatch(root, self._is_watched)
        self._opening = asyncio.Lock()
        self.documents: dict[Path, Document] = {}
        self.capabilities: dict[str, Any] = {}
        self.encoding = "utf-16"
        self.changes = 0  # of files, as far as it was told
        self.has_answered = False  # with diagnostics, at least once
        self.apply_edit: ApplyEdit | None = None
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
        for document in self.documents.values():
            document.published.set()

    async def _take(self, body: bytes) -> None:
        try:
            big = len(body) > MAX_FREED_BYTES
            messages = await asyncio.to_thread(decode_messages, body) if big else decode_messages(body)
        except DecodeError as error:
            self._link.end(f"{self.name} sent something that is not JSON-RPC ({error})")
            return
        for message in messages:
            if message.method == "textDocument/publishDiagnostics":
                await self._publish(message)
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
        """Raises LspError. If we stop waiting, the server is told."""
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

    async def notify(self, method: str, params: Any) -> None:
        try:
            await self._link.send(encode_message(method, params))
        except ProcessGone as error:
            raise LspError(str(error)) from None

    async def start(self) -> None:
        """The handshake. Raises LspError."""
        folder = {"uri": to_uri(self.root), "name": self.root.name}
        answer = await self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "clientInfo": {"name": "tau"},
                "rootPath": str(self.root),
                "rootUri": folder["uri"],
                "workspaceFolders": [folder],
                "capabilities": CAPABILITIES,
                "initializationOptions": self.spec.init_options,
            },
            self.spec.warmup_timeout_ms / 1000,
        )
        capabilities = answer.get("capabilities") if isinstance(answer, dict) else None
        if not isinstance(capabilities, dict):
            raise LspError(f"{self.name} sent no capabilities")
        self.capabilities = capabilities
        encoding = capabilities.get("positionEncoding", "utf-16")
        self.encoding = encoding if encoding in ("utf-8", "utf-16", "utf-32") else "utf-16"
        await self.notify("initialized", {})
        if self.spec.settings:
            await self.notify("workspace/didChangeConfiguration", {"settings": self.spec.settings})
        self._watch.looked_at = 0.0

    async def stop(self) -> None:
        """Ask it to exit, then end it."""
        if self.is_alive:
            with suppress(LspError, JsonRpcError, TimeoutError):
                async with asyncio.timeout(1.0):
                    await self.request("shutdown", None, 1.0)
                    await self.notify("exit", None)
        await self._link.close()

    # What the server asks and tells

    def _on_request(self, id: RpcId, method: str, params: Raw) -> None:
        if len(self._answers) > MAX_PENDING_ANSWERS:
            self._link.end(f"{self.name} asks faster than it reads the answers")
            return
        known = _fields(params)
        result: Any = None
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

    async def _apply(self, id: RpcId, edit: Any) -> None:
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

    def _setting(self, item: Any) -> Any:
        value: Any = self.spec.settings
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
        for document in self.documents.values() if self._pulls else ():
            document.published.set()

    def _on_notification(self, method: str, params: Raw) -> None:
        if method != "$/progress":
            return
        known = _fields(params)
        value, token = known.get("value"), str(known.get("token"))
        kind = value.get("kind") if isinstance(value, dict) else None
        if kind == "begin" and len(self._progress) < MAX_PROGRESS:
            self._progress[token] = kind
        elif kind == "end":
            self._progress.pop(token, None)
        (self._quiet.clear if self._progress else self._quiet.set)()

    async def _publish(self, message: RpcMessage) -> None:
        big = len(message.params) > MAX_FREED_BYTES
        found = await asyncio.to_thread(_published, message.params) if big else _published(message.params)
        if found is None:
            return
        path, version, raw, diagnostics = found
        document = self.documents.get(path)
        if document is None or (version is not None and version != document.version):
            return
        self.has_answered = True
        if version is None:
            document.raw, document.diagnostics = raw, diagnostics
            document.published.set()
        else:
            document.put(raw, diagnostics)

    # Files

    def provides(self, name: str, method: str = "") -> Any:
        """The options of a capability; False or None without it."""
        found = self.capabilities.get(name)
        if not found and method:
            found = next(
                (options or True for known, options in self._registered.values() if known == method), found
            )
        return found

    def _is_watched(self, name: Path) -> bool:
        return self.spec.matches(name) or name.name in self.spec.root_markers

    async def sync(self, path: Path, *, look: bool = True) -> Document:
        """Open the file, or send it again if it changed; the same for all others. Raises LspError."""
        self.used_at = time.monotonic()
        async with self._opening:
            await self._sync_others(path, look=look)
            document = self.documents.pop(path, None)
            if document is None:
                text, stamp = await asyncio.to_thread(read_document, path)
                document = Document(path, text, stamp)
                await self.open(document)
            else:
                self.documents[path] = document  # the last used is the last
                await self._refresh(document)
            while len(self.documents) > MAX_OPEN:
                await self.close(next(iter(self.documents)))
        return document

    async def open(self, document: Document) -> None:
        self.documents[document.path] = document
        self.changes += 1
        document.changed_at = self.changes
        await self.notify(
            "textDocument/didOpen",
            {
                "textDocument": {
                    "uri": to_uri(document.path),
                    "languageId": self.spec.language_of(document.path),
                    "version": document.version,
                    "text": document.text,
                }
            },
        )

    async def close(self, path: Path) -> None:
        if self.documents.pop(path, None) is not None:
            await self.notify("textDocument/didClose", {"textDocument": {"uri": to_uri(path)}})

    async def _refresh(self, document: Document) -> None:
        try:
            if stamp_of(document.path) == document.stamp:
                return
        except OSError:
            pass
        text, stamp = await asyncio.to_thread(read_document, document.path)
        document.stamp = stamp
        if text != document.text:
            await self.change(document, text)
            if self._wants_save():
                await self.notify("textDocument/didSave", {"textDocument": {"uri": to_uri(document.path)}})

    async def change(self, document: Document, text: str) -> None:
        """Tell it the new text, even if it is the same: then it looks again."""
        document.text = text
        document.version += 1
        self.changes += 1
        document.changed_at = self.changes
        document.published.clear()
        params: dict[str, Any] = {
            "textDocument": {"uri": to_uri(document.path), "version": document.version},
            "contentChanges": [{"text": text}],
        }
        if self.name == "clangd":
            params["forceRebuild"] = True
        await self.notify("textDocument/didChange", params)

    def _wants_save(self) -> bool:
        sync = self.capabilities.get("textDocumentSync")
        return isinstance(sync, dict) and bool(sync.get("save"))

    async def _sync_others(self, path: Path, *, look: bool) -> None:
        for document in tuple(self.documents.values()):
            if document.path == path:
                continue
            try:
                await self._refresh(document)
            except LspError:
                await self.close(document.path)  # it is gone
        if not look and time.monotonic() - self._watch.looked_at < RESCAN_S:
            return
        changed = await asyncio.to_thread(self._watch.changes)
        if changed:
            self.changes += 1
            rows = [{"uri": to_uri(each), "type": kind} for each, kind in changed[:5_000]]
            await self.notify("workspace/didChangeWatchedFiles", {"changes": rows})

    async def load_project(self, limit_s: float = PROJECT_LOAD_S) -> None:
        """Wait until it reports no more work, or it takes too long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(min(limit_s, PROJECT_LOAD_S)):
                await self._quiet.wait()

    # Diagnostics

    async def diagnostics(self, path: Path, wait_s: float) -> list[Diagnostic] | None:
        """What it says about the file as it is on disk now; None if it did not answer. Raises LspError."""
        document = await self.sync(path)
        async with document.lock:
            if self._pulls:
                return await self._pull(document, wait_s)
            return await self._await_push(document, wait_s)

    @property
    def _pulls(self) -> bool:
        return bool(self.provides("diagnosticProvider", "textDocument/diagnostic"))

    async def _pull(self, document: Document, wait_s: float) -> list[Diagnostic] | None:
        options = self.provides("diagnosticProvider", "textDocument/diagnostic")
        params: dict[str, Any] = {"textDocument": {"uri": to_uri(document.path)}}
        if isinstance(options, dict) and options.get("identifier"):
            params["identifier"] = options["identifier"]
        deadline = time.monotonic() + wait_s
        while True:
            asked_at = document.changed_at
            try:
                answer = await self.request(
                    "textDocument/diagnostic", params, max(deadline - time.monotonic(), 0.01)
                )
            except JsonRpcError as error:
                if error.code in (SERVER_CANCELLED, CONTENT_MODIFIED) and time.monotonic() < deadline:
                    await asyncio.sleep(0.02)
                    continue
                raise
            except LspError:
                if not self.is_alive:
                    raise
                return None
            items = answer.get("items") if isinstance(answer, dict) else None
            rows = items[:MAX_KEPT_DIAGNOSTICS] if isinstance(items, list) else []
            if asked_at == document.changed_at:
                self.has_answered = True
                document.put(rows, convert(rows, list[Diagnostic], "diagnostic"))
                return document.diagnostics

    async def _await_push(self, document: Document, wait_s: float) -> list[Diagnostic] | None:
        if document.answered_at >= self.changes:
            return document.diagnostics
        if document.changed_at < self.changes:  # another file changed: what it said before may be wrong
            await self.change(document, document.text)
        deadline = time.monotonic() + wait_s
        try:
            async with asyncio.timeout(wait_s):
                while document.answered_at < document.changed_at:
                    await self._wait_published(document)
                    if self._pulls:  # it has just said so
                        break
                    if document.answered_at < document.changed_at:  # without a version: wait until it settles
                        await self._settle(document)
        except TimeoutError:
            return None
        if self._pulls:
            return await self._pull(document, max(deadline - time.monotonic(), 0.01))
        return document.diagnostics

    async def _settle(self, document: Document) -> None:
        with suppress(TimeoutError):
            while True:
                document.published.clear()
                async with asyncio.timeout(SETTLE_S):
                    await self._wait_published(document)
        document.answered_at = document.changed_at

    async def _wait_published(self, document: Document) -> None:
        await document.published.wait()
        if not self.is_alive:
            raise LspError(self._link.gone.result())


def _fields(params: Raw) -> dict[str, Any]:
    try:
        value = json.decode(params)
    except (DecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _published(params: Raw) -> tuple[Path, int | None, list[Any], list[Diagnostic]] | None:
    known = _fields(params)
    path, rows, version = from_uri(str(known.get("uri"))), known.get("diagnostics"), known.get("version")
    if path is None or not isinstance(rows, list):
        return None
    rows = rows[:MAX_KEPT_DIAGNOSTICS]
    try:
        found = convert(rows, list[Diagnostic], "diagnostic")
    except LspError:
        return None
    return path, version if isinstance(version, int) else None, rows, found
