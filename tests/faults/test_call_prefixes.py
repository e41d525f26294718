"""Arguments of a file-changing call, cut off after each byte: nothing is touched, the run continues."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from tau.ai import dialect as d
from tau.ai.apis import dialect
from tau.ai.http import HttpTransport
from tau.ai.model import Model
from tau.ai.wire import AppMessage, ToolResultMessage
from tau.base.errors import ProviderError
from tau.coding.session.session import Session
from tau.hashline.snapshots import tag_of
from tau.sdk import SessionOptions, create_session
from tests.ai.dialect_client import model
from tests.support.fake_answers import Answer, Call
from tests.support.fake_bedrock import Bedrock
from tests.support.fake_dialects import DIALECTS, Dialect
from tests.support.fake_google import Google
from tests.support.next_request import problems
from tests.support.raw_server import raw_server, read_head

OLD = 'one\ntwo "2" \U0001f600\nthree\n'
NEW = 'one\nTWO "2" ä \\ \U0001f600\nthree\n'
PATCH = """*** Begin Patch
*** Update File: a.txt
@@
-two "2" \U0001f600
+TWO "2" ä \\ \U0001f600
*** End Patch"""
CALLS: dict[str, tuple[str, str, dict[str, str]]] = {
    "write": ("write", "hashline", {"path": "a.txt", "content": NEW}),
    "hashline": (
        "edit",
        "hashline",
        {"input": f'¶a.txt#{tag_of(OLD)}\nreplace 2..2:\n+TWO "2" ä \\ \U0001f600'},
    ),
    "replace": ("edit", "replace", {"path": "a.txt", "old_text": 'two "2"', "new_text": 'TWO "2" ä \\'}),
    "apply_patch": ("edit", "apply_patch", {"input": PATCH}),
}
NO_RETRIES = {"retry.maxRetries": 0}
PROMPTS_PER_SESSION = 40


def spellings(arguments: dict[str, str]) -> Iterator[str]:
    """The same JSON as a model may write it: raw and escaped characters, with and without blanks."""
    yield msgspec.json.encode(arguments).decode()
    yield f" {json.dumps(arguments, indent=1)}\n"


class CutStream:
    """A model whose only call is truncated as told; asked again, it says that it is done."""

    def __init__(self) -> None:
        self.tool = ""
        self.pieces = [""]
        self.ending = ""
        self.session: Session | None = None
        self.number = 0
        self.fresh = False

    def next(self, tool: str, prefix: str, ending: str) -> None:
        middle = len(prefix) // 2
        self.tool = tool
        self.pieces, self.ending, self.fresh = [prefix[:middle], prefix[middle:]], ending, True

    async def stream(self, model: Model, request: d.Request) -> AsyncGenerator[d.Delta, None]:
        if not self.fresh:
            yield d.TextPiece("Done.")
            yield d.Done("stop")
            return
        self.fresh = False
        self.number += 1
        yield d.CallStart(0, f"call_{self.number}", self.tool)
        for piece in self.pieces:
            yield d.CallPiece(0, piece)
        if self.ending == "error":
            raise ProviderError("The server is gone.")
        if self.ending == "abort":
            assert self.session is not None
            self.session.abort()
            await asyncio.Event().wait()
        if self.ending in ("toolUse", "length", "cut off"):
            yield d.CallEnd(0, d.CUT_OFF if self.ending == "cut off" else "")
        if self.ending == "overtaken":
            yield d.CallStart(0, f"other_{self.number}", "read")
            yield d.CallPiece(0, '{"path": "a.txt"}')
            yield d.CallEnd(0)
        if self.ending != "silence":
            yield d.Done(REASONS.get(self.ending, "toolUse"))


CUT_OFF = ("cut off", "overtaken")  # never run, however whole they look
ENDINGS = ("toolUse", "open toolUse", "length", "stop", "error", "silence", "abort", *CUT_OFF)
REASONS: dict[str, Literal["stop", "length"]] = {"stop": "stop", "length": "length"}


def check_history(messages: list[AppMessage]) -> None:
    """Every vendor would accept it as the next request."""
    assert problems(messages) == []


def results(messages: list[AppMessage]) -> list[ToolResultMessage]:
    return [message for message in messages if isinstance(message, ToolResultMessage)]


async def cut_everywhere(name: str, whole: str, folder: Path, every: int) -> None:
    """After each byte, with one in `every` of the endings; with all of them where the arguments are whole."""
    tool, mode, _ = CALLS[name]
    target = folder / "a.txt"
    target.write_text(OLD)
    cuts = [
        (cut, ending)
        for number, ending in enumerate(ENDINGS)
        for cut in range(len(whole) + 1)
        if (cut + number) % every == 0 or cut >= len(whole.rstrip()) - 1
    ]
    count = len(cuts)
    ran = tried = 0
    while cuts:
        model = CutStream()
        settings = {**NO_RETRIES, "edit.mode": mode}
        options = SessionOptions(cwd=folder, stream=model.stream, save=False, settings=settings)
        async with create_session(options) as session:
            model.session = session
            model.next("read", '{"path": "a.txt"}', "toolUse")
            await session.prompt("look at it first")
            for _ in cuts[:PROMPTS_PER_SESSION]:
                cut, ending = cuts.pop()
                tried += 1
                model.next(tool, whole[:cut], ending)
                outcome = await session.prompt("go")
                answered = [result for result in results(outcome.messages) if result.tool_name == tool]
                claimed = ending in ("toolUse", "open toolUse")
                runs = claimed and whole[:cut].rstrip() == whole.rstrip()
                assert len(answered) == (claimed or ending in ("length", *CUT_OFF))
                assert all(result.is_error != runs for result in answered), answered
                assert target.read_text() == (NEW if runs else OLD), (whole[:cut], ending)
                assert [entry.name for entry in folder.iterdir()] == ["a.txt"]
                if runs:
                    ran += 1
                    target.write_text(OLD)
                    break
            check_history(session.log.messages())
    assert ran >= 2 and tried == count


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("spelling", [0, 1])
@pytest.mark.parametrize("name", CALLS)
def test_truncated_arguments_touch_nothing(name: str, spelling: int, every: int, tmp_path: Path) -> None:
    whole = list(spellings(CALLS[name][2]))[spelling]
    asyncio.run(cut_everywhere(name, whole, tmp_path, every))


async def cut_answer(speaker: Model, spoken: Dialect, folder: Path, every: int) -> None:
    """The answer as bytes on a socket; closing the connection ends a body without a length."""
    target = folder / "a.txt"
    call = Call("write", {"path": "a.txt", "content": NEW}, deltas=3)
    parts = list(spoken.events(Answer((call,)), {}))
    events = b"".join(parts)
    claim = max(at for at, part in enumerate(parts) if spoken.claim in part)
    claimed = len(b"".join(parts[: claim + 1]).rstrip())
    done = b"".join(spoken.events(Answer.text("Done."), {}))
    waiting = [b""]

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        writer.write(waiting.pop() if waiting else done)

    http = HttpTransport({})
    async with AsyncExitStack() as stack:
        stack.push_async_callback(http.close)
        address = await stack.enter_async_context(raw_server(talk))
        endpoint = d.Endpoint(base_url=f"http://{address}", key=None)
        for cut in [*range(0, len(events), every), len(events)]:
            target.write_text(OLD)
            waiting[:] = [events[:cut]]
            options = SessionOptions(
                cwd=folder,
                stream=lambda _, request: dialect(speaker.api)(speaker, request, endpoint, http),
                save=False,
                settings=NO_RETRIES,
            )
            async with create_session(options) as session:
                outcome = await session.prompt("go")
                ran = any(not result.is_error for result in results(outcome.messages))
                check_history(session.log.messages())
            assert target.read_text() == (NEW if ran else OLD), events[:cut]
            assert not ran or cut >= claimed, events[:cut]  # nothing relevant follows the claim
    assert ran


@pytest.mark.parametrize("every", [17, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("spoken", DIALECTS.values(), ids=lambda spoken: spoken.name)
def test_answer_cut_off_in_transit_touches_nothing(spoken: Dialect, every: int, tmp_path: Path) -> None:
    asyncio.run(cut_answer(model(spoken.name), spoken, tmp_path, every))


def unfinished_in_google(
    spoken: Google, mine: list[bytes], other: list[bytes], text: list[bytes], *, has_arguments: bool
) -> Iterator[tuple[str, list[bytes]]]:
    """A call comes in one event; without arguments it is complete."""
    begun, end = [event for event in mine if spoken.claim not in event], mine[-1:]
    yield "the connection closes", begun
    yield "the answer has no reason to end", [*begun, mine[0]]
    if has_arguments:
        yield "the answer ends", [*begun, *end]
        yield "another call follows", [*begun, *other[1:]]
        yield "another answer starts", [*begun, *text]


def unfinished_in_bedrock(
    spoken: Bedrock, mine: list[bytes], other: list[bytes], text: list[bytes]
) -> Iterator[tuple[str, list[bytes]]]:
    begun = [event for event in mine[:-2] if b"contentBlockStop" not in event]
    renumbered = [spoken.replaced(e, b'contentBlockIndex":0', b'contentBlockIndex":1') for e in other[1:]]
    yield "another call takes its place", [*begun, *other[1:]]
    yield "the next block starts", [*begun, *renumbered]
    yield "text takes its place", [*begun, *text[1:]]
    yield "the answer ends", [*begun, *mine[-2:]]
    yield "another answer with a call starts", [*begun, *other]
    yield "another answer starts", [*begun, *text]


def unfinished(spoken: Dialect, tool: str, arguments: str) -> Iterator[tuple[str, list[bytes]]]:
    """Every way to leave a call unfinished in an answer that ends as if nothing were wrong."""
    mine = list(spoken.events(Answer((Call(tool, json=arguments, id="cut", deltas=2),)), {}))
    other = list(spoken.events(Answer((Call("read", {"path": "a.txt"}, id="other"),)), {}))
    text = list(spoken.events(Answer.text("Done."), {}))
    if spoken.name == "anthropic-messages":
        begun, end, rest = mine[:-3], other[-2:], mine[-3:]
        assert b"content_block_stop" in rest[0] and b"message_start" in other[0]
        again = [event.replace(b"msg_fake", b"msg_other") for event in (*other, *text)]
        yield "another call takes its place", [*begun, *other[2:]]
        yield "text takes its place", [*begun, *text[2:-2], *end]
        yield "the answer ends", [*begun, *end]
        yield "the answer starts over", [*begun, *other]
        yield "another answer with a call starts", [*begun, *again[: len(other)]]
        yield "another answer starts", [*begun, *again[len(other) :]]
        yield "the next block starts", [*begun, *(e.replace(b'"index":0', b'"index":1') for e in other[2:])]
    elif isinstance(spoken, Google):
        yield from unfinished_in_google(spoken, mine, other, text, has_arguments=bool(arguments))
    elif isinstance(spoken, Bedrock):
        yield from unfinished_in_bedrock(spoken, mine, other, text)
    elif spoken.name == "openai-responses":
        begun = mine[: max(n for n, e in enumerate(mine) if b"_arguments." in e)]  # without the final version
        completed = other[-1].replace(b'"output":[', b'"output":[],"was":[')
        assert b"output_item.added" in other[1] and b"response.completed" in completed
        again = [event.replace(b"resp_fake", b"resp_other") for event in (*other, *text)]
        yield "another call takes its place", [*begun, *other[1:]]
        yield "text takes its place", [*begun, *text[1:]]
        yield "the answer ends", [*begun, completed]
        yield "another answer with a call starts", [*begun, *again[: len(other)]]
        yield "another answer starts", [*begun, *again[len(other) :]]
        moved = (
            event.replace(b'"output_index":0', b'"output_index":1') for event in (*other[1:-1], completed)
        )
        yield "the next item starts", [*begun, *moved]
        unfinished = mine[-2].replace(b'"status":"completed"', b'"status":"incomplete"')
        yield "the call is marked as incomplete", [*begun, unfinished, completed]
    else:
        begun, end = mine[: max(n for n, e in enumerate(mine) if b'tool_calls":[' in e) + 1], mine[-2:]
        yield "another call takes its place", [*begun, *other[1:]]
        numbered = b'"tool_calls":[{"index":0,'
        bare = [event.replace(numbered, b'"tool_calls":[{') for event in (*begun, *other[1:])]
        yield "a call without an index follows", bare
        yield "another answer with text starts", [*begun, *text]
        yield "the answer ends without a reason", [*begun, b"data: [DONE]\n\n"]
        if arguments:  # a server may omit empty arguments
            yield "the answer ends", [*begun, *end]


@pytest.mark.parametrize("spoken", DIALECTS.values(), ids=lambda spoken: spoken.name)
def test_call_overtaken_by_a_second_answer_does_not_write_half_a_file(
    spoken: Dialect, tmp_path: Path
) -> None:
    target = tmp_path / "a.txt"
    whole = msgspec.json.encode({"path": "a.txt", "content": NEW}).decode()
    cuts = [("write", whole[:cut]) for cut in (0, len(whole) // 2, len(whole) - 1)]
    played: list[bytes] = []
    done = b"".join(spoken.events(Answer.text("Done."), {}))

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        writer.write(played.pop() if played else done)

    async def main() -> None:
        speaker, http = model(spoken.name), HttpTransport({})
        async with AsyncExitStack() as stack:
            stack.push_async_callback(http.close)
            address = await stack.enter_async_context(raw_server(talk))
            endpoint = d.Endpoint(base_url=f"http://{address}", key=None)
            for tool, arguments in [*cuts, ("job", "")]:
                for way, events in unfinished(spoken, tool, arguments):
                    target.write_text(OLD)
                    played[:] = [b"".join(events)]
                    options = SessionOptions(
                        cwd=tmp_path,
                        stream=lambda _, request: dialect(speaker.api)(speaker, request, endpoint, http),
                        save=False,
                        settings=NO_RETRIES,
                    )
                    async with create_session(options) as session:
                        outcome = await session.prompt("go")
                        check_history(session.log.messages())
                    mine = [result for result in results(outcome.messages) if result.tool_name == tool]
                    assert all(result.is_error for result in mine), (way, tool, arguments)
                    assert mine or outcome.error is not None, (way, tool, arguments)
                    assert target.read_text() == OLD, (way, arguments)

    asyncio.run(main())
