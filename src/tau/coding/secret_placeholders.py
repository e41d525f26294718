"""Replaces secrets by placeholders in requests and puts them back in answers."""

import hashlib
import os
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing

from msgspec import json
from msgspec.structs import replace

from tau.agent.loop_owner import StreamFunction
from tau.ai import dialect as d
from tau.ai.dialect import Delta, Request
from tau.ai.model import Model
from tau.ai.wire import Message, TextContent, ToolCall
from tau.base.secrets import KnownSecrets, SecretMask

NOTE = "\nTexts such as #SECRET-...# represent values you cannot see. Use them unchanged where needed."

_FORM = re.compile(r"#SECRET-[0-9A-F]{8}#")
_START = "#SECRET-"
_CHARS = len(_START) + 9


class SecretPlaceholders(SecretMask):
    """Masks with placeholders that stay the same for a secret, and knows what they are for."""

    def __init__(self, known: KnownSecrets) -> None:
        super().__init__(known.values, known.patterns)
        self._salt = os.urandom(16)
        self._secrets: dict[str, str] = {}

    def mark(self, secret: str, name: str) -> str:
        digest = hashlib.blake2b(secret.encode("utf-8", "replace"), key=self._salt, digest_size=4)
        placeholder = f"{_START}{digest.hexdigest().upper()}#"
        self._secrets[placeholder] = secret
        return placeholder

    def restore(self, text: str) -> str:
        return _FORM.sub(lambda match: self._secrets.get(match[0], match[0]), text)

    def restore_json(self, text: str) -> str:
        """Do the same inside a string of JSON."""
        return _FORM.sub(
            lambda match: json.encode(self._secrets.get(match[0], match[0])).decode()[1:-1], text
        )


def obfuscated(stream: StreamFunction, known: KnownSecrets) -> StreamFunction:
    """The same connection to models, without secrets in what is sent."""
    placeholders = SecretPlaceholders(known)

    async def sent(model: Model, request: Request) -> AsyncGenerator[Delta, None]:
        hidden = _hide(request, placeholders)
        restorer = _Restorer(placeholders)
        async with aclosing(stream(model, hidden)) as deltas:
            async for delta in deltas:
                for restored in restorer.feed(delta):
                    yield restored

    return sent


def _hide(request: Request, placeholders: SecretPlaceholders) -> Request:
    system = placeholders.mask(request.system)
    messages = [_hide_message(message, placeholders) for message in request.messages]
    note = NOTE if (system, messages) != (request.system, request.messages) else ""
    return replace(request, system=system + note, messages=messages)


def _hide_message(message: Message, placeholders: SecretPlaceholders) -> Message:
    if isinstance(message.content, str):
        return replace(message, content=placeholders.mask(message.content))
    content: list[object] = []
    for part in message.content:
        if isinstance(part, TextContent):
            content.append(replace(part, text=placeholders.mask(part.text)))
        elif isinstance(part, ToolCall):
            content.append(replace(part, arguments=placeholders.mask_value(part.arguments)))
        else:  # a thought is signed, an image is data
            content.append(part)
    return replace(message, content=content)


class _Restorer:
    """Holds back the end of a piece that may be the start of a placeholder."""

    def __init__(self, placeholders: SecretPlaceholders) -> None:
        self._placeholders = placeholders
        self._text = ""
        self._calls: dict[int, str] = {}

    def feed(self, delta: Delta) -> list[Delta]:
        match delta:
            case d.TextPiece(text):
                ready, self._text = _split(self._text + text)
                return [d.TextPiece(self._placeholders.restore(ready))] if ready else []
            case d.CallPiece(key, piece):
                ready, self._calls[key] = _split(self._calls.get(key, "") + piece)
                return [d.CallPiece(key, self._placeholders.restore_json(ready))] if ready else []
            case d.CallEnd(key) if held := self._calls.pop(key, ""):
                return [d.CallPiece(key, held), delta]
            case d.Tokens() | d.Answered():
                return [delta]
        held, self._text = self._text, ""
        return [d.TextPiece(held), delta] if held else [delta]


def _split(text: str) -> tuple[str, str]:
    """What is complete, and an end that may continue as a placeholder."""
    complete = 0
    for match in _FORM.finditer(text, max(len(text) - 2 * _CHARS, 0)):
        complete = match.end()
    at = text.find("#", max(len(text) - _CHARS + 1, complete))
    while at >= 0:
        if _START.startswith(text[at:]) or _is_open(text[at:]):
            return text[:at], text[at:]
        at = text.find("#", at + 1)
    return text, ""


def _is_open(text: str) -> bool:
    digits = text.removeprefix(_START)
    return digits is not text and all(digit in "0123456789ABCDEF" for digit in digits)
