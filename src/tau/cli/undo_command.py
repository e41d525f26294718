"""`tau undo`: undoes the agent's file changes turn by turn and reports them."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tau.base.errors import UsageError
from tau.base.files import modified_ns, typed_path
from tau.base.run import LocalRunner
from tau.cli.parse import ParsedArgs
from tau.cli.subcommand_flags import parse_subcommand
from tau.coding.session.storage.header import read_header
from tau.coding.session.storage.session_store import SessionStore
from tau.coding.undo.command_watch import recover
from tau.coding.undo.file_history import FOLDER_NAME
from tau.coding.undo.journal import FILE_NAME, ChangeIntent, ObservedChange, Record, load
from tau.coding.undo.plan import unwatched_since, unwatched_text
from tau.coding.undo.report import plan_lines, result_lines, summary, turn_lines
from tau.coding.undo.undo import Undo
from tau.config.paths import current_folder
from tau.modes.output_stream import OutputStream, tell
from tau.sdk import session_store


class _UndoArgs(NamedTuple):
    flags: ParsedArgs
    turns: int
    paths: tuple[Path, ...]


def run(words: Sequence[str]) -> int:
    """Return 0 if everything was undone, 1 if something was skipped. Raises UsageError and SessionError."""
    args = parse(words)
    cwd = current_folder()
    folder = _history_folder(session_store(os.environ, cwd), args.flags.value("session"), cwd)
    runner = LocalRunner()
    try:
        if not asyncio.run(recover(folder, runner)):
            tell("A command of this session is still running; its changes are not part of this undo.")
    finally:
        runner.close()
    undo = Undo(folder, warn=tell)
    out = OutputStream()
    if args.flags.has("list"):
        lines = turn_lines(undo.turns(), cwd) or ["No file changes are recorded in this session."]
        out.text("\n".join([*lines, ""]))
        return 0
    forced = args.paths if args.flags.has("force") else ()
    if args.flags.has("redo"):
        plan = undo.redo_plan(force=forced)
    else:
        plan = undo.plan(count=args.turns, paths=args.paths, force=forced)
    if args.flags.has("dry-run"):
        out.text("\n".join([*plan_lines(plan, cwd), ""]))
        return 1 if plan.conflicts or plan.unrestorable else 0
    result = undo.apply(plan)
    out.text("\n".join([*result_lines(result, cwd), summary(plan, result), ""]))
    return 0 if result.clean else 1


def parse(words: Sequence[str]) -> _UndoArgs:
    """Raises UsageError. A number means turns; write a file with such a name as `./2`."""
    parsed = parse_subcommand("undo", words)
    numbers = [word for word in parsed.words if word.isdecimal()][:1]
    turns = int(numbers[0]) if numbers else 1
    if turns == 0:
        raise UsageError("Cannot undo 0 turns; use 1 or more.")
    names = list(parsed.words)
    for number in numbers:
        names.remove(number)
    if parsed.has("force") and not names:
        raise UsageError("--force needs the names of the changed files to undo anyway.")
    if parsed.has("redo") and (numbers or (names and not parsed.has("force"))):
        raise UsageError("--redo reverts the whole last undo; it takes no turns or files.")
    return _UndoArgs(parsed, turns, tuple(map(typed_path, names)))


def _history_folder(store: SessionStore, session: str | None, cwd: Path) -> Path:
    """The history of the named session, or of this folder's session with the latest change."""
    if session is not None:
        folder = store.artifacts_folder(store.find_path(session)) / FOLDER_NAME
        if not (folder / FILE_NAME).exists():
            raise UsageError(f'The agent changed no files in session "{session}".')
        return folder
    journals = sorted(store.folder.glob(f"*/{FOLDER_NAME}/{FILE_NAME}"), key=modified_ns, reverse=True)
    unwatched: dict[str, None] = {}
    for journal in journals:
        folder = journal.parent
        if not _belongs_to(folder.parent.with_name(f"{folder.parent.name}.jsonl"), cwd):
            continue
        records = load(folder)
        if _has_changes(records):
            if unwatched:
                tell(f"A later session has no recorded changes.{unwatched_text(tuple(unwatched))}")
            return folder
        unwatched |= dict.fromkeys(unwatched_since(records, ()))
    text = unwatched_text(tuple(unwatched))
    raise UsageError(f"Nothing to undo: no session in {cwd} has recorded file changes.{text}")


def _has_changes(records: Sequence[Record]) -> bool:
    """A journal may hold only calls and commands that changed nothing."""
    return any(isinstance(record, ChangeIntent | ObservedChange) for record in records)


def _belongs_to(session: Path, cwd: Path) -> bool:
    """Two working folders can share a session folder."""
    header = read_header(session)
    return header is not None and header.cwd == str(cwd)
