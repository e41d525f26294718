"""Ends running commands when tau dies unexpectedly, as after kill -9, so that no orphan keeps running.

A small shell reads from a pipe whose other end only we hold. The kernel closes it however we die.
"""

import os
import re
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

# It reads which process groups start (+) and end (-), and finally ends the remaining ones as `kill` does.
# A command is announced by a variable of its environment before it starts, when its pid is not known yet; on
# Linux this finds its processes, even those that left the group. Folders are removed last. The loop is a
# grandchild: nobody has to wait for it, and Ctrl+C at the terminal does not reach it. Background jobs have no
# standard input, hence descriptor 3.
SCRIPT = """
cd /
exec 3<&0
trap '' HUP INT QUIT TERM
end() {
    signal=$1
    shift
    for mark; do
        case $mark in
            group*) kill -s $signal -- "-${mark#group}" ;;
            /*) [ $signal = KILL ] && rm -rf "$mark" ;;
            *) for place in $(grep -lsz "^$mark\\$" /proc/[0-9]*/environ); do
                place=${place%/environ}
                kill -s $signal "${place##*/}"
            done ;;
        esac
    done
}
{
    marks=' '
    while read -r sign mark; do
        case $sign in
            +) marks="$marks$mark " ;;
            -) case $marks in *" $mark "*) marks="${marks%% $mark *} ${marks#* $mark }" ;; esac ;;
        esac
    done
    set -- $marks
    [ $# = 0 ] && exit
    end TERM "$@"
    end CONT "$@"
    sleep 1
    end KILL "$@"
} <&3 &
"""


class OrphanGuard:
    """One shell for all commands of a runner; it exits with this object."""

    def __init__(self) -> None:
        reading, self._pipe = os.pipe()
        os.set_blocking(self._pipe, False)
        self._starting: subprocess.Popen[bytes] | None = None
        try:
            with suppress(OSError):  # without a guard, the command still runs
                self._starting = subprocess.Popen(
                    ["/bin/sh", "-c", SCRIPT],
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
