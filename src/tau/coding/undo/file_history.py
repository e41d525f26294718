"""The file history of a session: keeps what a file was before the agent changes it, and notes the change."""

import os
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path

from tau.base import log
from tau.base.clock import now_ms
from tau.base.sizes import format_bytes
from tau.coding.undo import file_state
from tau.coding.undo.content_store import CAP_BYTES, ContentStore, unheard
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

FOLDER_NAME = "history"  # beside the session's artifacts
MAX_READ_FILES = 5_000  # the oldest is forgotten when there are more


class FileHistory:
    """One per session; its folder is made with the first change. What cannot be recorded is told; it goes on.

    `known` has the state in which each file was last seen by us: changed by the agent, read, or modified
    before a command.
    """

    def __init__(
        self,
        folder: Callable[[], Path],
        *,
        warn: Callable[[str], None] = unheard,
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
        self._written: set[str] = set()  # turns that are in the journal
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
        """From now on changes belong to this prompt of the user, which is written down with the first one."""
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
        """Neither git's own files nor the session's are part of the history."""
        return "/.git/" not in path and not path.startswith(f"{self.folder.parent}/")

    def note_read(self, path: str) -> None:
        self.read_files.pop(path, None)
        self.read_files[path] = None
        if len(self.read_files) > MAX_READ_FILES:
            del self.read_files[next(iter(self.read_files))]

    def intend(self, path: str, after: FileState, call: str = "") -> str | None:
        """Keep what stands at a real path, and note on disk what it is about to become.

        The id is for `done`; None if there is nothing to note: nothing changes, or it cannot be recorded.
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
        """The change was made, or with None was not."""
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
        """Keep a file that is about to be within reach of a command, unless it is as we know it."""
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
        """A change that was found after it was made; `before` was kept by whoever found it."""
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
        """Write a record, behind that of its turn. Raises OSError."""
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
        """Whether there is nothing to keep, or it is kept; it stays for this turn then."""
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
                self.warn(f"{path} is larger than {limit}, so undo cannot bring its content back.")
        elif not self.kept.put(state.hash, data, sync=sync):
            self.tell_once("The file history of this turn is full: undo cannot bring back all of its files.")

    def failed(self, error: OSError) -> None:
        """Tell that something could not be recorded."""
        log.error("A change could not be recorded for undo.", error)
        self.tell_once(
            f"Changes cannot be recorded for undo in {self.folder}: {error.strerror or error}. "
            "The work goes on without."
        )


def _missing_folders(path: str) -> list[bytes]:
    missing: list[bytes] = []
    folder = os.path.dirname(path)  # noqa: PTH120
    while folder and not os.path.lexists(folder):
        missing.append(os.fsencode(folder))
        folder = os.path.dirname(folder)  # noqa: PTH120
    return missing
