"""The file history of a session: saves files before the agent changes them and records the changes."""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from tau.base import log, secrets
from tau.base.clock import now_ms
from tau.base.files import make_private, write_atomic
from tau.base.sizes import MIB, format_bytes
from tau.coding.undo import file_state
from tau.coding.undo.file_state import FileObservation, FileState, digest, observe, same_content, unchanged
from tau.coding.undo.journal import (
    AnswerCalls,
    CallBegan,
    ChangeIntent,
    ChangeOutcome,
    Journal,
    ObservedChange,
    Record,
    TurnKind,
    TurnRecord,
    UnwatchedCommand,
    WatchedFile,
    new_id,
    shown_prompt,
)

FOLDER_NAME = "history"  # next to the session's artifacts
MAX_READ_FILES = 5_000  # the oldest are forgotten beyond this
CAP_BYTES = 256 * MIB
_LEFT_AFTER_CLEARING = 0.9


def ignore_warning(warning: str) -> None:
    """Discard a warning."""


class ContentStore:
    """A store in one folder. Evicts the oldest contents when full, and warns once.

    `pinned` are the hashes of the current turn, never evicted; the owner clears the set.
    """

    def __init__(
        self,
        folder: Path,
        *,
        cap_bytes: int = CAP_BYTES,
        warn: Callable[[str], None] = ignore_warning,
        pinned: set[str] | None = None,
    ) -> None:
        self.folder = folder
        self._pinned = set() if pinned is None else pinned
        self._cap_bytes = cap_bytes
        self._warn = warn
        self._warned = False
        self._used_bytes: int | None = None

    def has(self, hash: str) -> bool:
        return os.path.lexists(self.folder / hash)

    def get(self, hash: str) -> bytes | None:
        """Return the content, or None if it is missing or corrupt."""
        try:
            data = (self.folder / hash).read_bytes()
        except (OSError, ValueError):
            return None
        return data if digest(data) == hash else None

    def put(self, hash: str, data: bytes, *, sync: bool = True) -> bool:
        """Store the content; False if there is no room. Raises OSError."""
        path = self.folder / hash
        self._pinned.add(hash)
        try:
            if path.stat().st_size == len(data):
                os.utime(path)  # mark as recently used
                return True
        except OSError:
            pass
        if self._used_bytes is None:
            self._used_bytes = sum(size for _, size, _ in self._files())
        if self._used_bytes + len(data) > self._cap_bytes:
            self._clear(len(data))
        if self._used_bytes + len(data) > self._cap_bytes:
            return False
        make_private(self.folder)
        write_atomic(path, data, mode=0o600, sync=sync)
        self._used_bytes += len(data)
        return True

    def _files(self) -> list[tuple[int, int, str]]:
        """List (last use, size, name), oldest first."""
        files: list[tuple[int, int, str]] = []
        with suppress(FileNotFoundError), os.scandir(self.folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    info = entry.stat(follow_symlinks=False)
                    files.append((info.st_mtime_ns, info.st_size, entry.name))
        return sorted(files)

    def _clear(self, wanted: int) -> None:
        room = int(self._cap_bytes * _LEFT_AFTER_CLEARING) - wanted
        files = self._files()
        used = sum(size for _, size, _ in files)
        for _, size, name in files:
            if used <= room:
                break
            if name not in self._pinned:
                with suppress(OSError):
                    (self.folder / name).unlink()
                    used -= size
        self._used_bytes = used
        if not self._warned:
            self._warned = True
            self._warn(
                f"This session's file history has reached {format_bytes(self._cap_bytes)}: "
                "the oldest contents are dropped, and undo cannot restore them."
            )


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
        self._make_folder = folder
        self._cap_bytes = cap_bytes
        self._pinned: set[str] = set()  # contents of this turn
        self._journal: Journal | None = None
        self.turn = TurnRecord(id=new_id(), time_ms=now_ms())
        self._warnings: set[str] = set()
        self._recorded_turns: set[str] = set()
        self._left: dict[str, FileState] = {}  # states left by the agent in this turn
        self._too_large: set[str] = set()

    @cached_property
    def folder(self) -> Path:
        return self._make_folder()

    @property
    def journal(self) -> Journal:
        if self._journal is None:
            self._journal = Journal(self.folder)
        return self._journal

    @cached_property
    def contents(self) -> ContentStore:
        return ContentStore(
            self.folder / "kept", cap_bytes=self._cap_bytes, warn=self.warn_once, pinned=self._pinned
        )

    def begin_turn(
        self, prompt: str, *, kind: TurnKind = "turn", targets: Iterable[str] = (), paths: Iterable[str] = ()
    ) -> str:
        """Start a turn for this user prompt; it is written to the journal with its first change."""
        self.turn = TurnRecord(
            id=new_id(),
            time_ms=now_ms(),
            prompt=secrets.mask(shown_prompt(prompt)),
            kind=kind,
            targets=list(targets),
            paths=[os.fsencode(path) for path in paths],
        )
        self._left.clear()
        self._pinned.clear()
        return self.turn.id

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
            seen, data = observe(path)
            before = seen.state
            is_same = same_content(before, after) and after.mode in (0, before.mode)
            if before.kind in ("folder", "other") or is_same:
                return None
            left = self._left.get(path)
            if left is None or not same_content(left, before):
                self._save(path, before, data, sync=True)
            intent = ChangeIntent(
                id=new_id(),
                turn=self.turn.id,
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
        if known is not None and unchanged(path, known) and self._is_saved(known.state):
            return
        seen, data = observe(path)
        self.known[path] = seen
        try:
            self._save(path, seen.state, data, sync=False)
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
            turn=turn or self.turn.id,
            call=call,
            path=os.fsencode(path),
            before=before,
            after=after.state,
            unsure=unsure,
        )
        try:
            if change.turn == self.turn.id:
                self.add(change)
            else:
                self.journal.add(change)
        except OSError as error:
            self.failed(error)
        self.known[path] = after
        self._left[path] = after.state

    def add(self, record: Record, *, sync: bool = False) -> None:
        """Append a record after that of its turn. Raises OSError."""
        if self.turn.id in self._recorded_turns:
            self.journal.add(record, sync=sync)
        else:
            self.journal.add(self.turn, record, sync=sync)
            self._recorded_turns.add(self.turn.id)

    def note_unwatched(self, where: str) -> None:
        """Record that a command may change files that are not saved; undo says so."""
        try:
            self.add(UnwatchedCommand(turn=self.turn.id, where=where))
        except OSError as error:
            self.failed(error)

    def note(self, record: AnswerCalls | CallBegan) -> None:
        """Record which calls may take effect, so that it is known after a crash."""
        try:
            self.journal.add(record)
        except OSError as error:
            self.failed(error)

    def warn_once(self, warning: str) -> None:
        if warning not in self._warnings:
            self._warnings.add(warning)
            self.warn(warning)

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()

    def _is_saved(self, state: FileState) -> bool:
        """Whether there is nothing to save or it is saved already; pins it for this turn."""
        if state.kind != "file" or not state.readable:
            return True
        self._pinned.add(state.hash)
        return self.contents.has(state.hash)

    def _save(self, path: str, state: FileState, data: bytes, *, sync: bool) -> None:
        if state.kind != "file":
            return
        if not state.readable:
            if path not in self._too_large and state.size > file_state.MAX_FILE_BYTES:
                self._too_large.add(path)
                limit = format_bytes(file_state.MAX_FILE_BYTES)
                self.warn(f"{path} is larger than {limit}, so undo cannot restore its content.")
        elif not self.contents.put(state.hash, data, sync=sync):
            self.warn_once("The file history of this turn is full: undo cannot restore all of its files.")

    def failed(self, error: OSError) -> None:
        """Warn that something could not be recorded."""
        log.error("A change could not be recorded for undo.", error)
        self.warn_once(
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
