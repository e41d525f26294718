"""The log file: details of errors beyond the one line on screen.

Nothing here raises or prints. Secrets are masked.
"""

import os
import traceback
from contextlib import suppress
from pathlib import Path

from tau.base.clock import iso, now_ms
from tau.base.files import make_private
from tau.base.late import late
from tau.base.sizes import KIB, MIB

secrets = late("tau.base.secrets")

MAX_BYTES = 2 * MIB
MAX_RECORD_BYTES = 64 * KIB
_CUT = b"\n    [cut: the record was longer than 64 KiB]\n"
_VISIBLE = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if code not in (9, 10)}
_folder: Path | None = None


def to(folder: Path | None) -> None:
    """Set the folder of `tau.log`; None (the default) disables logging."""
    global _folder
    _folder = folder


def error(message: str, exc: BaseException | None = None) -> None:
    _write("error", message, exc)


def warning(message: str, exc: BaseException | None = None) -> None:
    _write("warning", message, exc)


def info(message: str) -> None:
    """For what the user asked to see in the log."""
    _write("info", message, None)


def debug(message: str, exc: BaseException | None = None) -> None:
    """Written only when TAU_DEBUG is set."""
    if os.environ.get("TAU_DEBUG"):
        _write("debug", message, exc)


def _write(level: str, message: str, exc: BaseException | None) -> None:
    if _folder is None:
        return
    with suppress(Exception):
        _append(_folder, _record(level, message, exc))


def _record(level: str, message: str, exc: BaseException | None) -> bytes:
    text = f"{iso(now_ms())} {os.getpid()} {level} {message}"
    if exc is not None:
        text = f"{text}\n{''.join(traceback.format_exception(exc))}"
    lines = secrets.mask(text).rstrip().translate(_VISIBLE).split("\n")
    data = "\n    ".join(lines).encode("utf-8", "backslashreplace") + b"\n"
    return data if len(data) <= MAX_RECORD_BYTES else data[: MAX_RECORD_BYTES - len(_CUT)] + _CUT


def _append(folder: Path, record: bytes) -> None:
    # The file is opened for every record, so several processes agree on the current file.
    make_private(folder)
    path = folder / "tau.log"
    with suppress(FileNotFoundError):
        if path.stat().st_size + len(record) > MAX_BYTES:
            path.replace(folder / "tau.log.1")
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, record)
    finally:
        os.close(fd)
