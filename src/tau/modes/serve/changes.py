"""The files that a session has changed, as diffs, and their undo."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tau.base.sizes import KIB
from tau.base.text import NotText, decode, is_binary
from tau.coding.edits.diff import unified
from tau.coding.files.paths import shown
from tau.coding.undo.file_history import ContentStore
from tau.coding.undo.file_state import FileState, observe, same_content
from tau.coding.undo.journal import load
from tau.coding.undo.plan import UndoTurn, turns_of

MAX_COMPARED_BYTES = 512 * KIB
MAX_FILES = 500
HISTORY = "history"
Side = Literal["before", "after"]


class ChangedTurn(Struct, frozen=True):
    """A turn that changed files; an `open` one can be undone. `time` is in milliseconds."""

    id: str
    title: str
    time: int
    open: bool
    files: list[str]


class ChangedFileDiff(Struct, frozen=True):
    """`diff` is a unified one; it is empty if the file is not text or too large."""

    path: str
    status: Literal["added", "changed", "deleted"]
    added: int
    removed: int
    diff: str


class SessionChanges(Struct, frozen=True, rename="camel"):
    """What is not undone. Files beyond a limit are left out of `files`; `more` is their number."""

    turns: list[ChangedTurn]
    files: list[ChangedFileDiff]
    can_redo: bool
    more: int = 0


class UndoRequest(Struct, frozen=True):
    """By default of the last turn. With `force`, also those of `paths` that have changed since."""

    turn: str | None = None
    paths: list[str] = []
    force: bool = False


class UndoReport(Struct, frozen=True):
    lines: list[str]
    summary: str


def session_changes(folder: Path, cwd: Path) -> SessionChanges:
    """Compare the files with their content before the session; `folder` is the session's for artifacts."""
    history = folder / HISTORY
    contents = ContentStore(history / "kept")
    all_turns = turns_of(load(history))
    turns = [turn for turn in all_turns if turn.kind == "turn" and turn.changes]
    first = _first_states(turns)
    found: Iterable[ChangedFileDiff | None] = (
        _compare(path, before, contents, cwd) for path, before in list(first.items())[:MAX_FILES]
    )
    return SessionChanges(
        turns=[_turn(turn, cwd) for turn in turns],
        files=[change for change in found if change is not None],
        can_redo=any(turn.kind == "undo" and turn.open for turn in all_turns),
        more=max(0, len(first) - MAX_FILES),
    )


def changed_text(folder: Path, cwd: Path, path: str, side: Side) -> str | None:
    """The text of a changed file before the session, or now; None if there is no such text."""
    history = folder / HISTORY
    known = _first_states(turns_of(load(history)))
    before = None if "\0" in path else known.get(os.path.realpath(cwd / path))
    if before is None:
        return None
    if side == "before":
        data = ContentStore(history / "kept").get(before.hash) if before.kind == "file" else b""
        return _text(before, data)
    seen, data = observe(os.path.realpath(cwd / path))
    return _text(seen.state, data)


def _first_states(turns: Iterable[UndoTurn]) -> dict[str, FileState]:
    """What each file was before the first turn that is not undone."""
    first: dict[str, FileState] = {}
    for turn in turns:
        for change in turn.changes if turn.kind == "turn" and not turn.closed else ():
            if change.path not in turn.undone:
                first.setdefault(change.path, change.before)
    return first


def _turn(turn: UndoTurn, cwd: Path) -> ChangedTurn:
    files = [shown(Path(path), cwd) for path in turn.files]
    return ChangedTurn(turn.id, turn.prompt, turn.time_ms, turn.open, files)


def _compare(path: str, before: FileState, contents: ContentStore, cwd: Path) -> ChangedFileDiff | None:
    seen, data = observe(path)
    now = seen.state
    if same_content(before, now):
        return None
    status: Literal["added", "changed", "deleted"] = (
        "added" if before.kind == "absent" else "deleted" if now.kind == "absent" else "changed"
    )
    name = shown(Path(path), cwd)
    old = _text(before, contents.get(before.hash) if before.kind == "file" else b"")
    new = _text(now, data)
    if old is None or new is None:
        return ChangedFileDiff(name, status, 0, 0, "")
    diff = unified(old, new, name)
    return ChangedFileDiff(name, status, diff.added, diff.removed, diff.text)


def _text(state: FileState, data: bytes | None) -> str | None:
    """None if it cannot be compared."""
    if state.kind not in ("file", "absent") or data is None or len(data) > MAX_COMPARED_BYTES:
        return None
    if is_binary(data):
        return None
    try:
        return decode(data).text
    except NotText:
        return None
