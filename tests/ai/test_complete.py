"""One request and its whole answer."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from tau.ai import dialect as d
from tau.ai.assembler import complete
from tau.ai.faux import FAUX_MODEL, Count, Faux, Say, Stop, Think, Use
from tau.ai.model import Model
from tau.ai.wire import TextContent, ThinkingContent, ToolCall
from tau.base.errors import ProviderError

REQUEST = d.Request(system="", messages=[], tools=[], max_tokens=1)


def test_whole_answer_is_one_message() -> None:
    script = [[Think("hm", "sig"), Say("Good day", 3), Use("look", id="1", at="x"), Count(1, 2, 3, 4)]]
    message = asyncio.run(complete(Faux(script).stream, FAUX_MODEL, REQUEST))
    assert message.content == [
        ThinkingContent("hm", "sig"),
        TextContent("Good day"),
        ToolCall("1", "look", {"at": "x"}),
    ]
    assert message.stop_reason == "toolUse"
    usage = message.usage
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write) == (1, 2, 3, 4)


def test_answer_without_an_end_is_a_transient_error() -> None:
    async def stream(model: Model, request: d.Request) -> AsyncGenerator[d.Delta, None]:
        yield d.TextPiece("half")

    with pytest.raises(ProviderError) as caught:
        asyncio.run(complete(stream, FAUX_MODEL, REQUEST))
    assert caught.value.retryable


def test_faux_script_sets_the_number_of_deltas_and_repeats_its_end() -> None:
    async def collect_deltas(faux: Faux) -> list[d.Delta]:
        return [delta async for delta in faux.stream(FAUX_MODEL, REQUEST)]

    async def main() -> None:
        faux = Faux([[Say("abcdefg", 3)], [Think("hm"), Stop("length")]])
        assert await collect_deltas(faux) == [*map(d.TextPiece, ("abc", "def", "g")), d.Done("stop")]
        end = [d.ThinkingPiece("hm"), d.BlockEnd(), d.Done("length")]
        assert await collect_deltas(faux) == await collect_deltas(faux) == end
        assert len(faux.requests) == 3
        assert await collect_deltas(Faux([[Say("")]])) == [d.Done("stop")]

    asyncio.run(main())


def test_short_tool_description_has_one_sentence_and_no_parameter_docs() -> None:
    schema = {
        "type": "object",
        "properties": {"path": {"type": "string", "description": "Where."}},
        "required": ["path"],
    }
    spec = d.ToolSpec("read", "Reads a file. It does more.\n\nAnd more.", schema)
    assert spec.brief() == d.ToolSpec(
        "read",
        "Reads a file",
        {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    )
