"""Where sessions are kept, and how one is found again."""

import stat
from pathlib import Path

from tau.ai.normalization import clean
from tau.base.errors import UsageError
from tau.base.files import mode_of, typed_path
from tau.base.late import late
from tau.coding.session.entries import SessionHeader, decode_header
from tau.coding.session.storage.ids import folder_name
from tau.coding.session.storage.log import SessionLog

forks = late("tau.coding.session.storage.fork")


class SessionStore:
    """One folder per working folder below `root`; with `flat`, all sessions in `root` itself."""

    def __init__(self, root: Path, cwd: Path, *, flat: bool = False, blobs: Path | None = None) -> None:
        self._root = root
        self._blobs = blobs
        self._flat = flat
        self._cwd = cwd
        self.folder = root if flat else root / folder_name(cwd)

    def new(self) -> SessionLog:
        return SessionLog.new(self.folder, self._cwd, blobs=self._blobs)

    def open(self, path: Path, *, read_only: bool = False) -> SessionLog:
        """Raises SessionLocked where another process has it; it can be opened read-only then, or forked."""
        return SessionLog.open(path, blobs=self._blobs, read_only=read_only)

    def fork(self, source: SessionLog | Path, *, leaf: str | None = None) -> SessionLog:
        """A copy of a session as a new one of this working folder; with `leaf` only the branch up to it."""
        log: SessionLog = forks.fork(source, self.folder, self._cwd, leaf=leaf, blobs=self._blobs)
        return log

    def recent(self) -> SessionLog:
        """The session of this working folder that was written to last."""
        return self.open(self.recent_path())

    def find(self, wanted: str) -> SessionLog:
        """By path, by id, or by the beginning of an id; this working folder's sessions first."""
        return self.open(self.find_path(wanted))

    def recent_path(self) -> Path:
        """The file of `recent`, whoever has it open."""
        for path in sorted(self.folder.glob("*.jsonl"), key=_written, reverse=True):
            header = _header(path)
            # Two folders can share a name here: `/a/b` and `/a-b`.
            if header is not None and (self._flat or header.cwd == clean(str(self._cwd))):
                return path
        raise UsageError(f"There is no session of {self._cwd} to continue; start one without --continue.")

    def find_path(self, wanted: str) -> Path:
        """The file of `find`, whoever has it open."""
        path = typed_path(wanted)
        if path.suffix == ".jsonl" or "/" in wanted:
            if not stat.S_ISREG(mode_of(path)):
                raise UsageError(f'There is no session file "{path}".')
            return path
        found = self._with_id(self.folder, wanted)
        if not found and not self._flat and self._root.is_dir():
            found = [
                path for folder in sorted(self._root.iterdir()) for path in self._with_id(folder, wanted)
            ]
        if not found:
            raise UsageError(
                f'No session has an id that begins with "{wanted}"; sessions are kept in {self._root}.'
            )
        if len(found) > 1:
            ids = ", ".join(path.stem.rpartition("_")[2] for path in found[:5])
            raise UsageError(
                f'{len(found)} sessions have an id that begins with "{wanted}": {ids}. Give more of it.'
            )
        return found[0]

    def _with_id(self, folder: Path, prefix: str) -> list[Path]:
        if not prefix:
            return []
        return [path for path in folder.glob("*.jsonl") if path.stem.rpartition("_")[2].startswith(prefix)]


def _written(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:  # gone meanwhile
        return 0


def _header(path: Path) -> SessionHeader | None:
    try:
        with path.open("rb") as file:
            return decode_header(file.readline())
    except (OSError, ValueError):
        return None
