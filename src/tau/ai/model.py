"""A model as data: its dialect, endpoint, capabilities and price."""

from typing import Literal, get_args

from msgspec import Struct

DEMO_PROVIDER = "demo"

ThinkingLevel = Literal["off", "minimal", "low", "medium", "high", "xhigh"]
THINKING_LEVELS: tuple[ThinkingLevel, ...] = get_args(ThinkingLevel)


def thinking_level(text: str | None) -> ThinkingLevel | None:
    """The level of this name, ignoring case; None if there is none."""
    return next((level for level in THINKING_LEVELS if text is not None and text.lower() == level), None)


class Price(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """US dollars per million tokens."""

    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0


class Compat(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """How a server deviates from its dialect. Quirks are data: no code checks a provider's name."""

    supports_developer_role: bool = False
    supports_store: bool = False
    supports_reasoning_effort: bool = True
    supports_usage_in_streaming: bool = True
    supports_parallel_tool_calls: bool = True
    supports_prompt_cache_key: bool = False
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    requires_tool_result_name: bool = False
    requires_assistant_after_tool_result: bool = False
    thinking_as_text: bool = False
    thinking_field: Literal["", "reasoning_content", "reasoning"] = ""
    thought_signatures: bool = False  # each answer's first call needs one
    adaptive_thinking: bool = False
    cache_control: bool = True
    first_tool_call_only: bool = False


class Model(Struct, frozen=True, rename="camel", kw_only=True):
    id: str
    name: str
    api: str
    provider: str
    base_url: str
    reasoning: bool = False
    input: tuple[Literal["text", "image"], ...] = ("text",)
    cost: Price = Price()
    context_window: int = 128_000
    max_tokens: int = 16_384
    headers: dict[str, str] = {}
    compat: Compat = Compat()
    custom_address: bool = False  # the user gave `base_url` for this session
    demo: bool = False  # too small to trust: its commands always ask
    unconfirmed: bool = False  # of a server that was found, not chosen: its commands always ask

    @property
    def key(self) -> str:
        """`provider/id`, as users write it."""
        return f"{self.provider}/{self.id}"
