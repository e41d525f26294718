"""`tau sessions`: list, search, show, rename, delete, restore and export sessions."""

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from msgspec import json

from tau.base.errors import SessionError, UsageError
from tau.base.files import typed_path
from tau.base.late import late
from tau.base.text import clean_line
from tau.cli.parse import ParsedArgs
from tau.cli.subcommand_flags import parse_subcommand
from tau.coding.session import entries as s
from tau.coding.session.snippets import one_line
from tau.coding.session.storage import trash as trashes
from tau.coding.session.storage.line_storage import SessionLocked
from tau.coding.session.titles import NAME_CHARS
from tau.coding.session_index import index as indexes
from tau.coding.session_index import search as searching
from tau.coding.session_index.file_scan import read_session
from tau.coding.session_index.labels import sessions_in, title_of
from tau.config.paths import current_folder, user_paths
from tau.modes.output_stream import OutputStream, tell
from tau.sdk.storage import session_store

conversation = late("tau.cli.sessions_show")
export_command = late("tau.cli.export_command")
table = late("tau.cli.sessions_table")

LIMIT = 20
MANY_FILES = 1_000  # to read, before we print a notice


class _SessionAccess:
    """The user's sessions, seen from the current folder."""

    def __init__(self) -> None:
        self.paths = user_paths(os.environ)
        self.here = current_folder()
        self.store = session_store(os.environ, self.here)
        self.index = indexes.SessionIndex(self.paths.index, self.store.root, flat=self.store.flat)
        self.index.on_progress = self._report_progress
        self.trash = trashes.Trash(self.paths.trash)
        self._reported = False

    def in_current_folder(self, rows: list[indexes.SessionRow]) -> list[indexes.SessionRow]:
        """Rows of the current folder; a custom session folder has no others."""
        return rows if self.store.flat else sessions_in(rows, str(self.here))

    def close(self) -> None:
        self.index.close()
        for remark in self.index.remarks:
            tell(remark)

    def _report_progress(self, done: int, total: int) -> None:
        if not self._reported and total >= MANY_FILES and done < total:
            self._reported = True
            tell(f"Reading {total} new or changed session files.")


def run(words: Sequence[str]) -> int:
    """Run `tau sessions`. Raises UsageError and SessionError."""
    if words and words[0] == "export":  # has its own options
        return _export(list(words[1:]))
    call = parse_subcommand("sessions", words)
    action = call.words[0] if call.words else "list"
    if action not in _ACTIONS:
        raise UsageError(f'Unknown action "{action}"; use one of {", ".join(ACTIONS)}.')
    do, allowed, form = _ACTIONS[action]
    count = max(0, len(call.words) - 1)
    if count not in allowed:
        raise UsageError(f"Usage: tau sessions {form}.")
    with closing(_SessionAccess()) as access:
        do(access, call, OutputStream())
    return 0


def titles_here() -> list[tuple[str, str]]:
    """The ids of this folder's sessions, as short as `tau sessions` shows them, with their titles."""
    with closing(_SessionAccess()) as access:
        rows = access.in_current_folder(access.index.sessions(access.store.folder))
        ids = table.short_ids([row.id for row in rows])
        return [(ids[row.id], title_of(row.summary)) for row in rows]


def _limit(parsed: ParsedArgs) -> int | None:
    """How many to show; JSON output is unlimited by default."""
    value = parsed.value("limit")
    if value is None:
        return None if parsed.has("json") else LIMIT
    if not value.isdecimal() or not int(value):
        raise UsageError(f'--limit takes a number from 1, not "{value}".')
    return int(value)


def _list(access: _SessionAccess, call: ParsedArgs, out: OutputStream) -> None:
    everywhere = call.has("all")
    rows = access.index.sessions(None if everywhere else access.store.folder)
    if not everywhere:
        rows = access.in_current_folder(rows)
    shown = rows[: _limit(call)]
    if call.has("json"):
        _write_json(out, [table.session_to_json(row) for row in shown])
    elif not rows:
        where = "yet" if everywhere else f"in {access.here} yet; --all shows other folders"
        out.text(f"No sessions {where}.\n")
    else:
        ids = table.short_ids([row.id for row in rows])
        out.text(table.format_sessions(shown, ids, len(rows), by_folder=everywhere))


def _search(access: _SessionAccess, call: ParsedArgs, out: OutputStream) -> None:
    folder = access.store.folder if call.has("here") else None
    found = searching.search(access.index, call.words[1:], folder=folder, limit=_limit(call))
    if call.has("json"):
        _write_json(out, [table.hit_to_json(hit) for hit in found.hits])
    elif not found.hits:
        words = " ".join(call.words[1:])
        out.text(f'No session contains all of "{clean_line(words)}".\n')
    else:
        ids = table.short_ids([row.id for row in access.index.sessions()])
        out.text(table.format_hits(found, ids))


def _show(access: _SessionAccess, call: ParsedArgs, out: OutputStream) -> None:
    log = access.store.open(access.store.find_path(call.words[1]), read_only=True)
    with closing(log):
        conversation.show(log, out)
    for warning in log.warnings:
        tell(warning)


def _rename(access: _SessionAccess, call: ParsedArgs, out: OutputStream) -> None:
    name = one_line(" ".join(call.words[2:]), NAME_CHARS)
    path = access.store.find_path(call.words[1])
    try:
        log = access.store.open(path)
    except SessionLocked:
        raise SessionLocked(f"{path} is open in another tau; rename it there, or close it first.") from None
    with closing(log):
        if name != (log.name or ""):
            log.append(s.SessionInfo(name=name))
    for warning in log.warnings:
        tell(warning)
    out.text(f'Renamed the session to "{name}".\n' if name else "Removed the session's name.\n")


def _delete(access: _SessionAccess, call: ParsedArgs, out: OutputStream) -> None:
    paths = [access.store.find_path(wanted) for wanted in call.words[1:]]
    for path in dict.fromkeys(paths):
        found = read_session(os.fsencode(path))
        title = "" if found is None else title_of(found.summary)
        trashed = access.trash.put(path, title)
        out.text(
            f'Moved "{clean_line(title)}" to the trash. Restore it with tau sessions restore {trashed.id} '
            f"within {trashes.KEPT_DAYS} days.\n"
        )


def _restore(access: _SessionAccess, call: ParsedArgs, out: OutputStream) -> None:
    content = access.trash.content()
    if len(call.words) == 1:
        if call.has("json"):
            _write_json(out, content)
        else:
            out.text(table.format_trash(content))
        return
    wanted = call.words[1]
    found = [one for one in content if one.id.startswith(wanted) or Path(one.path) == typed_path(wanted)]
    if not found:
        raise UsageError(f'No session in the trash has an id that starts with "{wanted}".')
    if len({one.path for one in found}) > 1:
        ids = ", ".join(one.id for one in found[:5])
        raise UsageError(
            f'{len(found)} sessions in the trash start with "{wanted}": {ids}. Use a longer prefix.'
        )
    path = access.trash.restore(found[0])  # deleted twice: the later one
    out.text(f"Restored {clean_line(str(path))}\n")


def _export(words: list[str]) -> int:
    if not words or words[0].startswith("-"):
        raise UsageError("Usage: tau sessions export ID [FILE]; see tau export for more.")
    return export_command.run(words)


def _reindex(access: _SessionAccess, call: ParsedArgs, out: OutputStream) -> None:
    count = access.index.rebuild()
    out.text(f"Rebuilt the index from {count} session {'file' if count == 1 else 'files'}.\n")


_Action = Callable[[_SessionAccess, ParsedArgs, OutputStream], None]
_ANY = range(1, 1_000)

_ACTIONS: dict[str, tuple[_Action, Sequence[int], str]] = {
    "list": (_list, (0,), "list [--all] [--limit N] [--json]"),
    "search": (_search, _ANY, "search WORD ..."),
    "show": (_show, (1,), "show ID"),
    "rename": (_rename, range(2, 1_000), "rename ID NAME"),
    "delete": (_delete, _ANY, "delete ID ..."),
    "restore": (_restore, (0, 1), "restore [ID]"),
    "reindex": (_reindex, (0,), "reindex"),
}
ACTIONS = (*_ACTIONS, "export")


def _write_json(out: OutputStream, value: object) -> None:
    try:
        text = json.format(json.encode(value), indent=2).decode()
    except UnicodeEncodeError as error:
        raise SessionError(f"Cannot show a session as JSON: {error.reason}.") from error
    out.text(f"{text}\n")
