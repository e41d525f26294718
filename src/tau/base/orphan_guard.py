"""Ends running commands when tau dies unexpectedly, as after kill -9, so no orphan keeps running.

A small shell waits at a pipe whose other end only we hold. The kernel closes it with us, however we end.
"""

import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path

# It reads which process groups start (+) and end (-), and ends the remaining ones the way `kill` does.
# A command is announced by a variable of its environment before it starts, when its number is not known yet:
# on Linux its processes are found by that, also those that left the group. A folder is removed at the end.
# The loop is a grandchild: nobody has to wait for it, and a Ctrl+C at the terminal does not reach it. Work in
# the background has no standard input, hence number 3.
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
    """One shell for all commands of a runner; it ends with this object."""

    def __init__(self) -> None:
        reading, self._pipe = os.pipe()
        os.set_blocking(self._pipe, False)
        try:
            with suppress(OSError):  # cannot start a shell: the command matters more
                subprocess.run(
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
        self._tell(f"+ {name}={value}\n")

    def watch(self, group: int) -> None:
        """The same for a process group."""
        self._tell(f"+ group{group}\n")

    def forget(self, name: str, value: str, group: int | None = None) -> None:
        self._tell(f"- {name}={value}\n" + (f"- group{group}\n" if group is not None else ""))

    def keep_tidy(self, folder: Path) -> None:
        """Remove this folder if we are gone before `tidied`."""
        if _is_plain(folder):
            self._tell(f"+ {folder}\n")

    def tidied(self, folder: Path) -> None:
        if _is_plain(folder):
            self._tell(f"- {folder}\n")

    def _tell(self, line: str) -> None:
        with suppress(OSError):
            os.write(self._pipe, line.encode())

    def __del__(self) -> None:
        os.close(self._pipe)


def _is_plain(folder: Path) -> bool:
    """Whether a shell that splits a list at blanks reads this name as one word."""
    return re.fullmatch(r"/[\w./+-]+", str(folder), re.ASCII) is not None
