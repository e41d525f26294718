"""The demo model as data: a tiny model that answers offline and without a key, and is not fit for work."""

from tau.ai.model import DEMO_PROVIDER, Compat, Model

MODEL_ID = "smollm2-135m"
CONTEXT_TOKENS = 8_192
MAX_ANSWER_TOKENS = 256  # some six seconds; a model of this size that goes on for longer is going in circles


def demo_model(base_url: str = "") -> Model:
    """The model, served at `base_url`; without one it can be listed but not asked."""
    return Model(
        id=MODEL_ID,
        name="SmolLM2 135M (demo model, offline)",
        api="openai-completions",
        provider=DEMO_PROVIDER,
        base_url=base_url,
        context_window=CONTEXT_TOKENS,
        max_tokens=MAX_ANSWER_TOKENS,
        compat=Compat(
            supports_reasoning_effort=False,
            supports_parallel_tool_calls=False,
            cache_control=False,
            first_tool_call_only=True,
        ),
        demo=True,
    )
