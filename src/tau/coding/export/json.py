"""A session as one plain JSON document: its header, all entries with their images, and what it has used."""

from collections.abc import Iterator
from typing import Any

import msgspec

from tau.coding.export.branches import ExportedSession
from tau.coding.session import entries as s
from tau.coding.session.export_pi import pi_lines
from tau.coding.session.stats import UsageStats

MARK = b'{"header":{"type":"session"'


def json_document(story: ExportedSession, stats: UsageStats) -> Iterator[bytes]:
    """The document in pieces, one entry a line; entries that we do not know are in it as they are."""
    yield b'{"header":' + _masked(story, s.encode(story.log.header)) + b',\n"entries":['
    separator = b"\n"
    for node in story.log.nodes():
        value = story.value(node)
        if value is None:
            continue
        if story.masker is not None:
            value = story.masker.value(value)
        yield separator + msgspec.json.encode(value)
        separator = b",\n"
    usage = {"session": stats.summary(), "models": stats.models, "turns": stats.turns}
    yield b'],\n"usage":' + msgspec.json.encode(usage) + b"}\n"


def pi_document(story: ExportedSession) -> Iterator[bytes]:
    """The lines of a session file as pi reads it."""
    for line in pi_lines(story.log):
        yield _masked(story, line) + b"\n"


def _masked(story: ExportedSession, line: bytes) -> bytes:
    if story.masker is None:
        return line
    value: Any = msgspec.json.decode(line)
    return msgspec.json.encode(story.masker.value(value))
