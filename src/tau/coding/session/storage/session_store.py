"""Creates, finds and opens the sessions of a working folder."""

import os
import stat
from contextlib import closing
from pathlib import Path

from tau.ai.normalization import clean
from tau.base.errors import UsageError
from tau.base.files import mode_of, modified_ns, typed_path
from tau.base.late import late
from tau.coding.session.storage.log import SessionLog
from tau.config.paths import folder_name

forks = late("tau.coding.session.storage.fork")
hashlib = late("hashlib")
headers = late("tau.coding.session.storage.header")

ELSEWHERE = "elsewhere"


class SessionStore:
    """One folder per working folder below `root`; with `flat`, all sessions in `root` itself."""

    def __init__(self, root: Path, cwd: Path, *, flat: bool = False, blobs: Path | None = None) -> None:
        self.root = root
        self.flat = flat
        self._blobs = blobs
        self._cwd = cwd
        self.folder = root if flat else root / folder_name(cwd)

    def new(self, parent: Path | None = None) -> SessionLog:
        return SessionLog.new(self.folder, self._cwd, blobs=self._blobs, parent=parent)

    def open(self, path: Path, *, read_only: bool = False) -> SessionLog:
        """Raises SessionLocked if another process has it open; then open it read-only, or fork it."""
        log = SessionLog.open(path, blobs=self._blobs, read_only=read_only)
        log.artifacts = self.artifacts_folder(path)
        return log

    def artifacts_folder(self, path: Path) -> Path:
        """The folder with the other files of a session: what undo restores, queued messages, artifacts.

        Beside a file that is not in the store, say in a repository, others may have put one that makes undo
        write what they want. Such a session has its folder in the store.
        """
        real = os.path.realpath(path)
        if Path(real).is_relative_to(os.path.realpath(self.root)):
            return path.with_suffix("")
        return self.root / ELSEWHERE / hashlib.sha256(os.fsencode(real)).hexdigest()[:16]

    def fork(self, source: SessionLog | Path, *, leaf: str | None = None) -> SessionLog:
        """Copy a session into this working folder; with `leaf`, only the branch up to it."""
        if isinstance(source, SessionLog):
            return forks.fork(source, self.folder, self._cwd, leaf=leaf, blobs=self._blobs)
        with closing(self.open(source, read_only=True)) as log:
            return forks.fork(log, self.folder, self._cwd, leaf=leaf, blobs=self._blobs)

    def recent(self) -> SessionLog:
        """The session of this working folder that was written to last."""
        return self.open(self.recent_path())

    def find(self, wanted: str) -> SessionLog:
        """Find by path, id or id prefix; this working folder's sessions first."""
        return self.open(self.find_path(wanted))

    def recent_path(self) -> Path:
        """The file of `recent`, even if it is open elsewhere."""
        for path in sorted(self.folder.glob("*.jsonl"), key=modified_ns, reverse=True):
            header = headers.read_header(path)
            # Two folders can share a name here: `/a/b` and `/a-b`.
            if header is not None and (self.flat or header.cwd == clean(str(self._cwd))):
                return path
        raise UsageError(f"There is no session of {self._cwd} yet; run tau there to start one.")

    def find_path(self, wanted: str) -> Path:
        """The file of `find`, even if it is open elsewhere."""
        path = typed_path(wanted)
        if path.suffix == ".jsonl" or "/" in wanted:
            if not stat.S_ISREG(mode_of(path)):
                raise UsageError(f'There is no session file "{path}".')
            return path
        found = self._with_id(self.folder, wanted)
        if not found and not self.flat and self.root.is_dir():
            found = [path for folder in sorted(self.root.iterdir()) for path in self._with_id(folder, wanted)]
        if not found:
            raise UsageError(
                f'No session has an id that starts with "{wanted}"; sessions are stored in {self.root}.'
            )
        if len(found) > 1:
            ids = ", ".join(path.stem.rpartition("_")[2] for path in found[:5])
            raise UsageError(
                f'{len(found)} sessions have an id that starts with "{wanted}": {ids}. Use a longer prefix.'
            )
        return found[0]

    def _with_id(self, folder: Path, prefix: str) -> list[Path]:
        if not prefix:
            return []
        return [path for path in folder.glob("*.jsonl") if path.stem.rpartition("_")[2].startswith(prefix)]
