"""What a session has used so far."""

from collections.abc import Iterable

from tau.ai.wire import AppMessage, AssistantMessage, Cost, Usage


def total_usage(messages: Iterable[AppMessage]) -> Usage:
    """All tokens and all money of these messages, failed and aborted answers included: they were paid for."""
    answers = [message.usage for message in messages if isinstance(message, AssistantMessage)]
    return Usage(
        input=sum(usage.input for usage in answers),
        output=sum(usage.output for usage in answers),
        cache_read=sum(usage.cache_read for usage in answers),
        cache_write=sum(usage.cache_write for usage in answers),
        cost=Cost(
            input=sum(usage.cost.input for usage in answers),
            output=sum(usage.cost.output for usage in answers),
            cache_read=sum(usage.cost.cache_read for usage in answers),
            cache_write=sum(usage.cost.cache_write for usage in answers),
            total=sum(usage.cost.total for usage in answers),
        ),
    )
