"""A session as pi reads it: the same lines, with large images in them again."""

from collections.abc import Iterator
from typing import Any

import msgspec

from tau.coding.session import entries as s
from tau.coding.session.context import EntryNode
from tau.coding.session.storage.blobs import Blobs
from tau.coding.session.storage.log import SessionLog


def pi_lines(log: SessionLog) -> Iterator[bytes]:
    """The lines without their newlines; entries that pi does not know are left as they are."""
    yield s.encode(log.header)
    blobs = Blobs(log.blobs)
    for node in log.nodes():
        yield _known_to_pi(node, blobs.inlined(log.line(node), log.warn))


def _known_to_pi(node: EntryNode, line: bytes) -> bytes:
    """omp names models in another way; a model that is not the conversation's would be taken for it by pi."""
    if node.type != "model_change":
        return line
    change: dict[str, Any] = msgspec.json.decode(line)
    model, role = change.get("model"), change.get("role", "default")
    if "modelId" in change or not isinstance(model, str):
        return line
    if role != "default":
        return msgspec.json.encode(
            {**change, "type": "custom", "customType": "model_change", "data": {"model": model, "role": role}}
        )
    provider, _, id = model.partition("/")
    return msgspec.json.encode({**change, "provider": provider, "modelId": id})
