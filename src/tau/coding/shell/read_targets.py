"""The files that well-known programs read, and the servers they connect to, by their words and exit codes."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from tau.coding.shell.plain_commands import PlainCommand

LISTING = "ls"
# Programs that open every file that is named, and the options that change nothing about it.
_READERS = {
    "cat": r"-[AbeEnstTuv]+",
    "head": r"-\d+|-[nc]\d+",
    "tail": r"-\d+|-[nc]\d+",
    "wc": r"-[clmwL]+",
    "base64": r"-w0",
    "md5sum": r"(?!)",
    "sha256sum": r"(?!)",
    LISTING: r"-[1aAlhrRt]+",
}
_CLIENTS = {"curl": (6, 7), "wget": (4,)}  # how they say that they reach no server
_PORTS = {"http": 80, "https": 443}


def find_reads(command: PlainCommand) -> Iterator[Path]:
    """The files that a command surely tries to read."""
    options = _READERS.get(command.name)
    words = command.words[1:]
    if options is None or any(word[:1] == "-" and not re.fullmatch(options, word) for word in words):
        return
    for word in words:
        if word[:1] != "-":
            yield command.path(word)


def find_address(command: PlainCommand, code: int | None) -> str:
    """HOST:PORT that a failed command surely tried to reach, if it names one."""
    if code not in _CLIENTS.get(command.name, ()):
        return ""
    found = [urlsplit(word) for word in command.words[1:] if word.startswith(("http://", "https://"))]
    if len(found) != 1 or not found[0].hostname:
        return ""
    try:
        return f"{found[0].hostname}:{found[0].port or _PORTS[found[0].scheme]}"
    except ValueError:
        return ""
