"""One question to a model beside the conversation: a system prompt, a text, an answer within a time limit."""

import asyncio
import re

from tau.agent.loop_owner import Complete
from tau.ai.dialect import Request
from tau.ai.model import THINKING_BUDGETS, Model, ThinkingLevel
from tau.ai.normalization import clean
from tau.ai.wire import UserMessage
from tau.base.clock import now_ms
from tau.base.errors import ProviderError

ANSWER_TOKENS = 2_048


async def ask_model(
    complete: Complete,
    model: Model,
    system: str,
    text: str,
    *,
    timeout_s: float,
    thinking: ThinkingLevel = "off",
) -> str:
    """Its answer without thoughts. Raises TauError."""
    request = Request(
        system=system,
        messages=[UserMessage(clean(text), now_ms())],
        tools=[],
        max_tokens=min(ANSWER_TOKENS + THINKING_BUDGETS[thinking], model.max_tokens),
        thinking=thinking,
    )
    try:
        async with asyncio.timeout(timeout_s):
            answer = await complete(model, request)
    except TimeoutError:
        raise ProviderError(f"The model did not answer within {timeout_s:.0f} s.", retryable=True) from None
    if answer.stop_reason in ("error", "aborted"):
        raise ProviderError(str(answer.error_message or "The model gave no answer."))
    return re.sub(r"(?s)<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", "", answer.text).strip()
