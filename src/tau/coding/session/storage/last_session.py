"""The session that a terminal used last, for `--continue`: one small file per terminal."""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tau.base import log
from tau.base.files import make_private, write_atomic

FOLDER_NAME = "terminals"
KEPT_S = 30 * 24 * 3600
_MAX_KEY_CHARS = 120
_MAX_BYTES = 16_384
# Variables that terminals and multiplexers set, for when no terminal device is open.
_NAMES = ("TMUX_PANE", "ZELLIJ_PANE_ID", "WEZTERM_PANE", "TERM_SESSION_ID", "ITERM_SESSION_ID", "WT_SESSION")


def terminal_id(environ: Mapping[str, str] = os.environ) -> str | None:
    """A name for the current terminal; None if there is none, as in a scheduled job.

    The device alone is not enough, because the next window may get the same one; so add the shell in it.
    """
    for fd in (0, 1, 2):
        with suppress(OSError):
            return _file_name(f"{os.ttyname(fd)}-{os.getsid(0)}")
    for name in _NAMES:
        if value := environ.get(name):
            server = environ.get("TMUX", "") if name == "TMUX_PANE" else ""
            return _file_name(f"{name}-{server}-{value}")
    return None


def save(folder: Path, terminal: str | None, session: Path, cwd: Path) -> None:
    """Note that this terminal used a session in a working folder. Errors are only logged."""
    if terminal is None:
        return
    try:
        make_private(folder)
        data = b"\0".join((os.fsencode(session.absolute()), os.fsencode(cwd)))
        write_atomic(folder / terminal, data, mode=0o600, sync=False)
        _delete_old(folder)
    except OSError as error:
        log.warning("This terminal's session cannot be saved.", error)


def load(folder: Path, terminal: str | None, cwd: Path) -> Path | None:
    """The session that this terminal used last, if it was in the same folder and still exists."""
    if terminal is None:
        return None
    try:
        with (folder / terminal).open("rb") as file:
            session, _, where = file.read(_MAX_BYTES).partition(b"\0")
    except OSError:
        return None
    path = Path(os.fsdecode(session))
    try:
        return path if where == os.fsencode(cwd) and path.is_file() else None
    except ValueError:  # not a path
        return None


def _file_name(text: str) -> str:
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-_%") else "-" for c in text)
    return safe[-_MAX_KEY_CHARS:].lstrip("-")


def _delete_old(folder: Path) -> None:
    """Delete files unused for a month; at most once a day, because every run gets here."""
    stamp = folder / ".cleaned"
    now = time.time()
    with suppress(FileNotFoundError):
        if now - stamp.stat().st_mtime < 24 * 3600:
            return
    stamp.touch(mode=0o600)
    os.utime(stamp)
    for path in folder.iterdir():
        with suppress(OSError):
            if path != stamp and now - path.stat().st_mtime > KEPT_S:
                path.unlink()
