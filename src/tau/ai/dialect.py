"""The contract of a dialect: a request in, deltas and one `Done` out, `ProviderError` on failure.

A dialect only translates: it builds no messages, retries nothing, reads no settings and no environment.
`ai/assembler.py` builds the message and prices it.
"""

from collections.abc import AsyncGenerator
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct

from tau.ai.model import Model, ThinkingLevel
from tau.ai.transport import Transport
from tau.ai.wire import Message


class ToolSpec(Struct, frozen=True):
    """A tool as the model sees it."""

    name: str
    description: str
    parameters: dict[str, Any]  # JSON schema

    def brief(self) -> "ToolSpec":
        """The same tool with a short description, for models with a small, slow context."""
        sentence = self.description.partition("\n")[0].partition(". ")[0]
        properties = {
            name: {key: value for key, value in schema.items() if key != "description"}
            for name, schema in self.parameters.get("properties", {}).items()
        }
        return ToolSpec(self.name, sentence, {**self.parameters, "properties": properties})


class Request(Struct, frozen=True, kw_only=True):
    """The dialect-independent request. `messages` are already normalized."""

    system: str
    messages: list[Message]
    tools: list[ToolSpec]
    max_tokens: int
    thinking: ThinkingLevel = "off"
    temperature: float | None = None
    cache_key: str | None = None


class Endpoint(Struct, frozen=True, kw_only=True):
    """Where a request goes, with everything resolved."""

    base_url: str
    key: str | None
    headers: dict[str, str] = {}


class TextPiece(Struct, frozen=True, gc=False):
    text: str


class ThinkingPiece(Struct, frozen=True, gc=False):
    text: str


class Signature(Struct, frozen=True, gc=False):
    """Belongs to the open block (thinking or text)."""

    signature: str


class RedactedThinking(Struct, frozen=True, gc=False):
    """A complete thinking block that only the provider can read."""

    data: str


class BlockEnd(Struct, frozen=True, gc=False):
    """The open text or thinking block is complete; the next piece starts a new one."""


class CallStart(Struct, frozen=True, gc=False):
    """`key` distinguishes interleaved calls."""

    key: int
    id: str
    name: str


class CallPiece(Struct, frozen=True, gc=False):
    key: int
    json: str


CUT_OFF = "the call was cut off before its end. Nothing was changed; send it again"


class CallEnd(Struct, frozen=True, gc=False):
    """A call with a `problem` never runs, even if its arguments are complete: the model reads the problem.

    `signature` is the provider's own data, sent back with the call.
    """

    key: int
    problem: str = ""
    signature: str = ""


class Tokens(Struct, frozen=True, gc=False):
    """Absolute counts so far; None keeps the previous one."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None


class Done(Struct, frozen=True, gc=False):
    reason: Literal["stop", "length", "toolUse"]


Delta: TypeAlias = (
    TextPiece
    | ThinkingPiece
    | Signature
    | RedactedThinking
    | BlockEnd
    | CallStart
    | CallPiece
    | CallEnd
    | Tokens
    | Done
)


class Dialect(Protocol):
    """The one function of a module in `ai/apis/`."""

    def __call__(
        self, model: Model, request: Request, endpoint: Endpoint, http: Transport
    ) -> AsyncGenerator[Delta, None]: ...
