"""A program for child processes: `rewriter.py rewrite PATH`, `append PATH` or `count PATH TIMES`."""

import sys
from pathlib import Path

from tau.base.files import locked, write_atomic
from tau.base.jsonl import JsonlFile

SIZE = 20_000


def version(number: int) -> bytes:
    """Content that reveals whether any part is missing or from another version."""
    return (f"{number:08d}\n" * (SIZE // 9)).encode()


def rewrite(path: Path) -> None:
    number = 0
    while True:
        number += 1
        write_atomic(path, version(number))


def append(path: Path) -> None:
    """Print the number of each record once it is in the log."""
    log = JsonlFile(path)
    number = 0
    while True:
        number += 1
        log.append(b'{"n":%d,"fill":"%s"}' % (number, b"x" * 9000))
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


def count(path: Path, times: int) -> None:
    for _ in range(times):
        with locked(path, timeout_s=120):
            write_atomic(path, str(int(path.read_bytes()) + 1).encode())


if __name__ == "__main__":
    if sys.argv[1] == "rewrite":
        rewrite(Path(sys.argv[2]))
    elif sys.argv[1] == "append":
        append(Path(sys.argv[2]))
    else:
        count(Path(sys.argv[2]), int(sys.argv[3]))
