"""Shows the agent what language servers say about files it has just written."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import UNSET, Struct
from msgspec.structs import replace

from tau.agent.hooks import Hooks, ToolQuestion
from tau.agent.output import ToolOutput
from tau.agent.queue import Queue
from tau.ai.wire import CustomMessage, TextContent, ToolCall
from tau.backends.lsp.pool import FileReport, LanguageServers
from tau.backends.lsp.protocol import Diagnostic
from tau.base import log
from tau.base.clock import now_ms
from tau.base.errors import TauError
from tau.coding.lsp.answers import count_levels, row_lines, rows_of
from tau.coding.output import DiagnosticRow
from tau.config.discovery_settings import LspSettings

CUSTOM_TYPE = "lsp-diagnostics"
BASELINE_S = 0.5
WAIT_S = 1.5
LATE_S = 25.0
MAX_FILES = 20
MAX_OTHERS = 5
MAX_SHOWN = 20
MAX_CALLS = 100
MAX_KNOWN_FILES = 1_000

_Identity = tuple[str, str, str]


class _Before(Struct):
    """What was known when a call began: its files, and the errors of all that were open."""

    paths: tuple[Path, ...]
    known: dict[Path, Counter[_Identity]]


class EditDiagnostics(Hooks):
    """Waits a moment for running servers, never for one that has to start: that result comes later."""

    def __init__(self, servers: LanguageServers, settings: LspSettings, queue: Queue, cwd: Path) -> None:
        self._servers, self._settings, self._queue, self._cwd = servers, settings, queue, cwd
        self._calls: dict[str, _Before] = {}
        self._shown: dict[Path, set[_Identity]] = {}
        self._hidden = 0
        self._edits: dict[Path, int] = {}  # a later edit of a file makes an older result useless

    def _is_wanted(self, tool: str) -> bool:
        if tool == "write":
            return self._settings.diagnostics_on_write
        return tool in ("edit", "resolve") and self._settings.diagnostics_on_edit

    async def before_tool(self, question: ToolQuestion) -> None:
        if not self._is_wanted(question.call.name) or len(self._calls) >= MAX_CALLS:
            return
        paths = tuple(path for path in question.effects.writes[:MAX_FILES] if self._servers.for_file(path))
        if not paths:
            return
        known: dict[Path, Counter[_Identity]] = {}
        existing = [path for path in paths if path.is_file()]
        for report in await self._ask(existing, BASELINE_S):
            if not report.silent and not report.failed:
                known[report.path] = _identities(report.diagnostics)
        for path, found in self._open_files().items():
            known.setdefault(path, found)
        self._calls[question.call.id] = _Before(paths, known)

    async def after_tool(self, call: ToolCall, output: ToolOutput) -> ToolOutput:
        before = self._calls.pop(call.id, None)
        if before is None or output.is_error:
            return output
        try:
            rows, text = await self._look(before)
        except TauError as error:
            log.warning("The diagnostics after an edit failed.", error)
            return output
        details = output.details
        if rows and "diagnostics" in getattr(details, "__struct_fields__", ()):
            details = replace(details, diagnostics=rows)
        return ToolOutput([*output.content, TextContent(text)], details) if text else output

    async def _look(self, before: _Before) -> tuple[list[DiagnosticRow], str]:
        paths = [path for path in before.paths if path.is_file()]
        for path in paths:
            if len(self._edits) > MAX_KNOWN_FILES:
                self._edits.clear()
            self._edits[path] = self._edits.get(path, 0) + 1
        reports = await self._ask(paths, WAIT_S)
        late = [report.path for report in reports if report.silent]
        late += [path for path in paths if self._is_cold(path) and path not in late]
        if late:
            marks = {path: self._edits[path] for path in late}
            self._servers.run_later(self._report_late(marks, before))
        self._hidden = 0
        rows = [row for report in reports for row in self._rows(report, before)]
        hidden = self._hidden
        others = await self._others(paths, before) if reports else []
        notes = [f"[{failed}]" for report in reports for failed in report.failed]
        if hidden:
            notes.append(f"[{hidden} shown earlier remain]")
        return [*rows, *others], _text(rows, others, notes)

    def _is_cold(self, path: Path) -> bool:
        return any(self._servers.running(spec) is None for spec in self._servers.for_file(path))

    async def _ask(self, paths: Iterable[Path], wait_s: float) -> list[FileReport]:
        """What running servers say within that time."""
        asked = [
            path
            for path in paths
            if any(self._servers.running(spec) for spec in self._servers.for_file(path))
        ]
        if not asked:
            return []
        return list(
            await asyncio.gather(
                *(
                    self._servers.check(path, wait_s=wait_s, cold_wait_s=wait_s, only_running=True)
                    for path in asked
                )
            )
        )

    def _rows(self, report: FileReport, before: _Before, *, again: bool = True) -> list[DiagnosticRow]:
        """New errors first; those shown before only once, new ones `again` if they came back."""
        known = before.known.get(report.path)
        left = Counter(known or ())

        def is_new(each: Diagnostic) -> bool:
            if known is None:
                return False
            left[each.identity] -= 1
            return left[each.identity] < 0

        rows = rows_of(report.path, self._cwd, report.diagnostics, is_new)
        shown = self._shown.get(report.path, set())
        if len(self._shown) > MAX_KNOWN_FILES:
            self._shown.clear()
        self._shown[report.path] = {_row_identity(row) for row in rows}
        if self._settings.diagnostics_deduplicate or not again:
            before_rows = len(rows)
            rows = [row for row in rows if (row.is_new and again) or _row_identity(row) not in shown]
            self._hidden += before_rows - len(rows)
        return sorted(rows, key=lambda row: not row.is_new)

    async def _others(self, paths: Sequence[Path], before: _Before) -> list[DiagnosticRow]:
        """New errors in other open files."""
        wanted = [path for path in self._open_files() if path not in paths and path.is_file()][-MAX_FILES:]
        rows: list[DiagnosticRow] = []
        broken = 0
        for report in await self._ask(wanted, WAIT_S):
            mine = [row for row in self._rows(report, before) if row.is_new and row.level == "error"]
            if mine and broken < MAX_OTHERS:
                rows += mine
                broken += 1
        return rows

    def _open_files(self) -> dict[Path, Counter[_Identity]]:
        found: dict[Path, Counter[_Identity]] = {}
        for spec in self._servers.found.usable:
            server = self._servers.running(spec)
            for document in server.documents.values() if server else ():
                if document.answered_at >= 0:
                    found.setdefault(document.path, Counter()).update(_identities(document.diagnostics))
        return found

    async def _report_late(self, marks: dict[Path, int], before: _Before) -> None:
        """Tell the agent once, after its current step, unless it has edited the file again."""
        rows: list[DiagnosticRow] = []
        for path, mark in marks.items():
            report = await self._servers.check(path, wait_s=LATE_S, cold_wait_s=LATE_S)
            if self._edits.get(path) == mark:
                rows += self._rows(report, before, again=False)
        if rows:
            text = _text(rows, [], [])
            self._queue.aside(
                CustomMessage(CUSTOM_TYPE, text, display=False, timestamp=now_ms(), details=UNSET)
            )


def _identities(found: Iterable[Diagnostic]) -> Counter[_Identity]:
    return Counter(each.identity for each in found)


def _row_identity(row: DiagnosticRow) -> _Identity:
    return row.level, row.message, row.tag


def _text(rows: Sequence[DiagnosticRow], others: Sequence[DiagnosticRow], notes: Sequence[str]) -> str:
    parts = []
    if rows:
        parts += [f"Diagnostics ({count_levels(rows)}):", *row_lines(rows, MAX_SHOWN)]
    if others:
        parts += ["New errors in other files:", *row_lines(others, MAX_SHOWN)]
    return "\n".join([*parts, *notes])
