"""File and index operations of the session list; each function runs on a separate thread."""

import os
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Literal, NamedTuple

from tau.base.files import is_locked, typed_path
from tau.coding.session.entries import SessionInfo
from tau.coding.session.snippets import one_line
from tau.coding.session.storage.line_storage import SessionLocked
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.storage.session_store import SessionStore
from tau.coding.session.storage.trash import Trash
from tau.coding.session.titles import NAME_CHARS
from tau.coding.session_index.index import SessionIndex, SessionRow
from tau.coding.session_index.labels import folder_text, sessions_in, speaker, title_of
from tau.coding.session_index.search import SessionPreview, preview_session, search, snippet
from tau.modes.interactive.current_session import CurrentSession

Sort = Literal["time", "name", "size"]
SORTS: tuple[Sort, ...] = ("time", "name", "size")
MAX_HITS = 500
SNIPPET_CHARS = 90


class SessionLocation(NamedTuple):
    """Where sessions are stored, relative to a working folder."""

    index_file: Path
    root: Path
    folder: Path
    """Sessions of this working folder."""
    flat: bool
    cwd: str
    trash: Path
    blobs: Path


class SessionItem(NamedTuple):
    """A session as listed: a one-line title and a readable working folder."""

    row: SessionRow
    title: str
    folder: str


def location_of(current: CurrentSession) -> SessionLocation:
    """The session folders of this run, including one set by a flag."""
    paths, cwd = current.paths, current.cwd
    file = None if current.session is None else current.session.log.path
    root, flat = paths.sessions, False
    if current.settings.session_dir:
        root, flat = typed_path(current.settings.session_dir), True
    if file is not None and file.parent != root and file.parent.parent != paths.sessions:
        root, flat = file.parent, True
    folder = SessionStore(root, cwd, flat=flat).folder
    return SessionLocation(paths.index, root, folder, flat, str(cwd), paths.trash, paths.blobs)


def list_sessions(
    location: SessionLocation,
    *,
    everywhere: bool,
    sort: Sort,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[list[SessionItem], list[str]]:
    """The sorted sessions, and warnings about the index."""
    with SessionIndex(location.index_file, location.root, flat=location.flat) as index:
        index.on_progress = progress
        rows = index.sessions(None if everywhere or location.flat else location.folder)
        remarks = list(index.remarks)
    if not everywhere:
        rows = sessions_in(rows, location.cwd)
    home = str(typed_path("~"))
    items = [SessionItem(row, title_of(row.summary), folder_text(row.summary.cwd, home)) for row in rows]
    return sort_sessions(items, sort), remarks


def sort_sessions(items: Iterable[SessionItem], sort: Sort) -> list[SessionItem]:
    """By time: latest first; by name; by size: largest first."""
    if sort == "name":
        return sorted(items, key=lambda item: item.title.lower())
    if sort == "size":
        return sorted(items, key=lambda item: item.row.size_bytes, reverse=True)
    return sorted(items, key=lambda item: item.row.changed_ns, reverse=True)


def search_sessions(location: SessionLocation, text: str, *, everywhere: bool) -> dict[bytes, str]:
    """Sessions containing all words, each with an excerpt."""
    words = text.split()
    if not words:
        return {}
    with SessionIndex(location.index_file, location.root, flat=location.flat) as index:
        folder = None if everywhere or location.flat else location.folder
        hits = search(index, words, folder=folder, limit=MAX_HITS).hits
    return {
        hit.session.file: speaker(hit.role) + snippet(hit.snippet, words, SNIPPET_CHARS)
        for hit in hits
        if hit.role != "name"
    }


def preview(location: SessionLocation, file: bytes) -> SessionPreview:
    """The session's preview from the index."""
    with SessionIndex(location.index_file, location.root, flat=location.flat) as index:
        return preview_session(index, file)


def open_elsewhere(files: Iterable[bytes]) -> dict[bytes, bool]:
    """Which sessions another process is writing."""
    is_open = {}
    for file in files:
        try:
            fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            is_open[file] = False
            continue
        try:
            is_open[file] = is_locked(fd)
        finally:
            os.close(fd)
    return is_open


def rename(location: SessionLocation, file: bytes, name: str) -> None:
    """Rename a session. Raises SessionError if another tau has it open."""
    path = Path(os.fsdecode(file))
    try:
        log = SessionLog.open(path, blobs=location.blobs)
    except SessionLocked:
        raise SessionLocked(f"{path.name} is open in another tau; rename it there.") from None
    with closing(log):
        name = one_line(name, NAME_CHARS)
        if name != (log.name or ""):
            log.append(SessionInfo(name=name))


def delete(location: SessionLocation, file: bytes, title: str) -> str:
    """Move a session to the trash; returns the id to restore it by."""
    path = Path(os.fsdecode(file))
    try:
        return Trash(location.trash).put(path, title).id
    except SessionLocked:
        raise SessionLocked(f"{path.name} is open in another tau; close it there first.") from None
