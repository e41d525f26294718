"""Undo and redo the agent's changes, turn by turn."""

import os
import stat
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tau.base.errors import SessionError, UsageError
from tau.base.exact_paths import pinned
from tau.base.files import locked, make_private, sync_folder, write_atomic
from tau.coding.undo.file_history import ContentStore, FileHistory, ignore_warning
from tau.coding.undo.file_state import observe, same_content
from tau.coding.undo.journal import TurnKind, UndoDone, load
from tau.coding.undo.plan import (
    CHANGED_SINCE,
    UndoConflict,
    UndoPlan,
    UndoStep,
    UndoTurn,
    make_plan,
    turns_of,
    unwatched_since,
    unwatched_text,
)

NOT_SAVED = "its current content could not be saved, so it was skipped"


class UndoFailure(Struct, frozen=True):
    """A file that could not be changed."""

    path: Path
    reason: str


class UndoResult(Struct, frozen=True, kw_only=True):
    """The result of an undo. `id` is None if nothing was done."""

    id: str | None
    restored: tuple[UndoStep, ...] = ()
    deleted: tuple[UndoStep, ...] = ()
    conflicts: tuple[UndoConflict, ...] = ()
    unrestorable: tuple[UndoStep, ...] = ()
    failed: tuple[UndoFailure, ...] = ()
    folders: tuple[Path, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether everything was undone."""
        return not (self.conflicts or self.unrestorable or self.failed)


class Undo:
    """Undo for the history folder of one session, from any process. `history` is that of a live session."""

    def __init__(
        self,
        folder: Path,
        *,
        history: FileHistory | None = None,
        warn: Callable[[str], None] = ignore_warning,
    ) -> None:
        self._folder = folder
        self._history = history
        self._warn = warn
        self._contents = ContentStore(folder / "kept")

    def turns(self) -> list[UndoTurn]:
        """Return the turns that changed files, oldest first. Those that can be undone are `open`."""
        return [turn for turn in self._all() if turn.kind == "turn"]

    def plan(
        self,
        turn: str | None = None,
        *,
        count: int = 1,
        since_ms: int | None = None,
        paths: Iterable[Path] = (),
        force: Iterable[Path] = (),
    ) -> UndoPlan:
        """Plan the undo of a turn, of all turns `since_ms`, or of the last `count` turns not undone yet.

        With `paths`, only these files and the contents of these folders: the last turn that changed one of
        them. Files in `force` are undone even if they have changed since. Raises UsageError if there
        is nothing to undo.
        """
        wanted, forced = _real(paths), _real(force)
        turns = self.turns()
        if turn is not None:
            chosen = [one for one in turns if one.id == turn]
        elif since_ms is not None:
            chosen = [one for one in turns if one.open and one.time_ms >= since_ms]
        else:
            chosen = [one for one in turns if _has_changes(one, (*wanted, *forced))][-count:]
        if not chosen:
            where = " to these files" if wanted or forced else ""
            unwatched = unwatched_text(unwatched_since(load(self._folder), ()))
            raise UsageError(f"Nothing to undo: this session has no changes{where} left.{unwatched}")
        return replace(
            self._plan(chosen, wanted or forced, forced),
            unwatched=unwatched_since(load(self._folder), chosen),
        )

    def redo_plan(self, *, force: Iterable[Path] = ()) -> UndoPlan:
        """Plan the redo of the last undo. Raises UsageError if there is none."""
        undone = [turn for turn in self._all() if turn.kind == "undo" and turn.open]
        if not undone:
            raise UsageError("Nothing to redo: nothing in this session is undone.")
        return self._plan(undone[-1:], (), _real(force))

    def apply(self, plan: UndoPlan, force: Iterable[Path] = ()) -> UndoResult:
        """Apply the plan, as far as the files are still as planned. Each change is recorded."""
        forced = _real(force)
        if forced:
            plan = replace(self._plan(plan.turns, plan.paths, forced), unwatched=plan.unwatched)
        if not plan.steps:
            folders = tuple(_remove_empty(plan.folders))
            return UndoResult(
                id=None, conflicts=plan.conflicts, unrestorable=plan.unrestorable, folders=folders
            )
        make_private(self._folder)
        try:
            with locked(self._folder / "undo"):
                return self._apply(plan)
        except OSError as error:
            raise SessionError(
                f"The undo cannot be recorded in {self._folder}: {error.strerror or error}."
            ) from error

    def _apply(self, plan: UndoPlan) -> UndoResult:
        kind: TurnKind = "redo" if plan.turns[0].kind == "undo" else "undo"
        history = FileHistory(lambda: self._folder, warn=self._warn)
        id = history.begin_turn(
            plan.turns[-1].prompt, kind=kind, targets=[turn.id for turn in plan.turns], paths=plan.paths
        )
        restored: list[UndoStep] = []
        deleted: list[UndoStep] = []
        conflicts = list(plan.conflicts)
        failed: list[UndoFailure] = []
        try:
            for step in plan.steps:
                seen = observe(str(step.path))[0].state
                if seen != step.now:
                    conflicts.append(UndoConflict(step.path, seen, step.now, step.to, CHANGED_SINCE))
                    continue
                problem = self._apply_step(history, step)
                if problem is not None:
                    failed.append(UndoFailure(step.path, problem))
                else:
                    (deleted if step.to.kind == "absent" else restored).append(step)
            if restored or deleted:
                history.journal.add(UndoDone(id=id))
        finally:
            history.close()
        return UndoResult(
            id=id if restored or deleted else None,
            restored=tuple(restored),
            deleted=tuple(deleted),
            conflicts=tuple(conflicts),
            unrestorable=plan.unrestorable,
            failed=tuple(failed),
            folders=tuple(_remove_empty(plan.folders)),
        )

    def _apply_step(self, history: FileHistory, step: UndoStep) -> str | None:
        """Undo one file, saving its current state first. Returns the reason if it failed."""
        path = str(step.path)
        data = b""
        if step.to.kind == "file" and not same_content(step.now, step.to):
            saved = self._contents.get(step.to.hash)
            if saved is None:
                return "its content is damaged in the history"
            data = saved
        id = history.intend(path, step.to)
        if id is None:
            return NOT_SAVED
        if step.now.kind == "file" and not history.contents.has(step.now.hash):
            history.done(id, path, None)
            return NOT_SAVED
        try:
            _write_state(step, data)
        except OSError as error:
            history.done(id, path, None)
            return str(error.strerror or error)
        seen = observe(path)[0]
        history.done(id, path, seen)
        if self._history is not None:
            self._history.known[path] = seen
        return None

    def _plan(self, turns: Sequence[UndoTurn], paths: Collection[str], force: Collection[str]) -> UndoPlan:
        return make_plan(
            turns, lambda path: observe(path)[0].state, self._contents.has, paths=paths, force=force
        )

    def _all(self) -> list[UndoTurn]:
        return turns_of(load(self._folder))


def _has_changes(turn: UndoTurn, paths: Sequence[str]) -> bool:
    """Whether a turn has something to undo; with `paths`, also files skipped by an undo of the whole turn."""
    if not paths:
        return turn.open
    return any(
        path not in turn.undone and any(path == one or path.startswith(f"{one}/") for one in paths)
        for path in turn.files
    )


def _real(paths: Iterable[Path]) -> list[str]:
    """Resolve folders but not the last component, as in the journal."""
    return [os.path.join(os.path.realpath(path.parent), path.name) for path in map(Path.absolute, paths)]  # noqa: PTH118


def _write_state(step: UndoStep, data: bytes) -> None:
    """Put a file into its target state, through no link that a command put there. Raises OSError."""
    with pinned(step.path.parent, make=step.to.kind != "absent") as folder:
        _write_pinned(folder / step.path.name, step, data)


def _write_pinned(path: Path, step: UndoStep, data: bytes) -> None:
    now, to = step.now, step.to
    if to.kind == "absent":
        path.unlink()
        sync_folder(path.parent)
        return
    if to.kind == "link":
        temporary = path.with_name(f".tau-{os.urandom(4).hex()}.tmp")
        temporary.symlink_to(os.fsdecode(to.target))
        try:
            temporary.replace(path)
        except OSError:
            temporary.unlink()
            raise
        return
    if same_content(now, to):
        path.chmod(to.mode)
        return
    if now.kind == "link":
        path.unlink()  # writing would follow it
    elif now.kind == "file" and not os.access(path, os.W_OK):
        path.chmod(now.mode | stat.S_IWUSR)
    write_atomic(path, data, mode=to.mode or None, links=False)


def _remove_empty(folders: Sequence[Path]) -> Iterable[Path]:
    """Remove empty folders that the agent created, deepest first."""
    for folder in folders:
        with suppress(OSError):
            if not folder.is_symlink():
                folder.rmdir()
                yield folder
