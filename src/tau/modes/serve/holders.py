"""Finds the process that is writing a session file."""

import os
from pathlib import Path

from tau.modes.serve.errors import SessionHolder

_LOCKS = Path("/proc/locks")


def find_holder(path: Path) -> SessionHolder | None:
    """None if no process writes it, or if the system does not say."""
    try:
        info = path.stat()
        lines = _LOCKS.read_text().splitlines()
    except OSError:
        return None
    place = f"{os.major(info.st_dev):02x}:{os.minor(info.st_dev):02x}:{info.st_ino}"
    for line in lines:  # "1: FLOCK ADVISORY WRITE 4711 08:01:1234 0 EOF"
        fields = line.split()
        if len(fields) > 5 and fields[1] == "FLOCK" and fields[3] == "WRITE" and fields[5] == place:
            pid = int(fields[4])
            return SessionHolder(pid if pid > 0 else None, _face(pid))
    return None


def _face(pid: int) -> str | None:
    """How the process talks to its user, from its command line."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        return None
    if "serve" in words or "acp" in words:
        return "serve" if "serve" in words else "acp"
    for at, word in enumerate(words):
        if word == "--mode" and at + 1 < len(words):
            return words[at + 1]
        if word.startswith("--mode="):
            return word.removeprefix("--mode=")
    printing = any(
        word == "--print" or (word[:1] == "-" and word[:2] != "--" and "p" in word) for word in words
    )
    return "print" if printing else "interactive"
