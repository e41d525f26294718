"""Copies a session into a new file, with its artifacts."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import UNSET

from tau.base.errors import SessionError
from tau.base.files import make_private, sync_file, sync_folder, write_all
from tau.base.late import late
from tau.base.sizes import KIB
from tau.coding.session import entries as s
from tau.coding.session.context import EntryNode
from tau.coding.session.queue_file import FILE_NAME
from tau.coding.session.storage.log import SessionLog

shutil = late("shutil")

_WRITE_BYTES = 256 * KIB


def fork(
    source: SessionLog | Path, folder: Path, cwd: Path, *, leaf: str | None = None, blobs: Path | None = None
) -> SessionLog:
    """Create a session in `folder` with the source's entries, byte for byte, and lock it for writing.

    With `leaf`, copy only the branch that ends there, with its labels. The source may be open in another
    process. Large images are shared, in `blobs` or where the source has them.
    """
    if isinstance(source, SessionLog):
        return _fork(source, folder, cwd, leaf, blobs or source.blobs)
    log = SessionLog.open(source, blobs=blobs, read_only=True)
    try:
        return _fork(log, folder, cwd, leaf, blobs)
    finally:
        log.close()


def _fork(source: SessionLog, folder: Path, cwd: Path, leaf: str | None, blobs: Path | None) -> SessionLog:
    if leaf is not None and leaf not in source:
        raise SessionError(f"The session has no entry {leaf}.")
    nodes = list(source.nodes()) if leaf is None else source.branch(leaf)
    new = SessionLog.new(folder, cwd, parent=source.path, title=source.header.title or None)
    path = new.path
    assert path is not None
    try:
        _copy_artifacts(source.artifacts_folder, path.with_suffix(""))
        _write(path, _lines(new.header, source, nodes))
    except OSError as error:
        with suppress(OSError):
            shutil.rmtree(path.with_suffix(""))
        raise SessionError(
            f"The session cannot be forked to {path}: {error.strerror or error}. The original is unchanged."
        ) from error
    log = SessionLog.open(path, blobs=blobs)
    if leaf is None:
        log.move(source.leaf)
    else:
        _copy_labels_and_name(source, log)
    return log


def _lines(header: s.SessionHeader, source: SessionLog, nodes: Sequence[EntryNode]) -> Iterator[bytes]:
    yield s.encode(header)
    for node in nodes:
        yield source.line(node)


def _write(path: Path, lines: Iterator[bytes]) -> None:
    """Write under a temporary name first, so that a partial copy is never taken for a session."""
    make_private(path.parent)
    part = path.with_name(path.name + ".part")
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            buffer = bytearray()
            for line in lines:
                buffer += line
                buffer += b"\n"
                if len(buffer) >= _WRITE_BYTES:
                    write_all(fd, bytes(buffer))
                    buffer.clear()
            write_all(fd, bytes(buffer))
            sync_file(fd)
        finally:
            os.close(fd)
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
    sync_folder(path.parent)


def _copy_artifacts(source: Path | None, target: Path) -> None:
    if source is not None and source.is_dir():
        make_private(target.parent)
        try:
            shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns(f"{FILE_NAME}*"))
        except shutil.Error as error:  # a list of what could not be copied
            name, _, reason = error.args[0][0]
            raise OSError(None, f"{name} cannot be copied: {reason}") from error


def _copy_labels_and_name(source: SessionLog, log: SessionLog) -> None:
    """Copy the labels of the copied entries, and the name, if they were set elsewhere in the tree."""
    source_labels, copied_labels = _labels(source), _labels(log)
    for target, label in source_labels.items():
        if target in log and label != copied_labels.get(target):
            log.append(s.LabelEntry(target_id=target, label=label or UNSET))
    if source.name and source.name != log.name:
        log.append(s.SessionInfo(name=source.name))


def _labels(log: SessionLog) -> dict[str, str | None]:
    labels: dict[str, str | None] = {}
    for node in log.nodes():
        if node.type == "label" and isinstance(entry := log.decode(node), s.LabelEntry):
            labels[entry.target_id] = entry.label or None
    return labels
