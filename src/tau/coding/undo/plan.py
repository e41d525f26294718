"""Plan an undo: decide what happens to each file, and detect conflicts with others' changes."""

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tau.coding.undo.file_state import FileState, leads_elsewhere, same_content
from tau.coding.undo.turns import TurnFileChange, UndoTurn

CHANGED_SINCE = "changed since"
UNSURE = "a command was interrupted: the change may be someone else's"
IN_USE = "a database in use: its log file exists"
ELSEWHERE = "a parent folder is now a symbolic link"
NO_FOLDER = "a file has replaced its folder"


class UndoStep(Struct, frozen=True):
    """A file to change to `to`; when planned, it was `now`."""

    path: Path
    now: FileState
    to: FileState


class UndoConflict(Struct, frozen=True):
    """A file that is skipped: the agent turned `before` into `left`, but it is `now`."""

    path: Path
    now: FileState
    left: FileState
    before: FileState
    reason: str


class UndoPlan(Struct, frozen=True, kw_only=True):
    """`unkept` cannot be restored, as its content was not saved; empty `folders` are removed."""

    turns: tuple[UndoTurn, ...]
    restore: tuple[UndoStep, ...] = ()
    delete: tuple[UndoStep, ...] = ()
    conflicts: tuple[UndoConflict, ...] = ()
    unkept: tuple[UndoStep, ...] = ()
    folders: tuple[Path, ...] = ()
    paths: tuple[str, ...] = ()  # the paths it is limited to

    @property
    def steps(self) -> tuple[UndoStep, ...]:
        return (*self.restore, *self.delete)


def make_plan(
    turns: Sequence[UndoTurn],
    now: Callable[[str], FileState],
    kept: Callable[[str], bool],
    *,
    paths: Collection[str] = (),
    force: Collection[str] = (),
) -> UndoPlan:
    """Plan the undo of `turns`, sorted oldest first. Files in `force` have no conflicts."""
    changes: dict[str, list[TurnFileChange]] = {}
    for turn in turns:
        for change in turn.changes:
            if change.path not in turn.taken and (not paths or _named(change.path, paths)):
                changes.setdefault(change.path, []).append(change)
    restore: list[UndoStep] = []
    delete: list[UndoStep] = []
    conflicts: list[UndoConflict] = []
    unkept: list[UndoStep] = []
    for path, steps in changes.items():
        current = now(path)
        if _named(path, force):
            to, conflict = _with_mode(current, steps[0].before, steps[0]), None
        else:
            to, conflict = _walk_back(path, current, steps)
        if conflict is not None:
            conflicts.append(conflict)
        if to == current:
            continue
        step = UndoStep(Path(path), current, to)
        obstacle = _obstacle(path, to)
        if obstacle is not None:
            conflicts.append(UndoConflict(Path(path), current, steps[-1].after, steps[0].before, obstacle))
        elif to.kind == "absent":
            delete.append(step)
        elif to.kind == "file" and not same_content(to, current) and not kept(to.hash):
            unkept.append(step)
        else:
            restore.append(step)
    folders = {folder for steps in changes.values() for change in steps for folder in change.folders}
    return UndoPlan(
        turns=tuple(turns),
        restore=tuple(restore),
        delete=tuple(delete),
        conflicts=tuple(conflicts),
        unkept=tuple(unkept),
        folders=tuple(Path(folder) for folder in sorted(folders, key=len, reverse=True)),
        paths=tuple(paths),
    )


def _walk_back(
    path: str, current: FileState, steps: Sequence[TurnFileChange]
) -> tuple[FileState, UndoConflict | None]:
    """Undo changes from newest to oldest, as long as each finds the state that the agent left."""
    state = current
    for change in reversed(steps):
        if same_content(state, change.before) and not same_content(change.before, change.after):
            continue  # it never happened, or was already reverted
        if change.unsure or not same_content(state, change.after):
            reason = UNSURE if change.unsure else CHANGED_SINCE
            return state, UndoConflict(Path(path), current, change.after, change.before, reason)
        state = _with_mode(state, change.before, change)
    return state, None


def _with_mode(state: FileState, before: FileState, change: TurnFileChange) -> FileState:
    """Return `before` with its former permissions, unless someone has changed them since."""
    if before.kind != "file" or state.kind != "file":
        return before
    theirs = change.after.mode not in (0, state.mode) or not before.mode
    return replace(before, mode=state.mode) if theirs else before


def _obstacle(path: str, to: FileState) -> str | None:
    if leads_elsewhere(path):
        return ELSEWHERE
    if any(_size(path + ending) for ending in ("-wal", "-journal")):
        return IN_USE
    if to.kind == "absent":
        return None
    folder = os.path.dirname(path)  # noqa: PTH120
    while folder and not os.path.lexists(folder):
        folder = os.path.dirname(folder)  # noqa: PTH120
    return None if os.path.isdir(folder) else NO_FOLDER  # noqa: PTH112


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def _named(path: str, names: Collection[str]) -> bool:
    """Whether a path is one of the names or below one of them."""
    return any(path == name or path.startswith(f"{name}/") for name in names)
