"""Random values and damage for lines that a hostile program might send."""

import json
import random
from typing import Any

VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**70, 1.5, "", "x", "\ud800", "a" * 5000, [], {}, [None], {"a": 1}),
    *("../..", "/", "/does/not/exist", "\0", [{"type": "text", "text": "hi"}], [{"type": "audio"}]),
    [{"type": "image", "data": "%", "mimeType": "image/png"}],
)


def encoded_line(message: dict[str, Any], rng: random.Random) -> bytes:
    """The message as a line, damaged in three of ten cases."""
    line = json.dumps(message).encode()
    if rng.random() < 0.3:
        at = rng.randrange(len(line))
        piece = rng.choice((b"", b"\0", b"\xff", b'"', b"{", b"[" * 2000, b"\r"))
        line = line[:at] + piece + line[at + rng.randint(0, 5) :]
    return line.replace(b"\n", b" ") + b"\n"
