"""The files a server has open, compared with the disk before each question."""

import asyncio
import time
from pathlib import Path
from typing import Any

from tau.backends.lsp.protocol import Diagnostic, LspError
from tau.base.sizes import MIB, format_bytes
from tau.base.text import NotText, decode

MAX_DOCUMENT_BYTES = 8 * MIB
MAX_OPEN = 100

Stamp = tuple[int, int, int, int]
CLOCK_NS = 20_000_000  # a second change within a tick of the file system's clock has the same time
UNSURE: Stamp = (0, 0, 0, 0)  # read it again


class Document:
    """An open file. `stamp` is its state on disk that `text` has, `changed_at` the change that sent it.

    `answered_at` is the change that `diagnostics` are about; they are current if that is the last one.
    """

    def __init__(self, path: Path, text: str, stamp: Stamp) -> None:
        self.path = path
        self.text = text
        self.stamp = stamp
        self.version = 1
        self.changed_at = 0
        self.answered_at = -1
        self.diagnostics: list[Diagnostic] = []
        self.raw: list[Any] = []
        self.published = asyncio.Event()
        self.lock = asyncio.Lock()

    def put(self, raw: list[object], diagnostics: list[Diagnostic]) -> None:
        self.raw, self.diagnostics = raw, diagnostics
        self.answered_at = self.changed_at
        self.published.set()


def stamp_of(path: Path) -> Stamp:
    """Raises OSError."""
    stat = path.stat()
    return stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino


def read_document(path: Path) -> tuple[str, Stamp]:
    """Read a file for a server. Raises LspError."""
    try:
        stamp = stamp_of(path)
        if not path.is_file():
            raise LspError(f"{path} is not a file")
        if stamp[2] > MAX_DOCUMENT_BYTES:
            raise LspError(f"{path} is too large for a language server ({format_bytes(stamp[2])})")
        if time.time_ns() - stamp[1] < CLOCK_NS:
            stamp = UNSURE
        return decode(path.read_bytes()).text, stamp
    except FileNotFoundError:
        raise LspError(f"there is no file {path}") from None
    except NotText as error:
        raise LspError(f"{path}: {error}") from None
    except OSError as error:
        raise LspError(f"{path} cannot be read: {error.strerror or error}") from None
