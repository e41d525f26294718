"""Ids and file names of sessions and entries."""

import os
from collections.abc import Container
from pathlib import Path

from tau.base.clock import now_ms
from tau.base.late import late

hashlib = late("hashlib")

MAX_NAME_BYTES = 240  # of a file name: common file systems allow up to 255
SHOWN_CHARS = 50


def new_session_id() -> str:
    """A version 7 UUID, which sorts by time, without importing the uuid module."""
    stamp = now_ms().to_bytes(6, "big")
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
    """The folder that holds the sessions of a working folder: `/home/me/x` gives `--home-me-x--`."""
    text = str(cwd)
    for separator in ("/", "\\", ":"):
        text = text.lstrip(separator).replace(separator, "-")
    if len(os.fsencode(text)) > MAX_NAME_BYTES:
        digest = hashlib.sha256(os.fsencode(str(cwd))).hexdigest()
        text = f"{digest[:16]}-{text[-SHOWN_CHARS:]}"
    return f"--{text}--"


def file_name(timestamp: str, id: str) -> str:
    return f"{timestamp.replace(':', '-').replace('.', '-')}_{id}.jsonl"
