"""The contract of a dialect: a request in, deltas and one `Done` out, `ProviderError` on failure.

A dialect only translates: it builds no messages, retries nothing, reads no settings and no environment.
`ai/assembler.py` builds the message and prices it.
"""

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct

from tau.ai.model import THINKING_BUDGETS, Model, ThinkingLevel
from tau.ai.transport import Transport
from tau.ai.wire import CacheMiss, Message


class CustomFormat(Struct, frozen=True):
    """For servers with `grammar_tools`: the tool under another name, with its `input` as text."""

    name: str
    grammar: str  # Lark


class ToolSpec(Struct, frozen=True):
    """A tool as the model sees it."""

    name: str
    description: str
    parameters: dict[str, Any]  # JSON schema
    custom: "CustomFormat | None" = None

    def brief(self) -> "ToolSpec":
        """The same tool with a short description, for models with a small, slow context."""
        sentence = self.description.partition("\n")[0].partition(". ")[0]
        properties = {
            name: {key: value for key, value in schema.items() if key != "description"}
            for name, schema in self.parameters.get("properties", {}).items()
        }
        return ToolSpec(self.name, sentence, {**self.parameters, "properties": properties})


CacheRetention = Literal["none", "short", "long"]


class Request(Struct, frozen=True, kw_only=True):
    """The dialect-independent request. `messages` are already normalized, `thinking` is one of the model's.

    `tool_choice` is auto, none, required, or the name of the tool to call.
    """

    system: str
    messages: list[Message]
    tools: list[ToolSpec]
    max_tokens: int
    thinking: ThinkingLevel = "off"
    temperature: float | None = None
    cache_key: str | None = None
    cache_retention: CacheRetention = "short"
    service_tier: str | None = None
    tool_choice: str = "auto"
    thinking_budgets: Mapping[str, int] = {}  # by thinking level

    @property
    def thinking_budget(self) -> int:
        """The tokens to think with, for servers that want a number; 0 if off."""
        return self.thinking_budgets.get(self.thinking, THINKING_BUDGETS[self.thinking])


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
    """Belongs to the open block (thinking or text). Pieces of one are joined."""

    signature: str


class RedactedThinking(Struct, frozen=True, gc=False):
    """A complete thinking block that only the provider can read."""

    data: str


class BlockEnd(Struct, frozen=True, gc=False):
    """The open text or thinking block is complete; the next piece starts a new one."""


class UnknownBlock(Struct, frozen=True, gc=False):
    """A block of a kind that tau does not know, as JSON: recorded, and sent back to its issuer only."""

    json: str


class CallStart(Struct, frozen=True, gc=False):
    """`key` distinguishes interleaved calls. `custom` is the server's name of a tool that takes text."""

    key: int
    id: str
    name: str
    custom: str = ""


class CallPiece(Struct, frozen=True, gc=False):
    """A piece of the arguments' JSON. Text for a custom tool comes as the JSON of `{"input": text}`."""

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
    """Absolute counts so far; None keeps the previous one.

    `output` includes `reasoning`, `cache_write` includes `cache_write_1h`. `cost` is the server's own figure
    in US dollars, `tier` the service tier that it used.
    """

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    cache_write_1h: int | None = None
    cost: float | None = None
    tier: str | None = None
    cache_miss: CacheMiss | None = None


class Answered(Struct, frozen=True, gc=False):
    """Who answers: the id of the response, and the upstream behind a router. Empty if unknown."""

    response_id: str = ""
    upstream: str = ""


DoneReason = Literal["stop", "length", "toolUse", "pause"]


class Done(Struct, frozen=True, gc=False):
    """`pause`: the server wants to continue the same answer in another request."""

    reason: DoneReason


Delta: TypeAlias = (
    TextPiece
    | ThinkingPiece
    | Signature
    | RedactedThinking
    | UnknownBlock
    | BlockEnd
    | CallStart
    | CallPiece
    | CallEnd
    | Tokens
    | Answered
    | Done
)


class Dialect(Protocol):
    """The one function of a module in `ai/apis/`."""

    def __call__(
        self, model: Model, request: Request, endpoint: Endpoint, http: Transport
    ) -> AsyncGenerator[Delta, None]: ...
