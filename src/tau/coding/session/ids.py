"""Names for sessions and entries."""

import os
import time
from collections.abc import Container
from pathlib import Path


def new_session_id() -> str:
    """A version 7 UUID: sorts by time, without the uuid module's import."""
    stamp = (time.time_ns() // 1_000_000).to_bytes(6, "big")
    noise = bytearray(os.urandom(10))
    noise[0] = 0x70 | noise[0] & 0x0F
    noise[2] = 0x80 | noise[2] & 0x3F
    text = (stamp + noise).hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def new_entry_id(taken: Container[str]) -> str:
    """Eight hex digits that no other entry of the session has."""
    while True:
        id = os.urandom(4).hex()
        if id not in taken:
            return id


def folder_name(cwd: Path) -> str:
    """The folder that holds the sessions of a working directory: `/home/me/x` gives `--home-me-x--`."""
    text = str(cwd)
    for separator in ("/", "\\", ":"):
        text = text.lstrip(separator).replace(separator, "-")
    return f"--{text}--"


def file_name(timestamp: str, id: str) -> str:
    return f"{timestamp.replace(':', '-').replace('.', '-')}_{id}.jsonl"
