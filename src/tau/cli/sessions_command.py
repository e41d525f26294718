"""`tau sessions`: list, search, show, rename, delete, restore and export what was said before."""

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec import Struct, json

from tau.base.errors import SessionError, UsageError
from tau.base.files import typed_path
from tau.base.late import late
from tau.base.text import clean_line
from tau.coding.session import entries as s
from tau.coding.session.snippets import one_line
from tau.coding.session.storage import trash as trashes
from tau.coding.session.storage.line_storage import SessionLocked
from tau.coding.session.storage.session_store import SessionStore
from tau.coding.session.titles import NAME_CHARS
from tau.coding.session_index import index as indexes
from tau.coding.session_index import search as searching
from tau.coding.session_index.file_scan import read_session
from tau.coding.session_index.labels import of_folder, title_of
from tau.config.layers import load_settings
from tau.config.paths import current_folder, user_paths
from tau.modes.output_stream import OutputStream, tell

conversation = late("tau.cli.sessions_show")
export_command = late("tau.cli.export_command")
table = late("tau.cli.sessions_table")

USAGE = """\
usage: tau sessions [--all] [--limit N] [--json]        this folder's sessions, or those of all folders
       tau sessions search WORD ... [--here] [--limit N] [--json]
                                                        sessions in which all words were said
       tau sessions show ID                             a conversation as text
       tau sessions rename ID NAME                      give a session another name
       tau sessions delete ID ...                       put sessions into the trash, for 30 days
       tau sessions restore [ID]                        take one out of the trash; without ID: what is there
       tau sessions export ID [FILE]                    the same as tau export ID [FILE]
       tau sessions reindex                             read all session files again

The beginning of an ID is enough. A word is found by its beginning; "two words" in quotes are found together.
"""
LIMIT = 20
MANY_FILES = 1_000  # to read, before we say that it takes a moment
_SWITCHES = {"--all", "--json", "--here", "--help"}


class _Call(Struct, frozen=True):
    words: list[str]
    switches: set[str]
    limit: int | None

    @property
    def as_json(self) -> bool:
        return "--json" in self.switches

    @property
    def most(self) -> int | None:
        """How many to show: a program gets all of them unless it says otherwise."""
        return self.limit if self.limit is not None or self.as_json else LIMIT


class _Place:
    """The user's sessions, seen from the current folder."""

    def __init__(self) -> None:
        self.paths = user_paths(os.environ)
        self.here = current_folder()
        folder = load_settings(self.paths, self.here).settings.session_dir
        root = typed_path(folder) if folder else self.paths.sessions
        self.flat = folder is not None
        self.store = SessionStore(root, self.here, flat=self.flat, blobs=self.paths.blobs)
        self.index = indexes.SessionIndex(self.paths.index, root, flat=self.flat)
        self.index.on_progress = self._tell_progress
        self.trash = trashes.Trash(self.paths.trash)
        self._told = False

    def of_here(self, rows: list[indexes.SessionRow]) -> list[indexes.SessionRow]:
        """Those of the current folder; a folder of sessions that the user named holds no others."""
        return rows if self.flat else of_folder(rows, str(self.here))

    def close(self) -> None:
        self.index.close()
        for remark in self.index.remarks:
            tell(remark)

    def _tell_progress(self, done: int, total: int) -> None:
        if not self._told and total >= MANY_FILES and done < total:
            self._told = True
            tell(f"{total} session files are new or have changed; reading them takes a moment.")


def run(words: Sequence[str]) -> int:
    """Do what the words after `tau sessions` say. Raises UsageError and SessionError."""
    if words and words[0] == "export":  # with options of its own
        return _export(list(words[1:]))
    call = _parsed(words)
    if "--help" in call.switches:
        OutputStream().text(USAGE)
        return 0
    action = call.words[0] if call.words else "list"
    if action not in _ACTIONS:
        raise UsageError(f'tau sessions has no action "{action}"; there are {", ".join(ACTIONS)}.')
    do, allowed, form = _ACTIONS[action]
    count = max(0, len(call.words) - 1)
    if count not in allowed:
        raise UsageError(f"Write it as tau sessions {form}.")
    with closing(_Place()) as place:
        do(place, call, OutputStream())
    return 0


def _parsed(words: Sequence[str]) -> _Call:
    rest, plain, switches, limit = list(words), [], set(), None
    while rest:
        word = rest.pop(0)
        if word == "--":
            plain += rest
            break
        if word == "--limit" or word.startswith("--limit="):
            value = word.partition("=")[2] if "=" in word else rest.pop(0) if rest else ""
            if not value.isdecimal() or not int(value):
                raise UsageError(f'--limit takes a number from 1 on, not "{value}".')
            limit = int(value)
        elif word in ("-h", *_SWITCHES):
            switches.add("--help" if word == "-h" else word)
        elif word.startswith("-") and len(word) > 1:
            raise UsageError(
                f'tau sessions has no option "{word}"; there are --all, --here, --json, --limit and --help. '
                "What is no option can follow after --."
            )
        else:
            plain.append(word)
    return _Call(plain, switches, limit)


def _list(place: _Place, call: _Call, out: OutputStream) -> None:
    everywhere = "--all" in call.switches
    rows = place.index.sessions(None if everywhere else place.store.folder)
    if not everywhere:
        rows = place.of_here(rows)
    shown = rows[: call.most]
    if call.as_json:
        _write_json(out, [table.as_json(row) for row in shown])
    elif not rows:
        where = "yet" if everywhere else f"of {place.here} yet; --all shows those of other folders"
        out.text(f"There are no sessions {where}.\n")
    else:
        ids = table.short_ids([row.id for row in rows])
        out.text(table.listing(shown, ids, len(rows), by_folder=everywhere))


def _search(place: _Place, call: _Call, out: OutputStream) -> None:
    folder = place.store.folder if "--here" in call.switches else None
    found = searching.search(place.index, call.words[1:], folder=folder, limit=call.most)
    if call.as_json:
        _write_json(out, [table.hit_as_json(hit) for hit in found.hits])
    elif not found.hits:
        words = " ".join(call.words[1:])
        out.text(f'Nothing that was said has all of "{clean_line(words)}".\n')
    else:
        ids = table.short_ids([row.id for row in place.index.sessions()])
        out.text(table.hits(found, ids))


def _show(place: _Place, call: _Call, out: OutputStream) -> None:
    log = place.store.open(place.store.find_path(call.words[1]), read_only=True)
    with closing(log):
        conversation.show(log, out)
    for warning in log.warnings:
        tell(warning)


def _rename(place: _Place, call: _Call, out: OutputStream) -> None:
    name = one_line(" ".join(call.words[2:]), NAME_CHARS)
    path = place.store.find_path(call.words[1])
    try:
        log = place.store.open(path)
    except SessionLocked:
        raise SessionLocked(f"{path} is open in another tau; name it there, or close it first.") from None
    with closing(log):
        if name != (log.name or ""):
            log.append(s.SessionInfo(name=name))
    for warning in log.warnings:
        tell(warning)
    out.text(f'The session is now called "{name}".\n' if name else "The session has no name now.\n")


def _delete(place: _Place, call: _Call, out: OutputStream) -> None:
    paths = [place.store.find_path(wanted) for wanted in call.words[1:]]
    for path in dict.fromkeys(paths):
        found = read_session(os.fsencode(path))
        title = "" if found is None else title_of(found.summary)
        trashed = place.trash.put(path, title)
        out.text(
            f'"{clean_line(title)}" is in the trash. tau sessions restore {trashed.id} brings it back, '
            f"for {trashes.KEPT_DAYS} days.\n"
        )


def _restore(place: _Place, call: _Call, out: OutputStream) -> None:
    content = place.trash.content()
    if len(call.words) == 1:
        if call.as_json:
            _write_json(out, content)
        else:
            out.text(table.trash(content))
        return
    wanted = call.words[1]
    found = [one for one in content if one.id.startswith(wanted) or Path(one.path) == typed_path(wanted)]
    if not found:
        raise UsageError(f'No session in the trash has an id that begins with "{wanted}".')
    if len({one.path for one in found}) > 1:
        ids = ", ".join(one.id for one in found[:5])
        raise UsageError(f'{len(found)} sessions in the trash begin with "{wanted}": {ids}. Give more of it.')
    path = place.trash.restore(found[0])  # deleted twice: the later one
    out.text(f"The session is back: {clean_line(str(path))}\n")


def _export(words: list[str]) -> int:
    if not words or words[0].startswith("-"):
        raise UsageError("Write it as tau sessions export ID [FILE]; tau export does the rest.")
    code: int = export_command.run(words)
    return code


def _reindex(place: _Place, call: _Call, out: OutputStream) -> None:
    count = place.index.rebuild()
    out.text(f"The index was made anew from {count} session {'file' if count == 1 else 'files'}.\n")


_Action = Callable[[_Place, _Call, OutputStream], None]
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


def _write_json(out: OutputStream, value: Any) -> None:
    try:
        text = json.format(json.encode(value), indent=2).decode()
    except UnicodeEncodeError as error:
        raise SessionError(f"A session cannot be shown as JSON: {error.reason}.") from error
    out.text(f"{text}\n")
