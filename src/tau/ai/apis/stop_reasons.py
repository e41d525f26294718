"""Why an answer ended: the words of all vendors in one table."""

from msgspec import json

from tau.ai.dialect import DoneReason
from tau.base.late import late

error_response = late("tau.ai.apis.error_response")

LENGTH = frozenset(
    {
        *("length", "max_tokens", "max_output_tokens", "max_messages", "model_length"),
        "model_context_window_exceeded",
    }
)
CALLS = frozenset({"tool_calls", "tool_use", "function_call"})
PAUSED = frozenset({"pause_turn", "continuation"})
FILTERED = frozenset(
    {
        *("content_filter", "content_filtered", "guardrail_intervened", "sensitive", "safety", "recitation"),
        *("language", "blocklist", "prohibited_content", "spii", "model_armor", "jailbreak", "no_image"),
        *("image_safety", "image_prohibited_content", "image_recitation", "image_other"),
    }
)
BROKEN = frozenset(
    {
        *("error", "network_error", "insufficient_system_resource", "unexpected_tool_call"),
        *("too_many_tool_calls", "other"),
    }
)
REFUSED = "refusal"


def done_reason(word: str, provider: str) -> DoneReason:
    """What a stop reason means. Raises ProviderError if the answer did not end normally.

    An unknown word is a normal end: vendors add some, and the answer is complete.
    """
    reason = word.lower()
    if reason == REFUSED:
        raise error_response.declined(provider, "the model refuses this. Rephrase the request.")
    if reason in FILTERED:
        raise error_response.declined(
            provider, "its content filter stopped the answer. Rephrase the request."
        )
    if reason in BROKEN or "malformed" in reason:
        said = json.encode({"message": f"it stopped with the reason {word}."})
        raise error_response.error_from_event(said, provider=provider)
    if reason in LENGTH:
        return "length"
    if reason in PAUSED:
        return "pause"
    return "toolUse" if reason in CALLS else "stop"
