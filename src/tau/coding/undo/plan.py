"""Read turns from the journal, and plan an undo: what happens to each file, and which have conflicts."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tau.coding.undo.file_state import FileState, has_linked_parent, same_content
from tau.coding.undo.journal import (
    ChangeIntent,
    ChangeOutcome,
    ObservedChange,
    Record,
    TurnKind,
    TurnRecord,
    UndoDone,
    UnwatchedCommand,
)

CHANGED_SINCE = "changed since"
UNSURE = "a command was interrupted: the change may be someone else's"
IN_USE = "a database in use: its log file exists"
LINKED_PARENT = "a parent folder is now a symbolic link"
NO_FOLDER = "a file has replaced its folder"


class TurnFileChange(Struct, frozen=True, kw_only=True):
    """One change of a file. `unsure`: unclear whether the agent made it, or what it left."""

    path: str
    before: FileState
    after: FileState
    unsure: bool = False
    pending: bool = False  # tau was killed before it recorded the outcome
    folders: tuple[str, ...] = ()


class UndoTurn(Struct, frozen=True, kw_only=True):
    """`undone` are the files already undone; `closed`: the whole turn was undone."""

    id: str
    time_ms: int
    prompt: str
    kind: TurnKind = "turn"
    targets: tuple[str, ...] = ()
    changes: tuple[TurnFileChange, ...] = ()
    undone: frozenset[str] = frozenset()
    closed: bool = False

    @property
    def files(self) -> tuple[str, ...]:
        """Each file once, ordered by first change."""
        return tuple(dict.fromkeys(change.path for change in self.changes))

    @property
    def open(self) -> bool:
        """Whether there is something to undo."""
        return not self.closed and not self.undone.issuperset(self.files)


def unwatched_since(records: Iterable[Record], turns: Sequence[UndoTurn]) -> tuple[str, ...]:
    """Where commands ran that were not watched: in the first of these turns or later; all without turns."""
    ids = {turn.id.partition("+")[0] for turn in turns}
    found: dict[str, None] = {}
    begun = not ids
    for record in records:
        begun = begun or (isinstance(record, TurnRecord) and record.id in ids)
        if begun and isinstance(record, UnwatchedCommand):
            found[record.where] = None
    return tuple(found)


def unwatched_text(places: Sequence[str]) -> str:
    """A sentence to append about commands that were not watched, if there were any."""
    if not places:
        return ""
    return f" A command ran {' and '.join(places)}, where undo cannot see what it changed; check its files."


def turns_of(records: Iterable[Record]) -> list[UndoTurn]:
    """Return all turns that changed something, undos and redos included, oldest first.

    What a running turn changes after it was undone counts as a separate turn.
    """
    rows = list(records)
    turns = {record.id: record for record in rows if isinstance(record, TurnRecord)}
    outcomes = {record.id: record for record in rows if isinstance(record, ChangeOutcome)}
    finished = {record.id for record in rows if isinstance(record, UndoDone)}
    parts: dict[str, str] = {}  # the id under which a turn continues
    changes: dict[str, list[TurnFileChange]] = {}
    for record in rows:
        if isinstance(record, TurnRecord):
            for target in record.targets:
                first, _, number = target.partition("+")
                parts[first] = f"{first}+{int(number or 0) + 1}"
        elif isinstance(record, ChangeIntent | ObservedChange):
            change = _change(record, outcomes)
            if change is not None:
                changes.setdefault(parts.get(record.turn, record.turn), []).append(change)
    result = [_turn(id, turns.get(id.partition("+")[0]), steps) for id, steps in changes.items()]
    return _mark_undone(result, {id for id in finished if id in turns and not turns[id].paths})


def _turn(id: str, turn: TurnRecord | None, changes: list[TurnFileChange]) -> UndoTurn:
    known = turn or TurnRecord(id=id, time_ms=0)
    return UndoTurn(
        id=id,
        time_ms=known.time_ms,
        prompt=known.prompt,
        kind=known.kind,
        targets=tuple(known.targets),
        changes=tuple(changes),
    )


def _change(
    record: ChangeIntent | ObservedChange, outcomes: Mapping[str, ChangeOutcome]
) -> TurnFileChange | None:
    """Build a change. Without an outcome, tau was killed: the file has the old or the intended content."""
    path = os.fsdecode(record.path)
    if isinstance(record, ObservedChange):
        return TurnFileChange(path=path, before=record.before, after=record.after, unsure=record.unsure)
    outcome = outcomes.get(record.id)
    if outcome is not None and outcome.after is None:
        return None
    return TurnFileChange(
        path=path,
        before=record.before,
        after=record.after if outcome is None or outcome.after is None else outcome.after,
        pending=outcome is None,
        folders=tuple(os.fsdecode(folder) for folder in record.folders),
    )


def _mark_undone(turns: list[UndoTurn], whole: set[str]) -> list[UndoTurn]:
    """Mark the targets of undos that were not redone as undone; `whole`: undos of all files."""
    marked: list[UndoTurn] = []
    undos: dict[str, list[UndoTurn]] = {}
    for turn in reversed(turns):
        undos_of_turn = undos.get(turn.id, [])
        turn = replace(
            turn,
            undone=frozenset(
                change.path
                for undo in undos_of_turn
                for change in undo.changes
                if not change.pending and change.path not in undo.undone
            ),
            closed=any(not undo.closed and undo.id in whole for undo in undos_of_turn),
        )
        marked.append(turn)
        for target in turn.targets:
            undos.setdefault(target, []).append(turn)
    return marked[::-1]


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
    """`unrestorable` cannot be restored, as its content was not saved; empty `folders` are removed."""

    turns: tuple[UndoTurn, ...]
    restore: tuple[UndoStep, ...] = ()
    delete: tuple[UndoStep, ...] = ()
    conflicts: tuple[UndoConflict, ...] = ()
    unrestorable: tuple[UndoStep, ...] = ()
    folders: tuple[Path, ...] = ()
    paths: tuple[str, ...] = ()  # the paths it is limited to
    unwatched: tuple[str, ...] = ()  # where commands ran whose changes are not known

    @property
    def steps(self) -> tuple[UndoStep, ...]:
        return (*self.restore, *self.delete)


def make_plan(
    turns: Sequence[UndoTurn],
    now: Callable[[str], FileState],
    is_saved: Callable[[str], bool],
    *,
    paths: Collection[str] = (),
    force: Collection[str] = (),
) -> UndoPlan:
    """Plan the undo of `turns`, sorted oldest first. Files in `force` have no conflicts."""
    changes: dict[str, list[TurnFileChange]] = {}
    for turn in turns:
        for change in turn.changes:
            if change.path not in turn.undone and (not paths or _is_named(change.path, paths)):
                changes.setdefault(change.path, []).append(change)
    restore: list[UndoStep] = []
    delete: list[UndoStep] = []
    conflicts: list[UndoConflict] = []
    unrestorable: list[UndoStep] = []
    for path, steps in changes.items():
        current = now(path)
        if _is_named(path, force):
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
        elif to.kind == "file" and not same_content(to, current) and not is_saved(to.hash):
            unrestorable.append(step)
        else:
            restore.append(step)
    folders = {folder for steps in changes.values() for change in steps for folder in change.folders}
    return UndoPlan(
        turns=tuple(turns),
        restore=tuple(restore),
        delete=tuple(delete),
        conflicts=tuple(conflicts),
        unrestorable=tuple(unrestorable),
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
    if has_linked_parent(path):
        return LINKED_PARENT
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


def _is_named(path: str, names: Collection[str]) -> bool:
    """Whether a path is one of the names or below one of them."""
    return any(path == name or path.startswith(f"{name}/") for name in names)
