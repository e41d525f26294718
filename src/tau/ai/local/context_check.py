"""Whether a server on this machine has read all that it was sent."""

_ADVICE = "Serve the model with a larger context, or start a new session."


def context_warning(
    served_window: int | None, prompt_tokens_estimate: int, reported_prompt_tokens: int | None
) -> str | None:
    """A sentence for the user if the server cannot hold, or did not read, the whole prompt.

    `reported_prompt_tokens` is what the server says it read, with what it had cached. Local servers drop the
    front, which holds the instructions and the tools, and say nothing. The estimate (bytes / 4) is rough:
    only a large difference counts.
    """
    if reported_prompt_tokens is not None and reported_prompt_tokens > 0:
        missing = prompt_tokens_estimate - reported_prompt_tokens
        if missing > 1_000 and reported_prompt_tokens * 2 < prompt_tokens_estimate:
            return (
                f"The server read only {reported_prompt_tokens:,} of about {prompt_tokens_estimate:,} "
                f"tokens: it has dropped the start of the conversation. {_ADVICE}"
            )
        return None
    if served_window is not None and prompt_tokens_estimate > served_window:
        return (
            f"The prompt is about {prompt_tokens_estimate:,} tokens, but the server holds {served_window:,}: "
            f"its start will be lost. {_ADVICE}"
        )
    return None
