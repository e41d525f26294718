"""Describe an undo, one line per file, for the command line and the transcript."""

import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from tau.base.sizes import format_bytes
from tau.base.text import shortened
from tau.coding.files.paths import shown
from tau.coding.undo import file_state
from tau.coding.undo.file_state import FileState
from tau.coding.undo.plan import UndoConflict, UndoPlan, UndoStep, UndoTurn, unwatched_text
from tau.coding.undo.undo import UndoResult

_SHOWN_HASH_CHARS = 8


def plan_lines(plan: UndoPlan, cwd: Path) -> list[str]:
    """Describe what would be done."""
    return [
        *_rows("would restore", plan.restore, cwd),
        *_rows("would delete", plan.delete, cwd),
        *_skipped(plan.conflicts, plan.unrestorable, cwd),
        *([unwatched_text(plan.unwatched).strip()] if plan.unwatched else []),
    ]


def result_lines(result: UndoResult, cwd: Path) -> list[str]:
    """Describe what was done, and what was not and why."""
    return [
        *_rows("restored", result.restored, cwd),
        *_rows("deleted", result.deleted, cwd),
        *(f"removed   {shown(folder, cwd)}/ (empty folder)" for folder in result.folders),
        *_skipped(result.conflicts, result.unrestorable, cwd),
        *(f"failed    {shown(one.path, cwd)}: {one.reason}" for one in result.failed),
    ]


def summary(plan: UndoPlan, result: UndoResult) -> str:
    """Write the last line: the turns, the number of files, and what to do next."""
    redo = plan.turns[0].kind == "undo"
    done = len(result.restored) + len(result.deleted)
    left = len(result.conflicts) + len(result.unrestorable) + len(result.failed)
    verb = "Redone" if redo else "Undone"
    text = f"{verb}: {_describe_turns(plan.turns)}, {count(done)}."
    if left:
        text += f" {count(left).capitalize()} left as {'it is' if left == 1 else 'they are'}."
    if result.conflicts and not redo:
        text += " To undo a conflicting file anyway, pass it to --force."
    return text + unwatched_text(plan.unwatched)


def turn_lines(turns: Sequence[UndoTurn], cwd: Path) -> list[str]:
    """List the turns, newest first, each with the number of turns to undo to revert it."""
    lines: list[str] = []
    number = 0
    for turn in reversed(turns):
        number += turn.open
        mark = f"{number:>3}" if turn.open else "   "
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(turn.time_ms / 1000))
        undone = "" if turn.open else " (undone)"
        files = ", ".join(shown(Path(path), cwd) for path in turn.files[:5])
        more = f" and {len(turn.files) - 5} more" if len(turn.files) > 5 else ""
        lines.append(f"{mark}  {when}  {turn.prompt or '(no prompt)'}{undone}\n       {files}{more}")
    return lines


def count(files: int) -> str:
    return "1 file" if files == 1 else f"{files or 'no'} files"


def describe(state: FileState) -> str:
    """Describe a state briefly."""
    if state.kind == "absent":
        return "no file"
    if state.kind == "link":
        return f"a link to {os.fsdecode(state.target)}"
    if state.kind != "file":
        return "a folder" if state.kind == "folder" else "not a regular file"
    name = "" if not state.readable else f", {state.hash.removeprefix('git:')[:_SHOWN_HASH_CHARS]}"
    return f"{format_bytes(state.size)}{name}"


def _describe_turns(turns: Sequence[UndoTurn]) -> str:
    if len(turns) > 1:
        return f"{len(turns)} turns"
    return f'"{shortened(turns[0].prompt, 60)}"' if turns[0].prompt else "1 turn"


def _rows(verb: str, steps: Iterable[UndoStep], cwd: Path) -> list[str]:
    return [f"{verb:<9} {shown(step.path, cwd)}" for step in steps]


def _skipped(conflicts: Iterable[UndoConflict], unrestorable: Iterable[UndoStep], cwd: Path) -> list[str]:
    lines = [
        f"conflict  {shown(one.path, cwd)}: {one.reason}; the agent left {describe(one.left)}, "
        f"now it is {describe(one.now)}, before it was {describe(one.before)}"
        for one in conflicts
    ]
    for step in unrestorable:
        why = _why_unrestorable(step.to)
        lines.append(f"not kept  {shown(step.path, cwd)}: cannot restore its earlier content, as {why}")
    return lines


def _why_unrestorable(state: FileState) -> str:
    if state.hash.startswith("git:"):
        return "git stores it in another form"
    if state.readable:
        return "it is no longer kept"
    if state.size > file_state.MAX_FILE_BYTES:
        return f"it was larger than {format_bytes(file_state.MAX_FILE_BYTES)}"
    return "it could not be read"
