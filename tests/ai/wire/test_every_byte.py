"""Streams of every dialect, cut at every byte: networks split them anywhere, and end them anywhere."""

import asyncio
from typing import Any

import msgspec
import pytest

from tau.ai import dialect as d
from tau.ai.assembler import Assembler
from tau.ai.model import Compat, Model
from tau.base.errors import ProviderError
from tests.ai.dialect_client import HELLO, model
from tests.ai.wire.byte_stream import deltas_of
from tests.support.fake_answers import Answer, Call, Text, Thinking, Usage
from tests.support.fake_dialects import DIALECTS, Dialect

EDIT = d.ToolSpec("edit", "Edits.", {"type": "object"}, d.CustomFormat("apply_patch", "start: /.+/"))
READ = d.ToolSpec("read", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}})
REQUEST = msgspec.structs.replace(HELLO, tools=[READ, EDIT])
ANSWER = Answer(
    (
        Thinking("Hm, é.", "sig", deltas=2),
        Text('Let "me" \U0001f600 see.', deltas=3),
        Call("read", {"path": "a\n\\b.py"}, id="c1", deltas=3),
        Call("apply_patch", {"input": '*** "x"\n\t\u20ac'}, id="c2", deltas=3),
    ),
    Usage(input=7, output=5, cache_read=3),
)
EVERY = pytest.mark.parametrize("spoken", DIALECTS.values(), ids=lambda spoken: spoken.name)


def speaker_of(spoken: Dialect) -> Model:
    return model(spoken.name, compat=Compat(grammar_tools=True))


def stream_of(spoken: Dialect, *, ends: str = "\n") -> list[bytes]:
    body: dict[str, Any] = {"tools": [{"type": "custom", "name": "apply_patch"}]}
    body["stream_options"] = {"include_usage": True}
    events = spoken.events(ANSWER, body)
    if not spoken.content_type.startswith("text/"):
        return list(events)  # frames have no lines
    return [event.replace(b"\n", ends.encode()) for event in events]


def joined(deltas: list[d.Delta], speaker: Model) -> tuple[Any, dict[str, str], d.Done | None]:
    assembler = Assembler(speaker, 1)
    for delta in deltas:
        assembler.feed(delta)
    return assembler.message(assembler.stop_reason), assembler.broken, assembler.done


@EVERY
@pytest.mark.parametrize("ends", ["\n", pytest.param("\r\n", marks=pytest.mark.soak)], ids=["lf", "crlf"])
def test_stream_split_at_every_byte_gives_the_same_deltas(spoken: Dialect, ends: str) -> None:
    speaker, stream = speaker_of(spoken), b"".join(stream_of(spoken, ends=ends))

    async def main() -> None:
        whole = await deltas_of(speaker, REQUEST, stream)
        assert joined(whole, speaker)[2] == d.Done("toolUse")
        for cut in range(1, len(stream)):
            await asyncio.sleep(0)
            assert await deltas_of(speaker, REQUEST, stream[:cut], stream[cut:]) == whole, stream[:cut]
        each = [stream[at : at + 1] for at in range(len(stream))]
        assert await deltas_of(speaker, REQUEST, *each) == whole

    asyncio.run(main())


@EVERY
def test_stream_that_ends_at_any_byte_is_an_error_and_runs_nothing(spoken: Dialect) -> None:
    speaker, events = speaker_of(spoken), stream_of(spoken)
    stream = b"".join(events)
    claim = next(at for at, event in enumerate(events) if spoken.claim in event)
    # An event counts once its last line is complete; the blank line after it may be missing.
    complete = len(b"".join(events[: claim + 1 + spoken.after_claim]).rstrip())

    async def main() -> None:
        whole = joined(await deltas_of(speaker, REQUEST, stream), speaker)
        for cut in range(len(stream)):
            await asyncio.sleep(0)
            try:
                found = await deltas_of(speaker, REQUEST, stream[:cut])
            except ProviderError as error:
                assert error.retryable, stream[:cut]
                assert cut < complete + 2, stream[:cut]
                continue
            assert cut >= complete, stream[:cut]
            message, broken, done = joined(found, speaker)
            assert (message.content, broken, done) == (whole[0].content, {}, whole[2])

    asyncio.run(main())


@EVERY
def test_every_dialect_reads_the_same_answer(spoken: Dialect) -> None:
    speaker = speaker_of(spoken)
    read, broken, _ = joined(asyncio.run(deltas_of(speaker, REQUEST, b"".join(stream_of(spoken)))), speaker)
    assert read.text == 'Let "me" \U0001f600 see.'
    first, second = read.tool_calls
    assert (first.id, first.name, first.arguments) == ("c1", "read", {"path": "a\n\\b.py"})
    assert second.arguments == {"input": '*** "x"\n\t\u20ac'}
    assert second.name == ("edit" if spoken.name == "openai-responses" else "apply_patch")
    cached = 0 if spoken.name == "ollama-chat" else 3  # Ollama does not count what was cached
    assert (broken, read.usage.input, read.usage.output) == ({}, 10 - cached, 5)
    assert read.usage.cache_read == cached


@EVERY
def test_pieces_are_passed_on_as_they_come(spoken: Dialect) -> None:
    deltas = asyncio.run(deltas_of(speaker_of(spoken), REQUEST, b"".join(stream_of(spoken))))
    for kind, whole, count in ((d.ThinkingPiece, "Hm, é.", 2), (d.TextPiece, 'Let "me" \U0001f600 see.', 3)):
        texts = [delta.text for delta in deltas if isinstance(delta, kind) and delta.text]
        assert ("".join(texts), len(texts)) == (whole, count)
    arguments = [delta for delta in deltas if isinstance(delta, d.CallPiece)]
    counts = {
        "google-generative-ai": 2,
        "ollama-chat": 2,
        "openai-responses": 8,
    }  # whole; custom, with JSON around
    assert len(arguments) == counts.get(spoken.name, 6)
