"""Every dialect hands a conversation to every other: the vendors' clients accept each request."""

from itertools import pairwise
from typing import Any

import pytest

from tau.ai.apis.google_body import SKIP_SIGNATURE
from tau.ai.apis.request import encode
from tau.ai.model import Model
from tau.ai.normalization import HistoryNormalizer
from tau.ai.wire import AppMessage, AssistantMessage, ToolCall, is_signed
from tests.ai.wire.handoff import LISTS, PATCH, SPEAKERS, body_of, turn
from tests.ai.wire.judges import Judge, judge_of
from tests.support.fake_dialects import BY_API

# Marks that tell the server where to cache are no part of the prompt.
MARKS = ("cache_control", "cachePoint")


def requests(speaker: Model, history: list[AppMessage], begin: int) -> list[dict[str, Any]]:
    """The request before each answer of `speaker` in the rest of the history, and the one after it."""
    normalizer = HistoryNormalizer()
    asked = [
        at for at in range(begin, len(history) + 1) if at == len(history) or is_answer(history[at], speaker)
    ]
    return [body_of(speaker, history[:at], normalizer) for at in asked if not waits(history[:at])]


def is_answer(message: AppMessage, speaker: Model) -> bool:
    return isinstance(message, AssistantMessage) and message.model == speaker.id


def waits(history: list[AppMessage]) -> bool:
    """No request follows an answer without results."""
    return isinstance(history[-1], AssistantMessage)


def prompt(body: dict[str, Any], name: str) -> tuple[bytes, bytes]:
    """What comes before the messages, and the messages as an open list."""
    bare = unmarked(body)
    place = LISTS.get(name, "messages")
    before = {
        key: bare[key] for key in ("system", "systemInstruction", "instructions", "tools") if key in bare
    }
    return encode(before), encode(bare[place])[:-1]


def unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: unmarked(item)
            for key, item in value.items()
            # The signature that replaces a missing one belongs to the current turn only.
            if key not in MARKS and not (key == "thoughtSignature" and item == SKIP_SIGNATURE)
        }
    if isinstance(value, list):
        return [unmarked(item) for item in value if not (isinstance(item, dict) and "cachePoint" in item)]
    return value


@pytest.fixture(scope="module")
def judges() -> dict[str, Judge]:
    return {name: judge_of(name) for name in SPEAKERS}


@pytest.mark.timeout(120)
@pytest.mark.holds_loop
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("target", SPEAKERS)
@pytest.mark.parametrize("source", SPEAKERS)
def test_conversation_moves_to_another_dialect_and_back(
    source: str, target: str, judges: dict[str, Judge]
) -> None:
    first, second = SPEAKERS[source], SPEAKERS[target]
    history: list[AppMessage] = [*turn(first, 1), *turn(second, 2), *turn(first, 3)]
    length = len(history) // 3
    for name, speaker, begin, end in (
        (source, first, 1, length),
        (target, second, length + 1, 2 * length),
        (source, first, 2 * length + 1, 3 * length),
    ):
        bodies = requests(speaker, history[:end], begin)
        assert len(bodies) >= 3
        for body in bodies:
            assert BY_API[speaker.api].validate(body) == []
            judges[name](body)
        for before, after in pairwise(bodies):
            same, open_list = prompt(before, name)
            assert prompt(after, name)[0] == same
            assert prompt(after, name)[1].startswith(open_list)


@pytest.mark.parametrize("name", SPEAKERS)
def test_history_of_each_dialect_has_what_the_matrix_promises(name: str) -> None:
    speaker = SPEAKERS[name]
    answers = [one for one in turn(speaker, 1) if isinstance(one, AssistantMessage)]
    assert [len(one.tool_calls) for one in answers] == [2, 1, 1, 0]
    assert [one.stop_reason for one in answers] == ["toolUse", "toolUse", "aborted", "stop"]
    assert isinstance(patch := answers[1].content[-1], ToolCall)
    assert patch.arguments == {"input": PATCH} and patch.name == "edit"
    assert any(part.thinking for part in answers[0].content if part.__class__.__name__ == "ThinkingContent")
    opaque = {"anthropic-messages", "openai-responses", "google-generative-ai", "bedrock-converse-stream"}
    assert is_signed(answers[0].content) == (name in opaque | {"openai-completions"})


@pytest.mark.parametrize("target", SPEAKERS)
@pytest.mark.parametrize("source", SPEAKERS)
def test_signatures_stay_with_their_issuer(source: str, target: str) -> None:
    body = body_of(SPEAKERS[target], [*turn(SPEAKERS[source], 1)][:4], HistoryNormalizer())
    sent = b"c2lnbmVk" in encode(body)
    unsigned = {"openai-completions", "mistral", "ollama-chat"}
    assert sent == (source == target and source not in unsigned)
