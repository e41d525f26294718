"""Reads an answer in pieces, as the client does."""

from typing import Any, Literal

from msgspec import Struct, json
from msgspec.structs import replace

from tau.ai import dialect as d
from tau.ai.assembler import Assembler
from tau.ai.model import Compat
from tau.ai.text_calls.answer import AnswerReader
from tau.ai.wire import ThinkingContent
from tests.ai.dialect_client import HELLO, model
from tests.ai.text_calls.written import TOOLS

SPEAKER = model("openai-completions", compat=Compat(text_calls=True, think_tags="written"))
REQUEST = replace(HELLO, tools=TOOLS)


class ReadAnswer(Struct):
    """`calls` are those that run, `broken` the names of those that do not."""

    text: str
    thinking: str
    calls: list[tuple[str, dict[str, Any]]]
    broken: list[str]
    done: str


def read(
    text: str, size: int = 5, *, reason: Literal["stop", "length", "toolUse"] | None = "stop", **flags: Any
) -> ReadAnswer:
    """Without a reason, the stream is cut off."""
    speaker = replace(SPEAKER, compat=replace(SPEAKER.compat, **flags)) if flags else SPEAKER
    pieces: list[d.Delta] = [d.TextPiece(text[at : at + size]) for at in range(0, len(text), size)]
    return assembled([*pieces, *([d.Done(reason)] if reason else [])], speaker)


def assembled(deltas: list[d.Delta], speaker: Any = SPEAKER) -> ReadAnswer:
    reader, assembler = AnswerReader(speaker, REQUEST), Assembler(speaker, 1)
    for delta in deltas:
        for found in reader.read(delta):
            assembler.feed(found)
    message = assembler.message("stop")
    runnable = [call for call in message.tool_calls if call.id not in assembler.broken]
    return ReadAnswer(
        message.text,
        "".join(part.thinking for part in message.content if isinstance(part, ThinkingContent)),
        [(call.name, json.decode(json.encode(call.arguments))) for call in runnable],
        [call.name for call in message.tool_calls if call.id in assembler.broken],
        assembler.done.reason if assembler.done else "",
    )
