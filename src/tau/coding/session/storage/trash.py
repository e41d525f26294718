"""The trash: deleted sessions with their artifacts, which can be restored for a while."""

import os
from contextlib import suppress
from errno import EXDEV
from pathlib import Path

import msgspec
from msgspec import Struct

from tau.base import log
from tau.base.clock import now_ms
from tau.base.errors import SessionError
from tau.base.files import make_private, sync_folder, try_lock, write_atomic
from tau.base.late import late
from tau.coding.session.storage.line_storage import SessionLocked

shutil = late("shutil")

FOLDER_NAME = "trash"
KEPT_DAYS = 30
_NOTE = "origin.json"
_DAY_MS = 24 * 3600 * 1000


class TrashedSession(Struct, frozen=True, rename="camel"):
    """A session in the trash. `folder` holds it; `path` is where its file was."""

    path: str
    deleted_ms: int
    title: str = ""
    folder: str = ""

    @property
    def id(self) -> str:
        return Path(self.path).stem.rpartition("_")[2]

    @property
    def days_left(self) -> int:
        return max(0, KEPT_DAYS - (now_ms() - self.deleted_ms) // _DAY_MS)


class Trash:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, session: Path, title: str = "") -> TrashedSession:
        """Move a session to the trash, with its artifacts and related files.

        Raises SessionLocked if another process is writing it. Deletes sessions older than `KEPT_DAYS`.
        """
        session = session.absolute()
        try:
            fd = os.open(session, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise SessionError(f"{session} cannot be deleted: {error.strerror}.") from error
        try:
            if not try_lock(fd):
                raise SessionLocked(f"{session} is open in another tau; close it there first.")
            self._expire()
            place = self._new_folder(session.stem)
            note = TrashedSession(str(session), now_ms(), title, str(place))
            self._move(session, place, note)
            return note
        except OSError as error:
            raise SessionError(f"{session} cannot be deleted: {error.strerror or error}.") from error
        finally:
            os.close(fd)

    def content(self) -> list[TrashedSession]:
        """The sessions in the trash, latest first. Folders without a readable note are skipped."""
        found = []
        with suppress(FileNotFoundError):
            for place in self.folder.iterdir():
                try:
                    note = msgspec.json.decode((place / _NOTE).read_bytes(), type=TrashedSession)
                except (OSError, ValueError):
                    continue
                found.append(msgspec.structs.replace(note, folder=str(place)))
        return sorted(found, key=lambda session: (session.deleted_ms, session.path), reverse=True)

    def restore(self, trashed: TrashedSession) -> Path:
        """Move a session back; returns its path."""
        place, target = Path(trashed.folder), Path(trashed.path)
        names = [path for path in place.iterdir() if path.name != _NOTE]
        for path in names:
            if os.path.lexists(target.parent / path.name):
                raise SessionError(f"{target.parent / path.name} already exists; move it away first.")
        try:
            make_private(target.parent)
            # The session file last, so that there is never a session without its artifacts.
            for path in sorted(names, key=lambda path: path.name == target.name):
                _rename(path, target.parent / path.name)
            sync_folder(target.parent)
            shutil.rmtree(place)
        except OSError as error:
            raise SessionError(
                f"{target} cannot be restored: {error.strerror or error}. It is in {place}."
            ) from error
        return target

    def _new_folder(self, stem: str) -> Path:
        make_private(self.folder)
        place, number = self.folder / stem, 1
        while True:
            try:
                place.mkdir(mode=0o700)
            except FileExistsError:
                number += 1
                place = self.folder / f"{stem}.{number}"
            else:
                return place

    def _move(self, session: Path, place: Path, note: TrashedSession) -> None:
        moved: list[Path] = []
        try:
            write_atomic(place / _NOTE, msgspec.json.encode(note), mode=0o600)
            for path in _files_of(session):
                _rename(path, place / path.name)
                moved.append(path)
        except OSError:
            for path in reversed(moved):
                with suppress(OSError):
                    _rename(place / path.name, path)
            with suppress(OSError):
                (place / _NOTE).unlink()
                place.rmdir()
            raise
        sync_folder(place)
        sync_folder(session.parent)

    def _expire(self) -> None:
        for session in self.content():
            if not session.days_left:
                try:
                    shutil.rmtree(session.folder)
                except OSError as error:
                    log.warning(f"{session.folder} has expired but cannot be deleted.", error)


def _files_of(session: Path) -> list[Path]:
    """The file itself first, then its artifacts and backups (`.torn`, `.bak`)."""
    beside = sorted(path for path in session.parent.iterdir() if path.name.startswith(f"{session.name}."))
    artifacts = session.with_suffix("")
    return [session, *beside, *([artifacts] if artifacts.is_dir() else [])]


def _rename(source: Path, target: Path) -> None:
    """Rename; to another disk, copy and then delete the source."""
    try:
        source.rename(target)
    except OSError as error:
        if error.errno != EXDEV:
            raise
        shutil.move(source, target)
