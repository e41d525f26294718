"""Ends running commands when tau dies unexpectedly, as after kill -9, so that no orphan keeps running.

A small shell reads from a pipe whose other end only we hold. The kernel closes it however we die.
"""

import os
import re
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_SCRIPT = Path(__file__).with_name("orphan_guard.sh")


class OrphanGuard:
    """One shell for all commands of a runner; it exits with this object."""

    def __init__(self) -> None:
        reading, self._pipe = os.pipe()
        os.set_blocking(self._pipe, False)
        self._starting: subprocess.Popen[bytes] | None = None
        try:
            with suppress(OSError):  # without a guard, the command still runs
                self._starting = subprocess.Popen(
                    ["/bin/sh", "-c", _SCRIPT.read_text(encoding="utf-8")],
                    stdin=reading,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={"PATH": os.defpath},
                    start_new_session=True,
                )
        finally:
            os.close(reading)

    def announce(self, name: str, value: str) -> None:
        """End processes with this environment variable if we die before `forget`."""
        self._wait()
        self._send(f"+ {name}={value}\n")

    def watch(self, group: int) -> None:
        """Do the same for a process group."""
        self._send(f"+ group{group}\n")

    def forget(self, name: str, value: str, group: int | None = None) -> None:
        self._send(f"- {name}={value}\n" + (f"- group{group}\n" if group is not None else ""))

    def add_folder(self, folder: Path) -> None:
        """Remove this folder if we die before `forget_folder`."""
        self._send_folder("+", folder)

    def forget_folder(self, folder: Path) -> None:
        self._send_folder("-", folder)

    def _send_folder(self, sign: str, folder: Path) -> None:
        if _is_plain(folder):
            self._send(f"{sign} {folder}\n")

    def _send(self, line: str) -> None:
        with suppress(OSError):
            os.write(self._pipe, line.encode())

    def _wait(self) -> None:
        """Wait until the loop runs on its own; what happened since the start ran beside it."""
        starting, self._starting = self._starting, None
        if starting is not None:
            starting.wait()

    def __del__(self, _close: Callable[[int], None] = os.close) -> None:
        _close(self._pipe)  # at the very end of the interpreter, the module `os` is gone
        self._wait()


def _is_plain(folder: Path) -> bool:
    """Whether the shell reads this name as one word, without quotes."""
    return re.fullmatch(r"/[\w./+-]+", str(folder), re.ASCII) is not None
