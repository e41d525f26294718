"""What the dialects share when they send: the bytes of a body, and headers that a user may overrule."""

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from tau.ai.dialect import Endpoint
from tau.ai.history import cleaned
from tau.ai.transport import Response

_encode = msgspec.json.Encoder().encode


def encode(body: dict[str, Any]) -> bytes:
    """The body as JSON, its fields in the order given: servers cache what two requests begin with."""
    try:
        return _encode(body)
    except UnicodeEncodeError:
        return _encode(cleaned(body))


def headers(endpoint: Endpoint, ours: Mapping[str, str]) -> dict[str, str]:
    """Our headers and those of the endpoint, which win. Names are in lower case."""
    theirs = {name.lower(): value for name, value in endpoint.headers.items()}
    return {"content-type": "application/json", "accept": "text/event-stream", **ours, **theirs}


def is_stream(response: Response) -> bool:
    """Whether events follow. Not after an error, nor after a whole document, such as a web page."""
    kind = response.headers.get("content-type", "")
    return response.status < 300 and not kind.startswith(("text/html", "application/json"))


def new_call_id() -> str:
    """For a server that gives a call no id; results find their call by it."""
    return f"call_{os.urandom(10).hex()}"
