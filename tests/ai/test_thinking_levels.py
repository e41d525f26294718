"""Thinking levels: which a model has, and how a request asks for them."""

from typing import Any

import msgspec
import pytest

from tau.ai.apis.anthropic_messages import build_body as anthropic
from tau.ai.apis.openai_completions import build_body as completions
from tau.ai.apis.openai_responses import build_body as responses
from tau.ai.catalog import load_catalog
from tau.ai.model import THINKING_LEVELS, Compat, Model, ThinkingLevel
from tests.ai.dialect_client import HELLO, model

ALL = dict(zip(THINKING_LEVELS, ("none", None, "low", "medium", "high", "xhigh", "max"), strict=True))
SOME: dict[ThinkingLevel, str | None] = {
    "off": None,
    "minimal": None,
    "low": "low",
    "high": "high",
    "max": "max",
}


@pytest.mark.parametrize(
    ("words", "levels"),
    [
        ({}, THINKING_LEVELS[:-1]),
        ({"off": None}, ("minimal", "low", "medium", "high")),
        ({"max": "max"}, ("off", "minimal", "low", "medium", "high", "max")),
        (ALL, ("off", "low", "medium", "high", "xhigh", "max")),
        ({**SOME, "medium": None}, ("low", "high", "max")),
    ],
)
def test_map_says_which_levels_a_model_has(words: Any, levels: tuple[str, ...]) -> None:
    assert model("x", thinking_level_map=words).thinking_levels() == levels


def test_model_without_reasoning_has_only_off() -> None:
    plain = model("x", reasoning=False, thinking_level_map=ALL)
    assert plain.thinking_levels() == ("off",)
    assert {plain.clamp_thinking(level) for level in THINKING_LEVELS} == {"off"}


@pytest.mark.parametrize(
    ("wanted", "used"),
    [
        ("off", "low"),
        ("minimal", "low"),
        ("medium", "high"),
        ("xhigh", "max"),
        ("max", "max"),
        ("low", "low"),
    ],
)
def test_missing_level_becomes_the_next_one(wanted: ThinkingLevel, used: str) -> None:
    assert model("x", thinking_level_map={**SOME, "medium": None}).clamp_thinking(wanted) == used


def test_level_above_all_becomes_the_highest() -> None:
    assert model("x", thinking_level_map={"off": None}).clamp_thinking("max") == "high"
    assert model("x").clamp_thinking("max") == "xhigh"


def body(build: Any, speaker: Model, level: ThinkingLevel, **fields: Any) -> dict[str, Any]:
    request = msgspec.structs.replace(HELLO, thinking=level, **fields)
    built: dict[str, Any] = msgspec.to_builtins(build(speaker, request))
    return built


def test_off_is_sent_where_a_model_thinks_by_default() -> None:
    gpt = model("openai-responses", thinking_level_map=ALL)
    assert body(responses, gpt, "off")["reasoning"] == {"effort": "none"}
    assert body(completions, gpt, "off")["reasoning_effort"] == "none"
    claude = model("anthropic-messages", thinking_level_map={"off": "disabled"})
    assert body(anthropic, claude, "off")["thinking"] == {"type": "disabled"}


def test_off_is_not_mentioned_where_it_is_the_default() -> None:
    assert "reasoning" not in body(responses, model("openai-responses"), "off")
    assert "reasoning_effort" not in body(completions, model("openai-completions"), "off")
    assert "thinking" not in body(anthropic, model("anthropic-messages"), "off")


@pytest.mark.parametrize(("level", "word"), [("low", "low"), ("xhigh", "xhigh"), ("max", "max")])
def test_server_gets_its_own_word(level: ThinkingLevel, word: str) -> None:
    gpt = model("openai-responses", thinking_level_map=ALL)
    assert body(responses, gpt, level)["reasoning"] == {"effort": word, "summary": "auto"}
    claude = model("anthropic-messages", thinking_level_map=ALL, compat=Compat(adaptive_thinking=True))
    assert body(anthropic, claude, level)["output_config"] == {"effort": word}


def test_level_without_a_word_never_takes_one_that_the_server_lacks() -> None:
    loud = model("openai-completions", thinking_level_map={"low": None, "medium": "so-so"})
    assert "reasoning_effort" not in body(completions, loud, "minimal")
    assert body(completions, loud, "medium")["reasoning_effort"] == "so-so"
    quiet = model("openai-completions", thinking_level_map={"low": "quiet"})
    assert body(completions, quiet, "minimal")["reasoning_effort"] == "quiet"


def test_budgets_come_from_the_settings() -> None:
    claude = model("anthropic-messages")
    wanted = body(anthropic, claude, "low", max_tokens=20_000, thinking_budgets={"low": 5000})
    assert wanted["thinking"] == {"type": "enabled", "budget_tokens": 5000}
    assert body(anthropic, claude, "low", max_tokens=20_000)["thinking"]["budget_tokens"] == 2048
    vllm = model("openai-completions", compat=Compat(thinking_budget_field="thinking_token_budget"))
    budgets = [body(completions, vllm, level)["thinking_token_budget"] for level in THINKING_LEVELS[1:]]
    assert budgets == [1024, 2048, 8192, 16384, 32768, 65536]
    assert body(completions, vllm, "max", thinking_budgets={"low": 5000})["thinking_token_budget"] == 65536
    assert "thinking_token_budget" not in body(completions, vllm, "off")


@pytest.mark.parametrize(
    ("format", "on", "off"),
    [
        ("effort", {"reasoning_effort": "high"}, {}),
        ("openrouter", {"reasoning": {"effort": "high"}}, {}),
        (
            "deepseek",
            {"thinking": {"type": "enabled"}, "reasoning_effort": "high"},
            {"thinking": {"type": "disabled"}},
        ),
        ("zai", {"thinking": {"type": "enabled"}}, {"thinking": {"type": "disabled"}}),
        ("qwen", {"enable_thinking": True}, {"enable_thinking": False}),
        (
            "qwen-chat-template",
            {"chat_template_kwargs": {"enable_thinking": True}},
            {"chat_template_kwargs": {"enable_thinking": False}},
        ),
        ("together", {"reasoning": {"enabled": True}}, {"reasoning": {"enabled": False}}),
        ("none", {}, {}),
    ],
)
def test_each_server_reads_its_own_field(format: Any, on: dict[str, Any], off: dict[str, Any]) -> None:
    speaker = model("openai-completions", compat=Compat(thinking_format=format))
    usual = body(completions, model("openai-completions", reasoning=False), "off")
    for level, fields in (("high", on), ("off", off)):
        sent = body(completions, speaker, level)
        assert {name: value for name, value in sent.items() if name not in usual} == fields


@pytest.mark.parametrize("format", ["zai", "qwen", "together", "deepseek"])
def test_level_comes_with_a_switch_where_a_model_has_levels(format: Any) -> None:
    """GLM-5.3 has low, high and max, and only the switch was sent."""
    glm = model("openai-completions", thinking_level_map=SOME, compat=Compat(thinking_format=format))
    words = [body(completions, glm, level).get("reasoning_effort") for level in ("off", "low", "high", "max")]
    assert words == [None, "low", "high", "max"]
    plain = Compat(thinking_format=format, supports_reasoning_effort=False)
    only_switch = model("openai-completions", thinking_level_map=SOME, compat=plain)
    assert "reasoning_effort" not in body(completions, only_switch, "high")


@pytest.mark.parametrize("name", ["zai/glm-5.1", "zai/glm-4.5-air", "zai-coding-plan/glm-5.1", "zai/glm-4.7"])
def test_thinking_can_be_turned_off_at_z_ai(name: str) -> None:
    """The models that pi-ai lacks went without the field, so GLM-5.1 thought at every level."""
    provider, _, id = name.partition("/")
    glm = load_catalog().model(provider, id)
    assert glm is not None
    assert body(completions, glm, "off")["thinking"] == {"type": "disabled"}
