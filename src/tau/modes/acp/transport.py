"""JSON-RPC messages as lines: what is not one is answered, never trusted."""

from typing import Any

import msgspec

from tau.base.errors import TauError
from tau.base.jsonl import decode_json
from tau.modes.event_json import encode_masked
from tau.modes.line_input import LineReader
from tau.modes.output_stream import OutputStream

PARSE_ERROR, INVALID_REQUEST = -32700, -32600
_any_json: msgspec.json.Decoder[Any] = msgspec.json.Decoder()

Message = dict[str, Any]


class LineTransport:
    """Implements `acp`'s Transport. `send` writes at once, so calls and lines have one order."""

    def __init__(self, lines: LineReader, out: OutputStream) -> None:
        self._lines = lines
        self._out = out
        self.failure: TauError | None = None

    async def send(self, message: Message) -> None:
        """Raises ConnectionError if nobody reads."""
        if self._out.gone or self.failure is not None:
            raise ConnectionError("The editor has stopped reading.")
        self.write(message)

    def notify(self, method: str, params: Message) -> None:
        self.write({"jsonrpc": "2.0", "method": method, "params": params})

    def write(self, message: Message) -> None:
        """The same for those who need not know that nobody reads."""
        try:
            self._out.write(encode_masked(message) + b"\n")
        except TauError as error:
            self.failure = error
            self._lines.close()

    async def receive(self) -> Message | None:
        """The next message; None at the end."""
        while not self._out.gone:
            try:
                line = await self._lines.next()
            except TauError as error:  # an overlong line
                await self._refuse(None, PARSE_ERROR, str(error))
                continue
            if line is None:
                return None
            if line.strip() and (message := await self._decode(line)) is not None:
                return message
        return None

    async def close(self) -> None:
        self._lines.close()

    async def _decode(self, line: str) -> Message | None:
        try:
            message = decode_json(_any_json, line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            await self._refuse(None, PARSE_ERROR, f"Invalid line: {error}.")
            return None
        if problem := _problem(message):
            id = message.get("id") if isinstance(message, dict) else None
            await self._refuse(id if isinstance(id, str | int) else None, INVALID_REQUEST, problem)
            return None
        return {"params": {}, **message}

    async def _refuse(self, id: str | int | None, code: int, text: str) -> None:
        await self.send({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}})


def _problem(message: object) -> str:
    """What is wrong with a message, as far as the library would stumble over it."""
    if not isinstance(message, dict):
        return "A message must be a JSON object."
    if not isinstance(message.get("id"), str | int | None) or isinstance(message.get("id"), bool):
        return "The id must be a string or an integer."
    if "method" in message and not isinstance(message["method"], str):
        return "The method must be a string."
    if "method" not in message and "id" not in message:
        return "A message needs a method or an id."
    error = message.get("error")
    if error is not None and not (isinstance(error, dict) and isinstance(error.get("code"), int)):
        return "An error must be an object with a code."
    return ""
