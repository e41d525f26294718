"""The journal as turns: what each one changed, and which are undone."""

import os
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from tau.coding.undo.file_state import FileState
from tau.coding.undo.journal import (
    ChangeIntent,
    ChangeOutcome,
    ObservedChange,
    Record,
    TurnKind,
    TurnRecord,
    UndoDone,
)


class TurnFileChange(Struct, frozen=True, kw_only=True):
    """One change of a file. `unsure`: unclear whether the agent made it, or what it left."""

    path: str
    before: FileState
    after: FileState
    unsure: bool = False
    pending: bool = False  # tau was killed before it recorded the outcome
    folders: tuple[str, ...] = ()


class UndoTurn(Struct, frozen=True, kw_only=True):
    """`taken` are the files already undone; `closed`: the whole turn was undone."""

    id: str
    time_ms: int
    prompt: str
    kind: TurnKind = "turn"
    targets: tuple[str, ...] = ()
    changes: tuple[TurnFileChange, ...] = ()
    taken: frozenset[str] = frozenset()
    closed: bool = False

    @property
    def files(self) -> tuple[str, ...]:
        """Each file once, ordered by first change."""
        return tuple(dict.fromkeys(change.path for change in self.changes))

    @property
    def open(self) -> bool:
        """Whether there is something to undo."""
        return not self.closed and not self.taken.issuperset(self.files)


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
    found = [_turn(id, turns.get(id.partition("+")[0]), steps) for id, steps in changes.items()]
    return _with_fates(found, {id for id in finished if id in turns and not turns[id].paths})


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


def _with_fates(turns: list[UndoTurn], whole: set[str]) -> list[UndoTurn]:
    """Mark the targets of undos that were not redone as undone; `whole`: undos of all files."""
    judged: list[UndoTurn] = []
    later: dict[str, list[UndoTurn]] = {}
    for turn in reversed(turns):
        takers = later.get(turn.id, [])
        fate = replace(
            turn,
            taken=frozenset(
                change.path
                for taker in takers
                for change in taker.changes
                if not change.pending and change.path not in taker.taken
            ),
            closed=any(not taker.closed and taker.id in whole for taker in takers),
        )
        judged.append(fate)
        for target in turn.targets:
            later.setdefault(target, []).append(fate)
    judged.reverse()
    return judged
