"""Calls that a model writes as text: which ones run, and what is shown."""

import asyncio
from random import Random
from typing import Any

import pytest

from tau.ai import dialect as d
from tau.ai.auth import KeyRetry
from tau.ai.client import Client
from tau.ai.http import HttpTransport
from tau.ai.model import Compat
from tau.ai.text_calls.watch import MAX_FALSE_MARKS, TextWatch
from tests.ai.dialect_client import message, model
from tests.ai.text_calls.about_calls import about_calls
from tests.ai.text_calls.reading import REQUEST, assembled, read
from tests.ai.text_calls.written import FORMATS, written
from tests.support.fake_answers import Answer, Text
from tests.support.fake_server import FakeServer

EACH = pytest.mark.parametrize("format", FORMATS)
HERMES = '<tool_call>\n{"name": "read", "arguments": {"path": "a"}}\n</tool_call>'
MARKUP = ("tool_call", "TOOL_CALLS", "python_tag", "｜", "<|", "invoke", "function=", "arg_key", '"name"')


@EACH
def test_pieces_of_any_size_give_the_same_answer(format: str) -> None:
    for seed in range(10):
        answer, calls = written(Random(seed), format)
        whole = read(answer, 10_000)
        assert whole.calls == calls
        assert not any(mark in whole.text for mark in MARKUP), whole.text
        for size in (1, 2, 3, 7, 64):
            assert read(answer, size) == whole, (size, answer)


@EACH
def test_no_prefix_of_an_answer_runs(format: str) -> None:
    for seed in range(3):
        answer, calls = written(Random(seed), format, count=1)
        assert read(answer).calls == calls
        for cut in range(len(answer)):
            begun = answer[:cut]
            assert read(begun, 40).calls == [], begun
            assert read(begun, 40, reason="length").calls == [], begun
            cut_off = read(begun, 40, reason=None)
            assert (cut_off.calls, cut_off.broken) == ([], []), begun


@EACH
def test_answer_that_reached_the_token_limit_runs_nothing_and_says_so(format: str) -> None:
    answer, calls = written(Random(1), format, count=2)
    found = read(answer, reason="length")
    assert (found.calls, found.broken) == ([], [name for name, _ in calls])
    assert not any(mark in found.text for mark in MARKUP)


def test_half_a_call_is_not_shown_and_the_model_learns_of_it() -> None:
    found = read(HERMES[:-20], reason="length")
    assert (found.text, found.calls, found.broken, found.done) == ("", [], ["read"], "length")


def test_texts_about_calls_run_nothing_and_are_shown_unchanged() -> None:
    texts = list(about_calls())
    assert len(texts) >= 200
    for text in texts:
        for size in (3, 10_000):
            found = read(text, size, think_tags="")
            assert (found.calls, found.broken, found.done) == ([], [], "stop"), text
            assert found.text == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (HERMES.replace("read", "delete"), "not registered"),
        (HERMES.replace("path", "file"), "a required argument is missing"),
        (HERMES.replace('"a"', "5"), "the type is wrong"),
        (HERMES.replace('"a"', '"a", "kinds": ["b", 5]'), "the type of an item is wrong"),
        (HERMES.replace("</tool_call>", ""), "the end is missing"),
        (HERMES.replace('"a"}}', '"a"}'), "the JSON is broken"),
        (HERMES + "\nDone.", "text follows"),
        (f"```\n{HERMES}\n```", "in a code block"),
        (f"Write {HERMES}", "in the middle of a line"),
    ],
)
def test_incomplete_invalid_or_quoted_call_is_text(text: str, reason: str) -> None:
    found = read(text)
    assert (found.text, found.calls, found.broken) == (text, [], []), reason


def test_call_after_a_code_block_counts() -> None:
    found = read(f"As in\n```\n{HERMES}\n```\nso:\n{HERMES}")
    assert found.calls == [("read", {"path": "a"})]
    assert found.text == f"As in\n```\n{HERMES}\n```\nso:\n"


def test_native_call_wins_and_the_markup_is_dropped() -> None:
    native: list[d.Delta] = [d.CallStart(0, "c1", "read"), d.CallPiece(0, '{"path": "b"}'), d.CallEnd(0)]
    found = assembled([d.TextPiece(f"Look.\n{HERMES}"), *native, d.Done("toolUse")])
    assert (found.text, found.calls) == ("Look.\n", [("read", {"path": "b"})])
    found = assembled([*native, d.TextPiece(HERMES), d.Done("toolUse")])
    assert found.calls == [("read", {"path": "b"})]


def test_only_the_first_call_where_only_one_is_wanted() -> None:
    assert read(f"{HERMES}\n{HERMES}", first_tool_call_only=True).calls == [("read", {"path": "a"})]


def test_text_streams_as_it_comes() -> None:
    from tau.ai.text_calls.answer import AnswerReader
    from tests.ai.text_calls.reading import SPEAKER

    reader = AnswerReader(SPEAKER, REQUEST)
    shown = [list(reader.read(d.TextPiece(word))) for word in ("Hello ", "a < b ", "wor", "ld.")]
    assert shown == [[d.TextPiece(word)] for word in ("Hello ", "a < b ", "wor", "ld.")]


@pytest.mark.parametrize(
    ("mark", "limit"), [("<|channel|>", 200), ("<|python_start|>[read(path='", 65_536 - len("[read(path='"))]
)
def test_mark_is_shown_as_text_once_too_much_follows_it(mark: str, limit: int) -> None:
    for count in (limit, limit + 1):
        text = mark + "x" * count
        assert TextWatch({tool.name: tool for tool in REQUEST.tools}).feed(text) == text * (count > limit)


def test_held_text_is_checked_from_64_characters_on() -> None:
    watch = TextWatch({})
    text = "<tool_call>" + "?" * 52
    assert [watch.feed(text), watch.feed("!")] == ["", f"{text}!"]


def test_many_false_marks_cost_little() -> None:
    text = "<|channel|>" * 5 * MAX_FALSE_MARKS
    assert read(text, 1000).text == text
    deep = '<tool_call>{"name": "read", "arguments": ' + "[" * 100_000
    assert read(deep, 1000, reason="length").text == deep


@pytest.mark.parametrize(
    ("text", "thinking", "shown"),
    [
        ("<think>\nHm.\n</think>\n\nHello.", "Hm.\n", "Hello."),
        ("\n<thinking>Hm.</thinking>Hello.", "Hm.", "Hello."),
        ("[THINK]Hm.[/THINK]Hello.", "Hm.", "Hello."),
        ("<think>Hm. </thin king", "Hm. </thin king", ""),
        ("<think></think>\n\nHello.", "", "Hello."),
        ("<thi", "", "<thi"),
        ("The tag <think> begins.", "", "The tag <think> begins."),
        ("Hello.</think>", "", "Hello.</think>"),
    ],
)
def test_thinking_between_tags_is_split_off(text: str, thinking: str, shown: str) -> None:
    for size in (1, 3, 1000):
        found = read(text, size)
        assert (found.thinking, found.text) == (thinking, shown), size


def test_thinking_whose_first_tag_was_in_the_prompt() -> None:
    found = read(f"Hm.\n</think>\n\n{HERMES}", think_tags="open")
    assert (found.thinking, found.text, found.calls) == ("Hm.\n", "", [("read", {"path": "a"})])


def test_server_that_sends_thinking_itself_writes_no_tags() -> None:
    found = assembled([d.ThinkingPiece("Hm."), d.TextPiece("<think>x</think>"), d.Done("stop")])
    assert (found.thinking, found.text) == ("Hm.", "<think>x</think>")


class NoKeys:
    async def get(self, provider: str) -> str | None:
        return None

    async def refresh(self, provider: str, rejected: str) -> str | None:
        return None

    async def rotate(self, provider: str, failed: str, **_: Any) -> KeyRetry:
        return KeyRetry()


@pytest.mark.parametrize("api", ["openai-completions", "ollama-chat", "anthropic-messages"])
def test_client_reads_written_calls_by_flag(api: str) -> None:
    async def ask(url: str, flags: Compat) -> Any:
        speaker = model(api, base_url=url, compat=flags)
        http = HttpTransport({})
        try:
            stream = Client(http, NoKeys()).stream(speaker, REQUEST)
            return message(speaker, [delta async for delta in stream])
        finally:
            await http.close()

    with FakeServer() as server:
        server.script(Answer((Text(f"<think>Hm.</think>Look.\n{HERMES}", deltas=9),)))
        found = asyncio.run(ask(server.url, Compat(text_calls=True, think_tags="written")))
        plain = asyncio.run(ask(server.url, Compat()))
    assert (found.text, [call.name for call in found.tool_calls]) == ("Look.\n", ["read"])
    assert found.stop_reason == "toolUse"
    assert plain.text.endswith(HERMES) and plain.tool_calls == []
