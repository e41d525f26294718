"""Where a face writes: every byte goes out at once, and a reader that has gone away is noticed once."""

import os
import select
import sys
from contextlib import suppress
from typing import TextIO

from tau.base.errors import TauError
from tau.base.text import plain

STDOUT = 1


class OutputStream:
    """An open file descriptor to write to. After the reader left, `gone` is set and writing does nothing."""

    def __init__(self, fd: int = STDOUT) -> None:
        self.fd = fd
        self.gone = False
        self.is_terminal = os.isatty(fd)

    def text(self, text: str) -> None:
        """Text of unknown origin: what could drive a terminal does not reach one."""
        self.write((plain(text) if self.is_terminal else text).encode("utf-8", "replace"))

    def write(self, data: bytes) -> None:
        """All of it, waiting for a slow reader. Raises TauError if that is impossible, as on a full disk."""
        rest = memoryview(data)
        while rest and not self.gone:
            try:
                rest = rest[os.write(self.fd, rest) :]
            except BlockingIOError:  # another program made the shared pipe non-blocking
                select.select((), (self.fd,), ())
            except (BrokenPipeError, ConnectionResetError):
                self.gone = True
            except OSError as error:
                raise TauError(f"The output cannot be written: {error.strerror}.") from error


def tell(message: str) -> None:
    """One line on stderr. That nobody can read it must not stop the work."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"tau: {plain(message)}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        silence(sys.stderr)


def silence(stream: TextIO) -> None:
    """Nobody reads it any more: what is left in its buffer goes nowhere, without a complaint at exit."""
    with suppress(OSError, ValueError):  # it is closed, or no real stream
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
