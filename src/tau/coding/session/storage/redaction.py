"""Masks secrets in what earlier versions of tau, or tau before it knew a secret, wrote down.

The only place that rewrites session files, at the user's command. Files for undo stay as they are: undo must
restore every byte.
"""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from tau.base.files import try_lock, unlock, write_atomic
from tau.base.secrets import SecretMask
from tau.base.sizes import GIB, format_bytes

MAX_FILE_BYTES = GIB
_JOURNAL = "journal.log"
_HISTORY = "history"
_TEXTS = (".log", ".1", ".md", ".txt", ".torn", ".damaged")


class RedactionReport(Struct, frozen=True, rename="camel"):
    """`changed` files had secrets in `places`; `skipped` ones are too large, in use or not writable."""

    files: int
    changed: list[str]
    places: int
    skipped: list[str]


def redact_sessions(folders: list[Path], mask: SecretMask, *, dry_run: bool = False) -> RedactionReport:
    """Mask secrets in all session files, artifacts, drafts and logs below these folders."""
    files = 0
    changed: list[str] = []
    skipped: list[str] = []
    for path in (path for folder in folders for path in _files(folder)):
        redact = _redact_lines if path.name != _JOURNAL and _is_lines(path) else _redact_text
        redact = _redact_journal if path.name == _JOURNAL else redact
        files += 1
        try:
            if _rewrite(path, lambda data, redact=redact: redact(data, mask), dry_run=dry_run):  # type: ignore[misc]
                changed.append(str(path))
        except OSError as error:
            skipped.append(f"{path}: {error.strerror or error}")
    return RedactionReport(files, changed, mask.count, skipped)


def _files(folder: Path) -> Iterator[Path]:
    """Text that tau wrote itself; not the files that undo restores, nor images."""
    for place, folders, names in os.walk(folder):
        here = Path(place)
        folders[:] = [name for name in sorted(folders) if name != "local"]
        for name in sorted(names):
            path = here / name
            if here.name == _HISTORY and name != _JOURNAL:
                continue
            if _is_lines(path) or name.endswith(_TEXTS) or ".jsonl." in name:
                yield path


def _is_lines(path: Path) -> bool:
    return path.suffix in (".jsonl", ".json")


def _rewrite(path: Path, redact: Callable[[bytes], bytes], *, dry_run: bool) -> bool:
    with _locked(path) as fd:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE_BYTES:
            raise OSError(f"it is not a file of at most {format_bytes(MAX_FILE_BYTES)}")
        with open(fd, "rb", closefd=False) as file:
            data = file.read()
        redacted = redact(data)
        if redacted == data:
            return False
        if not dry_run:
            write_atomic(path, redacted, mode=stat.S_IMODE(status.st_mode))
            with suppress(OSError):  # the latest session stays the latest
                os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        return True


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        if not try_lock(fd):
            raise OSError("it is open in another tau")
        yield fd
        unlock(fd)
    finally:
        os.close(fd)


def _redact_lines(data: bytes, mask: SecretMask) -> bytes:
    return b"\n".join(_redact_line(line, mask) for line in data.split(b"\n"))


def _redact_line(line: bytes, mask: SecretMask) -> bytes:
    try:
        redacted = mask.mask_line(line) if line.strip() else line
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _redact_text(line, mask)
    if redacted is line or not line.startswith(b'{"type":"session",'):
        return redacted
    header, old = msgspec.json.decode(redacted), msgspec.json.decode(line)
    return msgspec.json.encode({**header, "cwd": old.get("cwd"), "id": old.get("id")})


def _redact_journal(data: bytes, mask: SecretMask) -> bytes:
    """Only prompts: the rest is paths and hashes, which undo needs."""
    return b"\n".join(
        _redact_line(line, mask) if b'"prompt":' in line else line for line in data.split(b"\n")
    )


def _redact_text(data: bytes, mask: SecretMask) -> bytes:
    text = data.decode("utf-8", "surrogateescape")
    masked = mask.mask(text)
    return data if masked == text else masked.encode("utf-8", "surrogateescape")
