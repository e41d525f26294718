"""A model as data: its dialect, endpoint, capabilities and price."""

from typing import Any, Literal, get_args

from msgspec import Struct, field
from msgspec.structs import replace

DEMO_PROVIDER = "demo"

ThinkingLevel = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
THINKING_LEVELS: tuple[ThinkingLevel, ...] = get_args(ThinkingLevel)
RARE_LEVELS = frozenset({"xhigh", "max"})  # a model with a map has these only if the map says so

# The service tiers of an API; those that are not here take any.
SERVICE_TIERS: dict[str, tuple[str, ...]] = {
    "anthropic-messages": ("auto", "standard_only"),
    "bedrock-converse-stream": ("default", "flex", "priority", "reserved"),
    "google-generative-ai": (),
    "ollama-chat": (),
}
FAST_TIER = "priority"

# For servers that want a number of tokens, where the user sets none (`thinkingBudgets`).
THINKING_BUDGETS: dict[ThinkingLevel, int] = {
    "off": 0,
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 16384,
    "xhigh": 32768,
    "max": 65536,
}

SchemaRule = Literal["inline-refs", "no-unions", "no-null", "typed", "known-keywords"]
ThinkingFormat = Literal[
    "effort", "openrouter", "deepseek", "zai", "qwen", "qwen-chat-template", "together", "mistral", "none"
]


def thinking_level(text: str | None) -> ThinkingLevel | None:
    """The level of this name, ignoring case; None if there is none."""
    return next((level for level in THINKING_LEVELS if text is not None and text.lower() == level), None)


class Rates(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """US dollars per million tokens. `cache_write_1h` is 0 if it costs the same as `cache_write`."""

    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0
    cache_write_1h: float = field(default=0, name="cacheWrite1h")


class LongContextRates(Rates, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The rates of a whole request whose prompt, cached tokens included, is longer than this."""

    input_tokens_above: int = 0


class SteppedRates(Rates, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`steps` are in the order of their lengths."""

    steps: tuple[LongContextRates, ...] = ()

    def at(self, prompt_tokens: int) -> Rates:
        """The rates for a prompt of this length."""
        longer = [step for step in self.steps if prompt_tokens > step.input_tokens_above]
        return longer[-1] if longer else self


class Price(SteppedRates, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What a model costs; `tiers` has the rates of its service tiers, such as `flex` and `priority`."""

    tiers: dict[str, SteppedRates] = {}

    def rates(self, tier: str | None, prompt_tokens: int) -> Rates:
        return self.tiers.get(tier or "", self).at(prompt_tokens)


class CacheSeconds(Struct, frozen=True, forbid_unknown_fields=True):
    """How long a server keeps a prompt for `cacheRetention` short and long; 0 if unknown."""

    short: int = 0
    long: int = 0


class InputLimits(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What one request may carry; 0 if unknown."""

    max_request_bytes: int = 0
    max_images: int = 0
    max_images_per_message: int = 0
    max_image_bytes: int = 0
    max_image_pixels: int = 0  # of the longer side


class UpstreamRouting(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Whom a router may ask, in the router's own words."""

    order: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    sort: Literal["", "price", "throughput", "latency"] = ""
    zdr: bool = False  # only those that keep nothing
    max_price: dict[str, float] = {}


class Compat(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """How a server deviates from its dialect. Quirks are data: no code checks a provider's name."""

    supports_developer_role: bool = False
    supports_store: bool = False
    supports_reasoning_effort: bool = True
    supports_usage_in_streaming: bool = True
    supports_parallel_tool_calls: bool = True
    supports_prompt_cache_key: bool = False
    max_tokens_field: Literal["", "max_tokens", "max_completion_tokens"] = "max_tokens"  # "": takes none
    requires_tool_result_name: bool = False
    requires_assistant_after_tool_result: bool = False
    thinking_as_text: bool = False
    thinking_format: ThinkingFormat = "effort"  # the field that a request for thinking is in
    thinking_budget_field: Literal[
        "", "thinking_budget", "thinking_token_budget", "thinking_budget_tokens"
    ] = ""
    # Where earlier thinking goes back: "same" is the field that it came in, "content" a part of the content.
    thinking_field: Literal["", "reasoning_content", "reasoning", "same", "content"] = ""
    thought_signatures: bool = False  # each answer's first call needs one
    adaptive_thinking: bool = False
    allow_empty_signature: bool = False  # takes back thinking that it did not sign
    cache_control: bool = True
    supports_long_cache_retention: bool = False
    supports_temperature: bool = True
    supports_tool_choice: bool = True
    eager_input_streaming: bool = False  # tool arguments stream before they are complete JSON
    grammar_tools: bool = False  # takes tools whose input is text in a given grammar
    schema_rules: tuple[SchemaRule, ...] = ()  # what to change in tool schemas: see `apis/schema.py`
    first_tool_call_only: bool = False
    reports_cost: bool = False  # its figure is in US dollars
    routes_upstream: bool = False  # takes `routing`, and `model@upstream`
    routing: UpstreamRouting = UpstreamRouting()
    template_arguments: dict[str, Any] = {}  # for the chat template of a local server
    short_call_ids: bool = False  # takes ids of nine letters and digits only
    num_ctx: int = 0  # Ollama's context size, sent with each request: another one reloads the model
    text_calls: bool = False  # reads tool calls that the model writes as text: see `ai/text_calls`
    # Thinking comes as text between <think> tags; "open": the first tag is part of the prompt.
    think_tags: Literal["", "written", "open"] = ""
    cache_diagnostics: bool = False  # says why its cache missed, compared with the answer before
    fast_mode: str = ""  # the beta of Anthropic with which it takes `speed` for the tier priority
    account_header: str = ""  # gets the account that a token of a ChatGPT plan names
    api_version: str = ""  # in the URL of each request, as Azure wants it
    hides_abilities: bool = False  # does not say whether a model takes images and calls tools
    utc_offset_h: float = 0  # of times that its errors name without a zone
    affinity_header: str = ""  # gets the session's id, so that one server answers a whole conversation
    key_header: str = ""  # for the key, instead of the dialect's own header


class Model(Struct, frozen=True, rename="camel", kw_only=True):
    """`thinking_level_map` has the server's word for a level; None for one that the model lacks."""

    id: str
    name: str
    api: str
    provider: str
    base_url: str
    reasoning: bool = False
    thinking_level_map: dict[ThinkingLevel, str | None] = {}
    input: tuple[Literal["text", "image"], ...] = ("text",)
    cost: Price = Price()
    context_window: int = 128_000
    max_tokens: int = 16_384
    cache_seconds: CacheSeconds = CacheSeconds()
    limits: InputLimits = InputLimits()
    headers: dict[str, str] = {}
    compat: Compat = Compat()
    custom_address: bool = False  # the user gave `base_url` for this session
    demo: bool = False  # too small to trust: its commands always ask
    upstream: str = ""  # the only one that a router may ask, as in `model@upstream`
    unconfirmed: bool = False  # of a server that was found, not chosen: its commands always ask

    @property
    def key(self) -> str:
        """`provider/id`, as users write it."""
        return f"{self.provider}/{self.id}"

    def with_num_ctx(self, tokens: int) -> "Model":
        """The model with a context of this size, if its server takes one; 0 leaves it to the server."""
        if not tokens or self.api != "ollama-chat" or self.compat.num_ctx:
            return self
        answer_tokens = max(self.max_tokens, min(16_384, tokens // 4))
        compat = replace(self.compat, num_ctx=tokens)
        return replace(self, compat=compat, context_window=tokens, max_tokens=answer_tokens)

    def thinking_levels(self) -> tuple[ThinkingLevel, ...]:
        """The levels to choose from. Without a map, whoever serves it rounds them."""
        if not self.reasoning:
            return ("off",)
        words = self.thinking_level_map
        if not words:
            return THINKING_LEVELS[:-1]
        return tuple(
            level
            for level in THINKING_LEVELS
            if words.get(level, None if level in RARE_LEVELS else "") is not None
        )

    def takes_tier(self, tier: str | None) -> bool:
        """Whether requests may ask for this service tier."""
        if tier is None or (tier == FAST_TIER and self.compat.fast_mode):
            return True
        return tier in SERVICE_TIERS.get(self.api, (tier,))

    def clamp_thinking(self, level: ThinkingLevel) -> ThinkingLevel:
        """The nearest level that the model has: the next one above, else the highest."""
        levels = self.thinking_levels()
        place = THINKING_LEVELS.index(level)
        return next((known for known in levels if THINKING_LEVELS.index(known) >= place), levels[-1])
