"""Detect what shell commands change: files tracked by git and files that tau has read."""

import asyncio
import os
import stat
import time
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from tau.base import log
from tau.base.files import make_private, try_lock
from tau.base.run import Runner
from tau.base.sizes import MIB
from tau.base.tasks import spawn
from tau.coding.undo.file_history import FileHistory
from tau.coding.undo.file_state import RACY_NS, FileObservation, FileState, file_state, observe, unchanged
from tau.coding.undo.git_repository import DirtyFile, GitUnavailable, Repositories, Repository, RepositoryFile
from tau.coding.undo.journal import CommandEnd, CommandStart, known_states, load, new_id

MAX_KEPT_FILES = 2_000  # files saved because they were modified before a command
MAX_FETCHED_BYTES = 128 * MIB  # total size of files changed by one command
MAX_KNOWN_FILES = 20_000
# If scanning a repository takes longer than this, scan only before the first command of a turn.
EACH_COMMAND_MS = 25.0
LOCK_NAME = "live.lock"  # locked while a session watches commands
_FILES_BETWEEN_PAUSES = 64
_LINK = 0o120000


class CommandWatch:
    """Scans files before and after a command. Changes found before it are not the agent's.

    Files that others save while a command runs are indistinguishable from those that the command writes.
    """

    def __init__(self, history: FileHistory, run: Runner) -> None:
        self._history = history
        self._repositories = Repositories(lambda: history.folder, run, history.warn_once)
        self.group: asyncio.TaskGroup | None = None
        self._open: dict[str, CommandStart] = {}  # by call
        self._due: set[str] = set()  # finished calls, not scanned yet
        self._lock = asyncio.Lock()
        self._scanned_turn = ""  # the turn of the last scan before a command
        self._scan_ms = 0.0
        self._lock_fd = -1
        self._skipped = False  # the scan before the last command
        self._began_ns = 0
        self._unsaved: set[str] = set()  # modified files beyond the limit

    async def before(self, call: str, folders: Sequence[Path]) -> None:
        """Save the files that the command may change, unless already saved."""
        async with self._lock:
            turn = self._history.turn.id
            if self._open:  # another command is running, or was stopped before its scan
                due = set(self._due)
                left = [command for call, command in self._open.items() if call not in due]
                stopped = any(command.turn != turn for command in left)
                await self._scan(ours=True, unsure=stopped)
                self._end(list(self._open) if stopped else due)
            read = {os.path.dirname(path) for path in self._history.read_files}  # noqa: PTH120
            real = [os.path.realpath(folder) for folder in folders]
            new = self._repositories.find(real, read)
            self._skipped = self._scan_ms > EACH_COMMAND_MS and self._scanned_turn == turn and not new
            if self._open:  # running commands may be making these changes
                self._repositories.remember(new)
                await self._scan(ours=False, only=new)
            elif not self._skipped:
                began = time.perf_counter()
                if len(self._history.known) > MAX_KNOWN_FILES:
                    self._history.known.clear()  # modified and read files are found again
                self._repositories.remember()
                await self._scan(ours=False)
                self._scan_ms = (time.perf_counter() - began) * 1000
                self._scanned_turn = turn
            self._begin(call)
            if not any(Path(real[-1]).is_relative_to(root) for root in self._repositories.roots):
                self._history.note_unwatched("outside the watched Git repositories")

    async def after(self, call: str) -> None:
        """Record what has changed since `before`; in the background if there is a task group."""
        if call not in self._open:
            return
        self._due.add(call)
        if self.group is None:
            await self.scan_finished()
        else:
            spawn(self.group, self._scan_safely())

    async def scan_finished(self) -> None:
        """Wait until all changes by finished commands are recorded."""
        if self._due:
            async with self._lock:
                if due := set(self._due):
                    await self._scan(ours=True)
                    self._end(due)

    async def _scan_safely(self) -> None:
        try:
            await self.scan_finished()
        except Exception as error:  # must not cancel the task group
            log.error("Could not scan what a command changed.", error)

    def start_scan(self) -> None:
        """Start scanning the changes of stopped commands; `settle` waits for it."""
        self._due.update(self._open)
        if self._due and self.group is not None:
            spawn(self.group, self._scan_safely())

    async def settle(self) -> None:
        """Record the changes of stopped commands, which get no `after` call."""
        async with self._lock:
            if self._open:
                await self._scan(ours=True)
                self._end(list(self._open))

    def note_if_changed(self, path: str, call: str = "") -> None:
        """Record a change to one known file."""
        history = self._history
        known = history.known.get(path)
        if known is None or unchanged(path, known):
            return
        seen, _ = observe(path)
        if seen.state != known.state:
            history.note_change(path, known.state, seen, call=call)
        history.known[path] = seen

    def close(self) -> None:
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1

    async def finish_for(self, commands: Sequence[CommandStart]) -> None:
        """Record changes by commands of a dead process, or by others since then."""
        for command in commands:
            self._repositories.recall(Path(os.fsdecode(root)) for root in command.repositories)
            self._open[command.call or command.id] = command
        await self._scan(ours=True, unsure=True)
        self._end(list(self._open))

    async def _scan(self, *, ours: bool, unsure: bool = False, only: Collection[Path] | None = None) -> None:
        """Scan all files that may have changed since the last scan, or only some repositories.

        If `ours`, record changes as made by the running commands; else save them for the next command.
        """
        changed = await self._repositories.changed(only)
        if ours:
            await self._note_all(changed, unsure)
        elif only is not None:
            await self._save_all(changed)
        else:
            self._unsaved.clear()
            await self._save_all((*changed, *self._history.known, *self._history.read_files))

    async def _save_all(self, paths: Iterable[str]) -> None:
        """Save files whose content git does not have, or has in another form."""
        history = self._history
        new = 0
        async for path in _in_turn(paths):
            new += path not in history.known
            if new <= MAX_KEPT_FILES or path in history.known:
                history.note_known(path)
            else:
                self._unsaved.add(path)
        if self._unsaved:
            history.warn_once(
                f"More than {MAX_KEPT_FILES:,} files were modified before a command; the rest is not "
                "saved, so undo cannot restore it if a command changes it."
            )

    async def _note_all(self, changed: Mapping[str, RepositoryFile], unsure: bool) -> None:
        """Record all files that differ from their last known state or from git."""
        history = self._history
        from_clean: dict[Repository, list[tuple[str, DirtyFile, FileObservation]]] = {}
        async for path in _in_turn((*changed, *history.known)):
            known = history.known.get(path)
            if (known is not None and unchanged(path, known)) or path in self._unsaved:
                continue
            seen, _ = observe(path)
            if self._skipped and seen.stat_key is not None and seen.stat_key[3] < self._began_ns - RACY_NS:
                history.note_known(path)  # changed before the command started
            elif known is not None:
                self._note(path, known.state, seen, unsure)
            else:
                repository, entry = changed[path]
                from_clean.setdefault(repository, []).append((path, entry, seen))
        for repository, items in from_clean.items():
            await self._note_from_clean(repository, items, unsure)

    async def _note_from_clean(
        self, repository: Repository, items: Sequence[tuple[str, DirtyFile, FileObservation]], unsure: bool
    ) -> None:
        """Record files that were unmodified before the command, taking their old content from git."""
        history = self._history
        try:
            contents = await repository.contents([entry for _, entry, _ in items], MAX_FETCHED_BYTES)
        except (OSError, GitUnavailable) as error:
            self._repositories.exclude(repository.root, error)
            contents = {}
        missing = 0
        for path, entry, seen in items:
            if not entry.blob:
                continue
            data = contents.get(entry.name)
            before = FileState(kind="file", hash=f"git:{entry.blob}", mode=_mode_before(entry, seen.state))
            if data is not None and entry.mode == _LINK:
                before = FileState(kind="link", target=data)
            elif data is not None:
                before = file_state(data, _mode_before(entry, seen.state))
                if seen.state != before or self._skipped:
                    missing += not self._save(before, data)
            else:
                missing += 1
            self._note(path, before, seen, unsure)
        if missing:
            history.warn_once(
                "Some files that a command changed are stored differently in git or are too large: "
                "undo cannot restore them."
            )

    def _save(self, state: FileState, data: bytes) -> bool:
        try:
            return self._history.contents.put(state.hash, data, sync=False)
        except OSError:
            return False

    def _note(self, path: str, before: FileState, seen: FileObservation, unsure: bool) -> None:
        history = self._history
        if seen.state == before:
            history.known[path] = seen
            return
        command = next(reversed(self._open.values()))
        history.note_change(path, before, seen, turn=command.turn, call=command.call, unsure=unsure)

    def _begin(self, call: str) -> None:
        history = self._history
        roots = [os.fsencode(root) for root in self._repositories.roots]
        command = CommandStart(id=new_id(), turn=history.turn.id, call=call, repositories=roots)
        if not self._open:
            self._began_ns = time.time_ns()
        try:
            if self._lock_fd < 0:
                make_private(history.folder)
                self._lock_fd = _open_lock(history.folder)
                try_lock(self._lock_fd)
            history.add(command)
        except OSError as error:
            history.failed(error)
        self._open[call] = command

    def _end(self, calls: Iterable[str]) -> None:
        for call in list(calls):
            command = self._open.pop(call, None)
            self._due.discard(call)
            if command is None:
                continue
            try:
                self._history.journal.add(CommandEnd(id=command.id))
            except OSError as error:
                self._history.failed(error)


async def recover(folder: Path, run: Runner) -> bool:
    """Record the changes of a command whose tau process was killed. False if it may still be running.

    Such changes may include edits by others since then, and are marked as unsure.
    """
    records = load(folder)
    ended = {record.id for record in records if isinstance(record, CommandEnd)}
    left = [record for record in records if isinstance(record, CommandStart) and record.id not in ended]
    if not left:
        return True
    fd = _open_lock(folder)
    try:
        if not try_lock(fd):
            return False
        history = FileHistory(lambda: folder)
        history.known = {path: FileObservation(state) for path, state in known_states(records).items()}
        try:
            await CommandWatch(history, run).finish_for(left)
        finally:
            history.close()
    finally:
        os.close(fd)
    return True


def _open_lock(folder: Path) -> int:
    return os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


async def _in_turn(paths: Iterable[str]) -> AsyncIterator[str]:
    """Yield each path once, pausing regularly to let other tasks run."""
    for number, path in enumerate(dict.fromkeys(paths)):
        if number % _FILES_BETWEEN_PAUSES == 0:
            await asyncio.sleep(0)
        yield path


def _mode_before(entry: DirtyFile, now: FileState) -> int:
    """Return the mode before. Git stores only the executable bit; the rest is as now, or the default."""
    if entry.permissions is not None:
        return entry.permissions
    mode = now.mode if now.kind == "file" else 0o666 & ~_umask()
    readers = (mode & 0o444) >> 2
    return mode | readers if entry.mode & stat.S_IXUSR else mode & ~0o111


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
