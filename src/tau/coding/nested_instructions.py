"""Sends the instructions of a folder when a tool first touches it; the prompt stays the same."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tau.agent.hooks import Hooks, ToolQuestion
from tau.agent.output import ToolOutput
from tau.agent.queue import Queue
from tau.ai.wire import AppMessage, CustomMessage, ToolCall
from tau.base import log
from tau.base.clock import now_ms
from tau.base.errors import TauError
from tau.coding.prompts.system import instructions
from tau.coding.supplies import Supplies
from tau.config.discovery.providers import has_any, nested_roots
from tau.config.instruction_files import ContextFile

CUSTOM_TYPE = "nested-context"
HEAD = "Instructions for the folders you now work in; they add to those above."
MAX_CALLS = 1_000


class NestedInstructions(Hooks):
    """`folders` are those of the workspace, the working folder first; `messages` is the conversation."""

    def __init__(
        self,
        supplies: Supplies,
        folders: Callable[[], Iterable[Path]],
        messages: Callable[[], Iterable[AppMessage]],
        queue: Queue,
    ) -> None:
        self._supplies = supplies
        self._folders = folders
        self._messages = messages
        self._queue = queue
        self._calls: dict[str, tuple[Path, ...]] = {}

    async def before_tool(self, question: ToolQuestion) -> None:
        touched = (*question.effects.reads, *question.effects.writes)
        if touched and len(self._calls) < MAX_CALLS:
            self._calls[question.call.id] = touched

    async def after_tool(self, call: ToolCall, output: ToolOutput) -> ToolOutput:
        touched = self._calls.pop(call.id, ())
        if touched and not output.is_error:
            files = await asyncio.to_thread(self._read, touched)
            new = self._unsent(files) if files else []
            if new:
                self._send(new)
        return output

    def _read(self, touched: Iterable[Path]) -> list[ContextFile]:
        warn = log.warning
        return [
            file
            for folder in dict.fromkeys(self._touched_folders(touched))
            if has_any(nested_roots(folder), ("context-files",))
            for file in self._supplies.nested_context(folder, warn)
        ]

    def _touched_folders(self, touched: Iterable[Path]) -> Iterator[Path]:
        """The folders between those of the workspace and the paths, outer ones first."""
        for path in touched:
            inner = path if path.is_dir() else path.parent
            for root in self._folders():
                if inner.is_relative_to(root):
                    parts = inner.relative_to(root).parts
                    start = 1 if root == self._supplies.discovery.cwd else 0
                    yield from (root.joinpath(*parts[:depth]) for depth in range(start, len(parts) + 1))

    def _unsent(self, files: Iterable[ContextFile]) -> list[ContextFile]:
        waiting = (item.message for item in self._queue.waiting())
        sent = {
            path
            for message in (*self._messages(), *waiting)
            if isinstance(message, CustomMessage)
            and message.custom_type == CUSTOM_TYPE
            and isinstance(message.details, dict)
            for path in message.details.get("paths", ())
        }
        return [file for file in files if str(file.path) not in sent]

    def _send(self, files: list[ContextFile]) -> None:
        details = {"paths": [str(file.path) for file in files]}
        text = instructions(files, HEAD).strip()
        message = CustomMessage(CUSTOM_TYPE, text, display=False, timestamp=now_ms(), details=details)
        try:
            self._queue.aside(message)
        except TauError as error:
            log.warning("Instructions of a folder were not sent.", error)
