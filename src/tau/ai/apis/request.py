"""What the dialects share when they send: the bytes of a body, and headers that a user may overrule."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tau.ai.dialect import Endpoint, Request
from tau.ai.model import Model
from tau.ai.normalization import cleaned
from tau.ai.transport import Response
from tau.ai.wire import ImageContent, TextContent, ThinkingContent

BYTES_PER_TOKEN = 3  # fewer than there are, so that the guess errs on the safe side
IMAGE_TOKENS = 1600
MIN_ANSWER_TOKENS = 4096

_encode = msgspec.json.Encoder().encode


def encode(body: dict[str, Any]) -> bytes:
    """The body as JSON, its fields in the order given: servers cache what two requests begin with."""
    try:
        return _encode(body)
    except UnicodeEncodeError:
        return _encode(cleaned(msgspec.to_builtins(body)))


def room(model: Model, request: Request, wanted: int) -> int:
    """How long the answer may become: as wanted, as the model can, and no longer than the window still holds.

    Many servers refuse a request whose prompt and answer together would not fit.
    """
    most = min(wanted, model.max_tokens)
    left = model.context_window - _prompt_tokens(request)
    return min(most, max(left, MIN_ANSWER_TOKENS))


def _prompt_tokens(request: Request) -> int:
    """A guess, rather too high than too low."""
    images = 0
    size = _bytes(request.system) + sum(len(_encode(tool)) for tool in request.tools)
    for message in request.messages:
        for part in [message.content] if isinstance(message.content, str) else message.content:
            match part:
                case str():
                    size += _bytes(part)
                case TextContent():
                    size += _bytes(part.text)
                case ThinkingContent():
                    size += _bytes(part.thinking)
                case ImageContent():
                    images += 1
                case _:
                    size += len(_encode(part.arguments))
    return size // BYTES_PER_TOKEN + images * IMAGE_TOKENS


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def headers(endpoint: Endpoint, ours: Mapping[str, str]) -> dict[str, str]:
    """Our headers and those of the endpoint, which win. Names are in lower case."""
    theirs = {name.lower(): value for name, value in endpoint.headers.items()}
    return {"content-type": "application/json", "accept": "text/event-stream", **ours, **theirs}


def is_stream(response: Response) -> bool:
    """Whether events follow. Not after an error, nor after a whole document, such as a web page."""
    kind = response.headers.get("content-type", "")
    return response.status < 300 and not kind.startswith(("text/html", "application/json"))
