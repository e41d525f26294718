"""Routers: whom they may ask, who answered, and what they say it cost."""

import asyncio

import msgspec
import pytest

from tau.ai.apis.anthropic_body import build_body as anthropic_body
from tau.ai.apis.openai_body import build_body
from tau.ai.apis.openai_completions import _Answer, _decode
from tau.ai.assembler import Assembler
from tau.ai.catalog import load_catalog, pick_model
from tau.ai.model import Compat, UpstreamRouting
from tau.base.errors import UsageError
from tests.ai.dialect_client import HELLO, model

ROUTING = {"order": ["a", "b"], "ignore": ["c"], "sort": "price", "zdr": True, "max_price": {"prompt": 1}}


def test_request_says_whom_the_router_may_ask() -> None:
    routed = model("openai-completions", compat=Compat(routing=msgspec.convert(ROUTING, UpstreamRouting)))
    assert msgspec.json.decode(msgspec.json.encode(build_body(routed, HELLO)))["provider"] == ROUTING
    also = model("anthropic-messages", compat=Compat(routing=UpstreamRouting(only=("a",))))
    assert msgspec.json.decode(msgspec.json.encode(anthropic_body(also, HELLO)))["provider"] == {
        "only": ["a"]
    }


def test_request_without_routing_has_no_such_field() -> None:
    assert "provider" not in build_body(model("openai-completions"), HELLO)


def test_name_after_an_at_sign_is_the_only_upstream() -> None:
    catalog = load_catalog()
    match = pick_model(catalog, "openrouter/openai/gpt-5.4@azure:high")
    assert (match.model.key, match.thinking, match.known) == ("openrouter/openai/gpt-5.4", "high", True)
    assert match.model.compat.routing == UpstreamRouting(only=("azure",))
    assert pick_model(catalog, "openrouter/openai/gpt-5.4").model.compat.routing == UpstreamRouting()


def test_vendor_has_no_upstreams() -> None:
    found = pick_model(load_catalog(), "anthropic/claude-opus-4-6@azure")
    assert not found.known
    with pytest.raises(UsageError):
        pick_model(load_catalog(), "claude-opus-4-6@azure")


def test_answer_records_who_gave_it_and_what_the_router_charged() -> None:
    router = pick_model(load_catalog(), "openrouter/openai/gpt-5.4").model
    usage = {"prompt_tokens": 1_000, "completion_tokens": 100, "cost": 0.5}
    chunk = {"id": "gen-1", "provider": "Azure", "choices": [], "usage": usage}

    async def main() -> None:
        answer, assembler = _Answer(router, None), Assembler(router, 1)
        data = msgspec.json.encode(chunk)
        for delta in answer.read(_decode(data), data):
            assembler.feed(delta)
        message = assembler.message("stop")
        assert (message.upstream_provider, message.response_id) == ("Azure", "gen-1")
        assert message.usage.cost.total == 0.5

    asyncio.run(main())


def test_figure_counts_only_from_servers_known_to_use_dollars() -> None:
    other = model("openai-completions")
    data = msgspec.json.encode({"choices": [], "usage": {"prompt_tokens": 10, "cost": 99}})
    answer = _Answer(other, None)
    assembler = Assembler(other, 1)
    for delta in answer.read(_decode(data), data):
        assembler.feed(delta)
    assert assembler.message("stop").usage.cost.total == 0
