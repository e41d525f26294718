"""Unbuffered output that notices once when its reader is gone."""

import os
import select
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

from tau.base import secrets
from tau.base.errors import TauError
from tau.base.files import OwnStdout
from tau.base.text import plain

PIECES_AT_ONCE = 512  # systems take at most 1,024


class OutputStream:
    """A descriptor to write to, usually stdout. Once the reader is gone, `gone` is set; writes do nothing."""

    def __init__(self, fd: int | None = None) -> None:
        self.fd = fd = OwnStdout.fd if fd is None else fd
        self.gone = False
        self.is_terminal = os.isatty(fd)

    def text(self, text: str) -> None:
        """Write untrusted text, without terminal control sequences."""
        self.write((plain(text) if self.is_terminal else text).encode("utf-8", "replace"))

    def write(self, data: bytes) -> None:
        """Write all of it, waiting for a slow reader. Raises TauError on failure, such as a full disk."""
        self.write_all((data,))

    def write_all(self, pieces: Sequence[bytes]) -> None:
        """Write them without joining them: copying long ones takes longer than writing them."""
        rest: list[bytes | memoryview] = list(pieces)
        at = 0
        while at < len(rest) and not self.gone:
            try:
                some = rest[at : at + PIECES_AT_ONCE]
                written = os.writev(self.fd, some)
                if written == sum(map(len, some)):
                    at += len(some)
                    continue
                while written >= len(rest[at]):
                    written -= len(rest[at])
                    at += 1
                rest[at] = memoryview(rest[at])[written:]
            except BlockingIOError:  # another program made the shared pipe non-blocking
                select.select((), (self.fd,), ())
            except (BrokenPipeError, ConnectionResetError):
                self.gone = True
            except OSError as error:
                raise TauError(f"Cannot write output: {error.strerror}.") from error


def tell(message: str) -> None:
    """Write one line to stderr; failures must not stop the work."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"tau: {plain(secrets.mask(message))}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        silence(sys.stderr)


def silence(stream: TextIO) -> None:
    """Discard what is left in the buffer of a closed pipe, without an error at exit."""
    with suppress(OSError, ValueError):  # closed, or not a real stream
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
