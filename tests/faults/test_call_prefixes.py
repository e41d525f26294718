"""A call that changes files, its arguments cut off after each byte: nothing is touched, the talk goes on."""

import asyncio
import importlib
import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from tau.ai import dialect as d
from tau.ai.apis import dialect
from tau.ai.catalog import load_catalog
from tau.ai.http import HttpTransport
from tau.ai.model import Model
from tau.ai.normalization import normalize_history
from tau.ai.wire import AppMessage, ToolResultMessage, UserMessage
from tau.base.errors import ProviderError
from tau.coding.session.session import Session
from tau.hashline import tag_of
from tau.sdk import SessionOptions, create_session
from tests.ai.talk import model
from tests.support.fake_answers import Answer, Call
from tests.support.fake_dialects import DIALECTS, Dialect
from tests.support.raw_server import raw_server, read_head
from tests.support.validators import validate_anthropic, validate_openai

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
    """The same JSON as a model may write it: with characters as they are, and escaped, blanks included."""
    yield msgspec.json.encode(arguments).decode()
    yield f" {json.dumps(arguments, indent=1)}\n"


class CutStream:
    """A model whose only call breaks off as it is told; asked again, it says that it is done."""

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
        if self.ending in ("toolUse", "length"):
            yield d.CallEnd(0)
        if self.ending != "silence":
            yield d.Done(REASONS.get(self.ending, "toolUse"))


ENDINGS = ("toolUse", "open toolUse", "length", "stop", "error", "silence", "abort")
REASONS: dict[str, Literal["stop", "length"]] = {"stop": "stop", "length": "length"}


def check_history(messages: list[AppMessage]) -> None:
    """Every vendor would take it for the next request."""
    history = [*messages, UserMessage("go on", 99)]
    models = {one.api: one for one in load_catalog().models}
    for api, validate in (
        ("anthropic-messages", validate_anthropic),
        ("openai-completions", validate_openai),
    ):
        request = d.Request(
            system="s", messages=normalize_history(history, models[api]), tools=[], max_tokens=100
        )
        module = importlib.import_module(f"tau.ai.apis.{api.replace('-', '_')}")
        body = msgspec.to_builtins(module.build_body(models[api], request))
        assert validate(json.loads(body) if isinstance(body, bytes) else body) == []


def results(messages: list[AppMessage]) -> list[ToolResultMessage]:
    return [message for message in messages if isinstance(message, ToolResultMessage)]


async def cut_everywhere(name: str, whole: str, folder: Path) -> None:
    tool, mode, _ = CALLS[name]
    target = folder / "a.txt"
    target.write_text(OLD)
    cuts = [(cut, ending) for ending in ENDINGS for cut in range(len(whole) + 1)]
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
                answered = results(outcome.messages)
                claimed = ending in ("toolUse", "open toolUse")
                runs = claimed and whole[:cut].rstrip() == whole.rstrip()
                assert len(answered) == (claimed or ending == "length")
                assert all(result.is_error != runs for result in answered), answered
                assert target.read_text() == (NEW if runs else OLD), (whole[:cut], ending)
                assert [entry.name for entry in folder.iterdir()] == ["a.txt"]
                if runs:
                    ran += 1
                    target.write_text(OLD)
                    break
            check_history(session.log.messages())
    assert ran >= 2 and tried == len(ENDINGS) * (len(whole) + 1)


@pytest.mark.parametrize("spelling", [0, 1])
@pytest.mark.parametrize("name", CALLS)
def test_arguments_cut_off_anywhere_touch_nothing(name: str, spelling: int, tmp_path: Path) -> None:
    whole = list(spellings(CALLS[name][2]))[spelling]
    asyncio.run(cut_everywhere(name, whole, tmp_path))


async def cut_answer(speaker: Model, spoken: Dialect, folder: Path, every: int) -> None:
    """The answer as bytes on a socket; an end of the connection is the end of a body without a length."""
    target = folder / "a.txt"
    call = Call("write", {"path": "a.txt", "content": NEW}, deltas=3)
    parts = list(spoken.events(Answer((call,)), {}))
    events = b"".join(parts)
    claim = max(at for at, part in enumerate(parts) if b'_reason":"tool_' in part)
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
            assert not ran or cut >= claimed, events[:cut]  # what comes after the claim says nothing more
    assert ran


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("spoken", DIALECTS.values(), ids=lambda spoken: spoken.name)
def test_an_answer_cut_off_on_its_way_touches_nothing(spoken: Dialect, every: int, tmp_path: Path) -> None:
    asyncio.run(cut_answer(model(spoken.name), spoken, tmp_path, every))
