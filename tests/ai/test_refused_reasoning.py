"""Reasoning that its server no longer accepts, without a session."""

import asyncio

import pytest
from msgspec.structs import replace

import tau.ai
from tau.ai.model import Model
from tau.ai.wire import (
    AssistantMessage,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
    issuer_address,
)
from tau.base.errors import ProviderError
from tests.ai.dialect_client import HELLO, model
from tests.support.fake_answers import Scriptable, Status
from tests.support.fake_server import FakeServer

REFUSALS = {
    "anthropic-messages": Status(400, "messages.1.content.0: Invalid `signature` in `thinking` block"),
    "openai-responses": Status(
        400, "The encrypted content gAAA could not be verified.", "invalid_encrypted_content"
    ),
}
SIGNED = {
    "anthropic-messages": "c2ln",
    "openai-responses": '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"c2ln"}',
}


def ask(api: str, *script: Scriptable) -> tuple[str, list[bool]]:
    """The answer, and whether each request carried the opaque part."""
    with FakeServer() as server:
        server.script(*script)
        speaker = model(api, base_url=server.url)
        answer = asyncio.run(complete(speaker, server.url))
        return answer, [b"c2ln" in request.raw for request in server.requests]


async def complete(speaker: Model, issuer: str) -> str:
    text = TextContent("Yes.", '{"v":1,"id":"msg_1"}') if "openai" in speaker.api else TextContent("Yes.")
    content = [ThinkingContent("Hm.", SIGNED[speaker.api]), text, ToolCall("c1", "read", {})]
    before = AssistantMessage(
        [*content],
        speaker.api,
        speaker.provider,
        speaker.id,
        Usage(),
        "toolUse",
        2,
        address=issuer_address(issuer),
    )
    result = ToolResultMessage("c1", "read", [TextContent("x")], False, 3)
    request = replace(HELLO, messages=[UserMessage("hi", 1), before, result])
    return (await tau.ai.complete(speaker, request, key="k", environ={})).text


@pytest.mark.parametrize("api", REFUSALS)
def test_request_is_sent_again_without_it(api: str) -> None:
    assert ask(api, REFUSALS[api], "Hello.") == ("Hello.", [True, False])


@pytest.mark.parametrize("api", REFUSALS)
def test_second_refusal_is_an_error(api: str) -> None:
    with pytest.raises(ProviderError) as caught:
        ask(api, REFUSALS[api])
    assert caught.value.kind == "staleReasoning"


def test_other_errors_are_not_retried() -> None:
    with pytest.raises(ProviderError, match="no such model"):
        ask("anthropic-messages", Status(404, "no such model"), "Hello.")
