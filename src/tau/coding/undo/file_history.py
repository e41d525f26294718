"""The file history of a session: saves files before the agent changes them and records the changes."""

import os
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path

from tau.base import log
from tau.base.clock import now_ms
from tau.base.sizes import format_bytes
from tau.coding.undo import file_state
from tau.coding.undo.content_store import CAP_BYTES, ContentStore, ignore_warning
from tau.coding.undo.file_state import FileObservation, FileState, look, same_content, unchanged
from tau.coding.undo.journal import (
    ChangeIntent,
    ChangeOutcome,
    Journal,
    ObservedChange,
    Record,
    TurnKind,
    TurnRecord,
    WatchedFile,
    new_id,
    shown_prompt,
)

FOLDER_NAME = "history"  # next to the session's artifacts
MAX_READ_FILES = 5_000  # the oldest are forgotten beyond this


class FileHistory:
    """One per session; creates its folder on the first change. Failures only cause warnings.

    `known` holds the last state we saw of each file: changed by the agent, read, or modified
    before a command.
    """

    def __init__(
        self,
        folder: Callable[[], Path],
        *,
        warn: Callable[[str], None] = ignore_warning,
        cap_bytes: int = CAP_BYTES,
    ) -> None:
        self.known: dict[str, FileObservation] = {}
        self.read_files: dict[str, None] = {}
        self.warn = warn
        self._place = folder
        self._cap_bytes = cap_bytes
        self._pinned: set[str] = set()  # contents of this turn
        self._journal: Journal | None = None
        self._turn = TurnRecord(id=new_id(), time_ms=now_ms())
        self._told: set[str] = set()
        self._written: set[str] = set()  # turns in the journal
        self._left: dict[str, FileState] = {}  # by the agent, in this turn
        self._too_large: set[str] = set()

    @cached_property
    def folder(self) -> Path:
        return self._place()

    @property
    def journal(self) -> Journal:
        if self._journal is None:
            self._journal = Journal(self.folder)
        return self._journal

    @cached_property
    def kept(self) -> ContentStore:
        return ContentStore(
            self.folder / "kept", cap_bytes=self._cap_bytes, warn=self.tell_once, pinned=self._pinned
        )

    @property
    def turn(self) -> TurnRecord:
        return self._turn

    def begin_turn(
        self,
        prompt: str,
        *,
        kind: TurnKind = "turn",
        targets: Iterable[str] = (),
        paths: Iterable[str] = (),
    ) -> str:
        """Start a turn for this user prompt; it is written to the journal with its first change."""
        self._turn = TurnRecord(
            id=new_id(),
            time_ms=now_ms(),
            prompt=shown_prompt(prompt),
            kind=kind,
            targets=list(targets),
            paths=[os.fsencode(path) for path in paths],
        )
        self._left.clear()
        self._pinned.clear()
        return self._turn.id

    def covers(self, path: str) -> bool:
        """Whether the history covers a path: not git's own files, nor the session's."""
        return "/.git/" not in path and not path.startswith(f"{self.folder.parent}/")

    def note_read(self, path: str) -> None:
        self.read_files.pop(path, None)
        self.read_files[path] = None
        if len(self.read_files) > MAX_READ_FILES:
            del self.read_files[next(iter(self.read_files))]

    def intend(self, path: str, after: FileState, call: str = "") -> str | None:
        """Save the file at a real path, and record on disk what it will become.

        Returns an id for `done`, or None if nothing changes or recording fails.
        """
        try:
            if not self.covers(path):
                return None
            seen, data = look(path)
            before = seen.state
            nothing_new = same_content(before, after) and after.mode in (0, before.mode)
            if before.kind in ("folder", "other") or nothing_new:
                return None
            left = self._left.get(path)
            if left is None or not same_content(left, before):
                self._keep(path, before, data, sync=True)
            intent = ChangeIntent(
                id=new_id(),
                turn=self._turn.id,
                call=call,
                path=os.fsencode(path),
                before=before,
                after=after,
                folders=[] if after.kind == "absent" else _missing_folders(path),
            )
            self.add(intent, sync=True)
        except OSError as error:
            self.failed(error)
            return None
        return intent.id

    def done(self, id: str | None, path: str, after: FileObservation | None) -> None:
        """Record that the change was made or, if `after` is None, that it was not."""
        if id is None:
            return
        try:
            self.journal.add(ChangeOutcome(id=id, after=None if after is None else after.state))
        except OSError as error:
            self.failed(error)
        if after is not None:
            self._left[path] = after.state
            self.known[path] = after

    def note_known(self, path: str) -> None:
        """Save a file that a command may change, unless its state is known."""
        known = self.known.get(path)
        if known is not None and unchanged(path, known) and self._has(known.state):
            return
        seen, data = look(path)
        self.known[path] = seen
        try:
            self._keep(path, seen.state, data, sync=False)
            if known is None or known.state != seen.state:
                self.journal.add(WatchedFile(path=os.fsencode(path), state=seen.state))
        except OSError as error:
            self.failed(error)

    def note_change(
        self,
        path: str,
        before: FileState,
        after: FileObservation,
        *,
        turn: str = "",
        call: str = "",
        unsure: bool = False,
    ) -> None:
        """Record a change detected afterwards; the caller has saved `before`."""
        change = ObservedChange(
            turn=turn or self._turn.id,
            call=call,
            path=os.fsencode(path),
            before=before,
            after=after.state,
            unsure=unsure,
        )
        try:
            if change.turn == self._turn.id:
                self.add(change)
            else:
                self.journal.add(change)
        except OSError as error:
            self.failed(error)
        self.known[path] = after
        self._left[path] = after.state

    def add(self, record: Record, *, sync: bool = False) -> None:
        """Append a record after that of its turn. Raises OSError."""
        turn = self._turn
        if turn.id in self._written:
            self.journal.add(record, sync=sync)
        else:
            self.journal.add(turn, record, sync=sync)
            self._written.add(turn.id)

    def tell_once(self, warning: str) -> None:
        if warning not in self._told:
            self._told.add(warning)
            self.warn(warning)

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()

    def _has(self, state: FileState) -> bool:
        """Whether there is nothing to save or it is saved already; pins it for this turn."""
        if state.kind != "file" or not state.readable:
            return True
        self._pinned.add(state.hash)
        return self.kept.has(state.hash)

    def _keep(self, path: str, state: FileState, data: bytes, *, sync: bool) -> None:
        if state.kind != "file":
            return
        if not state.readable:
            if path not in self._too_large and state.size > file_state.MAX_FILE_BYTES:
                self._too_large.add(path)
                limit = format_bytes(file_state.MAX_FILE_BYTES)
                self.warn(f"{path} is larger than {limit}, so undo cannot restore its content.")
        elif not self.kept.put(state.hash, data, sync=sync):
            self.tell_once("The file history of this turn is full: undo cannot restore all of its files.")

    def failed(self, error: OSError) -> None:
        """Warn that something could not be recorded."""
        log.error("A change could not be recorded for undo.", error)
        self.tell_once(
            f"Changes cannot be recorded for undo in {self.folder}: {error.strerror or error}. "
            "Continuing without undo."
        )


def _missing_folders(path: str) -> list[bytes]:
    missing: list[bytes] = []
    folder = os.path.dirname(path)  # noqa: PTH120
    while folder and not os.path.lexists(folder):
        missing.append(os.fsencode(folder))
        folder = os.path.dirname(folder)  # noqa: PTH120
    return missing
