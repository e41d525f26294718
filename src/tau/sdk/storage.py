"""Opens session logs and finds the user's sessions."""

import os
from collections.abc import Mapping
from pathlib import Path

from tau.agent.events import AgentEvent, MessageEnd
from tau.base.files import typed_path
from tau.base.late import late
from tau.coding.session.session import Session
from tau.coding.session.storage.line_storage import SessionLocked
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.storage.session_store import SessionStore
from tau.config.layers import load_settings
from tau.config.paths import Paths, current_folder, user_paths
from tau.config.settings import Settings
from tau.sdk.options import SessionOptions

last_session = late("tau.coding.session.storage.last_session")


def open_log(options: SessionOptions, paths: Paths, settings: Settings) -> SessionLog:
    """Open the log: new, latest, requested, or in memory only."""
    if options.agent is not None:
        return options.agent.log()
    folder = options.session_dir or (typed_path(settings.session_dir) if settings.session_dir else None)
    store = SessionStore(folder or paths.sessions, options.cwd, flat=folder is not None, blobs=paths.blobs)
    if options.fork is not None:
        return store.fork(store.find_path(options.fork), leaf=options.fork_entry)
    if options.resume is not None:
        path = store.find_path(options.resume)
        return _open_or_copy(store, path) if options.copy_locked else store.open(path)
    if options.continue_recent:
        last = last_session.load(paths.terminals, last_session.terminal_id(), options.cwd)
        return _open_or_copy(store, last or store.recent_path())
    return store.new(options.parent) if options.save else SessionLog.new(None, options.cwd)


def _open_or_copy(store: SessionStore, path: Path) -> SessionLog:
    """Open the session, or a copy if another window is writing it."""
    try:
        return store.open(path)
    except SessionLocked:
        log = store.fork(path)
        log.warnings.append("The session is open in another tau, so this is a separate copy of it.")
        return log


def track_last_session(session: Session, paths: Paths) -> None:
    """Record at the first message that this terminal uses this session."""

    def on_event(event: AgentEvent) -> None:
        if isinstance(event, MessageEnd) and session.log.path is not None:
            stop()
            last_session.save(paths.terminals, last_session.terminal_id(), session.log.path, session.cwd)

    stop = session.subscribe(on_event)


def session_store(environ: Mapping[str, str] = os.environ, cwd: Path | None = None) -> SessionStore:
    """Open the user's sessions; `cwd` defaults to the current folder."""
    paths = user_paths(environ)
    here = cwd or current_folder()
    folder = load_settings(paths, here).settings.session_dir
    root = typed_path(folder) if folder else paths.sessions
    return SessionStore(root, here, flat=folder is not None, blobs=paths.blobs)
