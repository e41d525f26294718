"""Persists the queue, so that it survives a crash, in a small file next to the session's artifacts."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from tau.agent.events import AgentEvent, Notice, QueueChanged
from tau.agent.queue import Prompt, Queue, QueuedMessage, UserExecution, typed_text
from tau.ai.normalization import cleaned
from tau.base import secrets
from tau.base.files import make_private, write_atomic
from tau.coding.session.entries import MessageEntry
from tau.coding.session.storage.log import SessionLog

FILE_NAME = "queue.json"
# How many entries at the end of the log to search for messages that were already recorded.
TAIL_ENTRIES = 5_000


class _QueueFile(Struct, frozen=True, rename="camel"):
    waiting: list[QueuedMessage]
    version: int = 1


def persist_queue(queue: Queue, log: SessionLog, emit: Callable[[AgentEvent], None]) -> list[Notice]:
    """Restore the queue from the last time the session was open, and save it to disk from now on.

    Returns notices for the user. An in-memory session, or one that another process is writing, saves nothing.
    """
    saver = _QueueSaver(queue, log, emit)
    notices = saver.restore()
    queue.on_change = saver.on_change
    saver.save()
    return notices


class _QueueSaver(Struct):
    """Writes the file after each change. A message leaves the file only after it is in the log."""

    queue: Queue
    log: SessionLog
    emit: Callable[[AgentEvent], None]
    _saved: list[QueuedMessage] = []
    _reported: tuple[list[str], list[str]] = ([], [])
    _failing: bool = False

    def on_change(self) -> None:
        self.save()
        texts = self._texts()
        if texts != self._reported:
            self._reported = texts
            self.emit(QueueChanged(*texts))

    def save(self) -> None:
        """Save the queue. A full disk is reported once and does not stop the run."""
        path = self._path
        waiting = self.queue.unsettled()
        if path is None or waiting == self._saved:
            return
        try:
            if waiting:
                make_private(path.parent)
                write_atomic(path, secrets.mask_line(_encode(_QueueFile(waiting))), mode=0o600)
            else:
                path.unlink(missing_ok=True)
                with suppress(OSError):  # it contains artifacts
                    path.parent.rmdir()
        except OSError as error:
            if not self._failing:
                self._failing = True
                self.emit(Notice("warning", _not_saved(path, error)))
            return
        self._failing = False
        self._saved = waiting

    def restore(self) -> list[Notice]:
        path = self._path
        if path is None:
            return []
        try:
            stored = msgspec.json.decode(path.read_bytes(), type=_QueueFile)
        except FileNotFoundError:
            return []
        except (OSError, msgspec.DecodeError) as error:
            damaged = path.with_name(f"{FILE_NAME}.damaged")
            with suppress(OSError):
                path.replace(damaged)
            text = (
                f"The messages queued when the session ended cannot be read; they are in {damaged}. {error}"
            )
            return [Notice("warning", text)]
        self._saved = stored.waiting
        waiting = _unrecorded(stored.waiting, self.log)
        self.queue.restore(waiting)
        self._reported = self._texts()  # modes read the queue when they open a session
        count = len(self.queue)
        if not count:
            return []
        what = "1 message" if count == 1 else f"{count} messages"
        return [Notice("info", f"{what} queued when the session ended will be sent after your next message.")]

    @property
    def _path(self) -> Path | None:
        folder = self.log.artifacts_folder
        return None if folder is None or self.log.read_only is not None else folder / FILE_NAME

    def _texts(self) -> tuple[list[str], list[str]]:
        waiting = self.queue.waiting()
        steering = [item.text for item in waiting if item.kind == "steering"]
        return steering, [item.text for item in waiting if item.kind == "followUp"]


def _unrecorded(waiting: list[QueuedMessage], log: SessionLog) -> list[QueuedMessage]:
    """Leave out what was recorded just before the crash. Timestamps in a queue are unique."""
    recorded: set[tuple[int, str]] = set()
    for node in list(log.nodes())[-TAIL_ENTRIES:]:
        if node.type == "message" and isinstance(entry := log.decode(node), MessageEntry):
            message = entry.message
            if isinstance(message, Prompt | UserExecution):
                recorded.add((message.timestamp, typed_text(message)))
    return [item for item in waiting if (item.message.timestamp, secrets.mask(item.text)) not in recorded]


def _encode(stored: _QueueFile) -> bytes:
    try:
        return msgspec.json.encode(stored)
    except UnicodeEncodeError:  # half of a surrogate pair
        return msgspec.json.encode(cleaned(msgspec.to_builtins(stored)))


def _not_saved(path: Path, error: OSError) -> str:
    return (
        f"The queue cannot be saved to {path}: {error.strerror or error}. "
        "Queued messages would be lost if tau ended now."
    )
