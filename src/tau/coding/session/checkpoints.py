"""The session's checkpoints: the active one is read from the log; a rewind moves the branch back."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, to_builtins

from tau.agent.events import AgentEnd, AgentStart, MessageEnd, MessageStart, Notice, TurnEnd
from tau.agent.queue import Queue
from tau.ai.wire import AppMessage, AssistantMessage, BranchSummaryMessage, UserMessage, text_of
from tau.base import log as logfile
from tau.base.clock import now_ms
from tau.base.errors import SessionError
from tau.base.late import late
from tau.base.text import shortened
from tau.coding.ports import Checkpoint
from tau.coding.session.branch_state import BranchState, tool_result
from tau.coding.session.context import EntryNode
from tau.coding.session.entries import BranchSummaryEntry, MessageEntry
from tau.coding.session.reminder_queue import has_next_prompt, is_final_answer, remind, remove_reminders
from tau.coding.session.storage.log import SessionLog

file_ops = late("tau.coding.session.compaction.file_ops")

MAX_WARNINGS = 3  # to a model that stops without a rewind, per user message
MAX_QUOTE_CHARS = 2_000  # kept of each user message
KIND = "rewind"

NOTHING_YET = "The checkpoint was made in this same answer, so there is nothing to rewind yet."
WARNING = (
    "A checkpoint is active. Call rewind with a report of your findings before you end your answer; "
    "without it, this investigation stays in the conversation."
)

T = TypeVar("T", bound=Struct)


class _Mark(Struct, frozen=True, kw_only=True):
    """What an entry says about checkpoints: one was made, a rewind was requested, or it was done."""

    id: str
    checkpoint: Checkpoint | None = None
    report: str | None = None


class _Report(Struct, frozen=True):
    report: str


class SessionCheckpoints:
    """The `Checkpoints` of one session; `observe` gets every event.

    All state is in the log, so that a resumed session or another branch knows what is active. A requested
    rewind happens at the end of its turn, or after a crash when the next run starts.
    """

    def __init__(self, log: SessionLog, queue: Queue, emit: Callable[[Any], None]) -> None:
        self._log = log
        self._queue = queue
        self._emit = emit
        self._newest = BranchState(log, self._read)
        self._warnings = 0

    @property
    def active(self) -> Checkpoint | None:
        mark = self._newest.get()
        return None if mark is None else mark.checkpoint

    def mark(self, checkpoint: Checkpoint) -> None:
        """Nothing to do: the tool's result records it."""
        self._warnings = 0

    def rewind(self, report: str) -> str | None:
        return NOTHING_YET if self._boundary(self._log.branch()) is None else None

    def observe(self, event: object) -> None:
        """Called with every event, after the todo list is recorded."""
        match event:
            case AgentStart():
                self._complete_rewind()
            case MessageEnd(message=UserMessage()):
                self._warnings = 0
            case TurnEnd(message=message, tool_results=results):
                if any(result.tool_name == "rewind" and not result.is_error for result in results):
                    self._complete_rewind()
                elif is_final_answer(message):
                    self._remind()
            case AgentEnd():
                remove_reminders(self._queue, "rewind-reminder")

    def _complete_rewind(self) -> None:
        """Do a requested rewind that is not done yet."""
        requested = self._newest.get()
        if requested is None or requested.report is None or self._is_done(requested.id):
            return
        branch = self._log.branch()
        boundary = self._boundary(branch)
        if boundary is None:
            return
        checkpoint, index = boundary
        abandoned = [message for node in branch[index + 1 :] if (message := self._message(node)) is not None]
        old = branch[-1].id
        entry = BranchSummaryEntry(
            from_id=old,
            summary=summary_text(checkpoint, requested.report, abandoned),
            details={
                "kind": KIND,
                "goal": checkpoint.goal,
                "startedAt": checkpoint.started_at,
                "rewindId": requested.id,
                **file_ops.file_ops(abandoned, self._log.header.cwd).details(),
            },
        )
        self._log.move(branch[index].id)
        try:
            self._log.append(entry)
        except SessionError as error:
            self._log.move(old)
            logfile.error("A rewind could not be recorded.", error)
            self._emit(Notice("warning", f"The rewind failed; the conversation is unchanged. {error}"))
            return
        message = BranchSummaryMessage(entry.summary, old, now_ms())
        self._emit(MessageStart(message))
        self._emit(MessageEnd(message))

    def _remind(self) -> None:
        if has_next_prompt(self._queue) or self.active is None:
            return
        if self._warnings == MAX_WARNINGS:
            text = "The model stopped without a rewind; its checkpoint stays active."
            self._emit(Notice("warning", text))
        elif self._warnings < MAX_WARNINGS:
            remind(self._queue, "rewind-reminder", WARNING)
        self._warnings += 1

    def _read(self, node: EntryNode) -> _Mark | None:
        if node.type == "branch_summary":
            return _Mark(id=node.id) if self._details(node).get("kind") == KIND else None
        result = tool_result(self._log, node, "checkpoint", "rewind")
        if result is None or result.is_error:
            return None
        if result.tool_name == "checkpoint":
            checkpoint = _convert_details(result.details, Checkpoint)
            return None if checkpoint is None else _Mark(id=node.id, checkpoint=checkpoint)
        requested = _convert_details(result.details, _Report)
        return None if requested is None else _Mark(id=node.id, report=requested.report)

    def _boundary(self, branch: Sequence[EntryNode]) -> tuple[Checkpoint, int] | None:
        """The checkpoint, and the index of the last entry that stays."""
        answer: int | None = None
        for index in range(len(branch) - 1, -1, -1):
            mark = self._read(branch[index])
            if mark is not None and mark.report is None:
                last_kept = None if answer is None else answer - 1
                return None if mark.checkpoint is None or last_kept is None else (mark.checkpoint, last_kept)
            if isinstance(self._message(branch[index]), AssistantMessage):
                answer = index
        return None

    def _is_done(self, rewind: str) -> bool:
        """Whether this rewind was done before and the user has returned to that branch since."""
        return any(
            self._details(node).get("rewindId") == rewind
            for node in self._log.nodes()
            if node.type == "branch_summary"
        )

    def _details(self, node: EntryNode) -> dict[str, Any]:
        entry = self._log.decode(node)
        details = entry.details if isinstance(entry, BranchSummaryEntry) else None
        return details if isinstance(details, dict) else {}

    def _message(self, node: EntryNode) -> AppMessage | None:
        entry = self._log.decode(node) if node.type == "message" else None
        return entry.message if isinstance(entry, MessageEntry) else None


def summary_text(checkpoint: Checkpoint, report: str, abandoned: Sequence[AppMessage]) -> str:
    """The report, and what the user said meanwhile, which must not be lost."""
    parts = [
        f'The investigation "{shortened(checkpoint.goal, 500)}" is over, its checkpoint is closed, and its '
        "messages were removed from the conversation. Files and processes are as it left them. "
        f"Your report:\n\n{report}"
    ]
    quotes = [_quote(message) for message in abandoned if isinstance(message, UserMessage)]
    if quotes:
        parts.append("\n\n".join(["Meanwhile the user said:", *quotes]))
    return "\n\n".join(parts)


def _quote(message: UserMessage) -> str:
    text = message.content if isinstance(message.content, str) else text_of(message.content)
    return "\n".join(f"> {line}" for line in shortened(text.strip(), MAX_QUOTE_CHARS).split("\n"))


def _convert_details(details: Any, type: type[T]) -> T | None:
    try:
        return msgspec.convert(to_builtins(details), type)
    except (msgspec.ValidationError, TypeError):
        return None
