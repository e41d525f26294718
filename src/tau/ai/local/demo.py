"""The demo model as data: a tiny offline model without a key, not fit for work."""

from tau.ai.model import DEMO_PROVIDER, Compat, Model

MODEL_ID = "smollm2-135m"
CONTEXT_TOKENS = 8_192
MAX_ANSWER_TOKENS = 256  # about six seconds; a longer answer of a model this small repeats itself


def demo_model(base_url: str = "") -> Model:
    """The model, served at `base_url`; without one it can only be listed."""
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
