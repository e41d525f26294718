"""A session as one JSON document with its images and usage, or as the JSON lines that pi reads."""

from collections.abc import Iterator

import msgspec

from tau.coding.export.exported_session import ExportedSession
from tau.coding.session import entries as s
from tau.coding.session.context import EntryNode
from tau.coding.session.stats import UsageStats
from tau.coding.session.storage.blobs import Blobs
from tau.coding.session.storage.log import SessionLog

MARK = b'{"header":{"type":"session"'


def json_document(session: ExportedSession, stats: UsageStats) -> Iterator[bytes]:
    """The document in chunks, one entry per line; unknown entries are unchanged."""
    yield b'{"header":' + _masked(session, s.encode(session.log.header)) + b',\n"entries":['
    separator = b"\n"
    for node in session.log.nodes():
        value = session.value(node)
        if value is None:
            continue
        if session.masker is not None:
            value = session.masker.mask_value(value)
        yield separator + msgspec.json.encode(value)
        separator = b",\n"
    usage = {"session": stats.summary(), "models": stats.models, "turns": stats.turns}
    yield b'],\n"usage":' + msgspec.json.encode(usage) + b"}\n"


def pi_document(session: ExportedSession) -> Iterator[bytes]:
    """A session file for pi."""
    for line in pi_lines(session.log):
        yield _masked(session, line) + b"\n"


def pi_lines(log: SessionLog) -> Iterator[bytes]:
    """Lines without newlines, with large images inlined; entries unknown to pi stay as they are."""
    yield s.encode(log.header)
    blobs = Blobs(log.blobs)
    for node in log.nodes():
        yield _pi_line(node, blobs.inline(log.line(node), log.warn))


def _pi_line(node: EntryNode, line: bytes) -> bytes:
    """Translate omp's model changes; pi would take the model of another role for the conversation's."""
    if node.type != "model_change":
        return line
    change: dict[str, object] = msgspec.json.decode(line)
    model, role = change.get("model"), change.get("role", "default")
    if "modelId" in change or not isinstance(model, str):
        return line
    if role != "default":
        return msgspec.json.encode(
            {**change, "type": "custom", "customType": "model_change", "data": {"model": model, "role": role}}
        )
    provider, _, id = model.partition("/")
    return msgspec.json.encode({**change, "provider": provider, "modelId": id})


def _masked(session: ExportedSession, line: bytes) -> bytes:
    if session.masker is None:
        return line
    value: object = msgspec.json.decode(line)
    return msgspec.json.encode(session.masker.mask_value(value))
