"""One running language server: its open files, compared with the disk before each question."""

import asyncio
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Raw, json

from tau.backends.lsp.config import ServerSpec
from tau.backends.lsp.connection import MAX_FREED_BYTES, LspConnection, fields_of
from tau.backends.lsp.documents import MAX_OPEN, Document, read_document, stamp_of
from tau.backends.lsp.file_watch import FileWatch
from tau.backends.lsp.protocol import Diagnostic, LspError, convert, from_uri, to_uri
from tau.base.framing import FramedProcess
from tau.base.json_rpc import JsonRpcError, RpcMessage

SETTLE_S = 0.5
RESCAN_S = 2.0
MAX_KEPT_DIAGNOSTICS = 10_000  # per file
SERVER_CANCELLED, CONTENT_MODIFIED = -32802, -32801


class LanguageServer(LspConnection):
    """Every question first sends what changed on disk."""

    def __init__(self, spec: ServerSpec, root: Path, link: FramedProcess, group: asyncio.TaskGroup) -> None:
        super().__init__(spec, root, link, group)
        self._watch = FileWatch(root, self._is_watched)
        self._opening = asyncio.Lock()
        self.documents: dict[Path, Document] = {}
        self.encoding = "utf-16"
        self.has_answered = False  # with diagnostics, at least once
        self._is_settled = False  # its first empty answer may only mean that it has not looked yet

    async def start(self) -> None:
        """The handshake. Raises LspError."""
        folder = {"uri": to_uri(self.root), "name": self.root.name}
        answer = await self.request(
            "initialize",
            {
                "processId": None,  # in a sandbox, our number names nothing: servers would exit
                "clientInfo": {"name": "tau"},
                "rootPath": str(self.root),
                "rootUri": folder["uri"],
                "workspaceFolders": [folder],
                "capabilities": json.decode(Path(__file__).with_name("capabilities.json").read_bytes()),
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
        if self.spec.settings and not self.spec.asks_settings:
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

    async def _on_publish(self, message: RpcMessage) -> None:
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

    def _on_end(self) -> None:
        for document in self.documents.values():
            document.published.set()

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

    async def diagnostics(self, path: Path, wait_s: float) -> list[Diagnostic] | None:
        """What it says about the file as it is on disk now; None if it did not answer. Raises LspError."""
        document = await self.sync(path)
        async with document.lock:
            look = self._pull if self._pulls else self._await_push
            found = await look(document, wait_s)
        if self.complaint and not found:
            raise LspError(f"{self.name}: {self.complaint}")
        return found

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
                    is_first = not self._is_settled and not document.diagnostics
                    self._is_settled = True
                    if (
                        is_first or document.answered_at < document.changed_at
                    ):  # the latter: without a version
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


def _published(params: Raw) -> tuple[Path, int | None, list[Any], list[Diagnostic]] | None:
    known = fields_of(params)
    path, rows, version = from_uri(str(known.get("uri"))), known.get("diagnostics"), known.get("version")
    if path is None or not isinstance(rows, list):
        return None
    rows = rows[:MAX_KEPT_DIAGNOSTICS]
    try:
        found = convert(rows, list[Diagnostic], "diagnostic")
    except LspError:
        return None
    return path, version if isinstance(version, int) else None, rows, found
