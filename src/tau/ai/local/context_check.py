"""Detects local servers that truncate prompts."""

_ADVICE = "Serve the model with a larger context, or start a new session."


def context_warning(
    served_window: int | None, prompt_tokens_estimate: int, reported_prompt_tokens: int | None
) -> str | None:
    """A warning if the server cannot hold, or did not read, the whole prompt.

    `reported_prompt_tokens` is what the server says it read, including cached tokens. Local servers silently
    drop the start, which has the instructions and the tools. The estimate (bytes / 4) is rough, so only a
    large difference counts.
    """
    if reported_prompt_tokens is not None and reported_prompt_tokens > 0:
        missing = prompt_tokens_estimate - reported_prompt_tokens
        if missing > 1_000 and reported_prompt_tokens * 2 < prompt_tokens_estimate:
            return (
                f"The server read only {reported_prompt_tokens:,} of about {prompt_tokens_estimate:,} "
                f"tokens: it dropped the start of the conversation. {_ADVICE}"
            )
        return None
    if served_window is not None and prompt_tokens_estimate > served_window:
        return (
            f"The prompt is about {prompt_tokens_estimate:,} tokens, but the server holds {served_window:,}: "
            f"its start will be lost. {_ADVICE}"
        )
    return None
