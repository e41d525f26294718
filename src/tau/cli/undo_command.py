"""`tau undo`: takes back what the agent changed in a session, turn by turn, and says what it did."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from tau.base.errors import UsageError
from tau.base.files import typed_path
from tau.base.run import LocalRunner
from tau.coding.session.entries import decode_header
from tau.coding.session.storage.session_store import SessionStore
from tau.coding.undo.command_watch import recover
from tau.coding.undo.file_history import FOLDER_NAME
from tau.coding.undo.journal import FILE_NAME
from tau.coding.undo.report import plan_lines, result_lines, summary, turn_lines
from tau.coding.undo.undo import Undo
from tau.config.paths import current_folder
from tau.modes.output_stream import OutputStream, tell
from tau.sdk import session_store

USAGE = "Write it as tau undo [--list] [--dry-run] [--redo] [--force] [--session ID] [TURNS] [PATH ...]."
SWITCHES = ("list", "dry-run", "redo", "force")


class _UndoArgs(Struct, frozen=True, kw_only=True):
    """What was typed."""

    switches: frozenset[str] = frozenset()
    session: str | None = None
    turns: int = 1
    paths: tuple[Path, ...] = ()

    def has(self, switch: str) -> bool:
        return switch in self.switches


def run(words: Sequence[str]) -> int:
    """0 if all was taken back, 1 if something had to be left alone. Raises UsageError and SessionError."""
    wish = parse(words)
    cwd = current_folder()
    folder = _history_folder(session_store(os.environ, cwd), wish, cwd)
    runner = LocalRunner()
    try:
        if not asyncio.run(recover(folder, runner)):
            tell("A command of this session is still running; what it changes is not part of this undo.")
    finally:
        runner.close()
    undo = Undo(folder, warn=tell)
    out = OutputStream()
    if wish.has("list"):
        lines = turn_lines(undo.turns(), cwd) or ["No change by the agent is recorded in this session."]
        out.text("\n".join([*lines, ""]))
        return 0
    forced = wish.paths if wish.has("force") else ()
    if wish.has("redo"):
        plan = undo.redo_plan(force=forced)
    else:
        plan = undo.plan(count=wish.turns, paths=wish.paths, force=forced)
    if wish.has("dry-run"):
        out.text("\n".join([*plan_lines(plan, cwd), ""]))
        return 1 if plan.conflicts or plan.unkept else 0
    result = undo.apply(plan)
    out.text("\n".join([*result_lines(result, cwd), summary(plan, result), ""]))
    return 0 if result.clean else 1


def parse(words: Sequence[str]) -> _UndoArgs:
    """Raises UsageError. A number is how many turns; a file with such a name is written as `./2`."""
    switches: set[str] = set()
    session: str | None = None
    turns = 0
    paths: list[Path] = []
    rest = iter(words)
    for word in rest:
        name, _, value = word.removeprefix("--").partition("=")
        if not word.startswith("-"):
            if word.isdecimal() and not turns:
                turns = int(word)
                if turns == 0:
                    raise UsageError("0 turns cannot be undone; give 1 or more.")
            else:
                paths.append(typed_path(word))
        elif name == "session":
            session = value or next(rest, None)
            if session is None:
                raise UsageError(f"--session needs the id of a session. {USAGE}")
        elif name in SWITCHES and not value:
            switches.add(name)
        else:
            raise UsageError(f'"{word}" is not known to tau undo. {USAGE}')
    if "force" in switches and not paths:
        raise UsageError("--force needs the names of the files to take back although they have changed.")
    if "redo" in switches and (turns or (paths and "force" not in switches)):
        raise UsageError("--redo takes the last undo back as a whole; leave the number and the files out.")
    return _UndoArgs(switches=frozenset(switches), session=session, turns=turns or 1, paths=tuple(paths))


def _history_folder(store: SessionStore, wish: _UndoArgs, cwd: Path) -> Path:
    """The history of the session that was named, or of the one of this folder that changed something last."""
    if wish.session is not None:
        folder = store.find_path(wish.session).with_suffix("") / FOLDER_NAME
        if not (folder / FILE_NAME).exists():
            raise UsageError(f'The agent has changed no file in the session "{wish.session}".')
        return folder
    journals = sorted(store.folder.glob(f"*/{FOLDER_NAME}/{FILE_NAME}"), key=_written, reverse=True)
    for journal in journals:
        folder = journal.parent
        if _is_of(folder.parent.with_name(f"{folder.parent.name}.jsonl"), cwd):
            return folder
    raise UsageError(f"There is nothing to undo: no session of {cwd} has changed a file.")


def _is_of(session: Path, cwd: Path) -> bool:
    """Two working folders can share a folder of sessions."""
    try:
        with session.open("rb") as file:
            return decode_header(file.readline()).cwd == str(cwd)
    except (OSError, ValueError):
        return False


def _written(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
