"""A scripted model for tests, demos and offline development.

    faux = Faux([[Say("Let me look."), Use("read", path="a.py")], [Say("Done.")]])
    session = ...  # with stream=faux.stream
    faux.requests  # what it was asked

Each answer is a list of steps; the last answer repeats.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from tau.ai import dialect as d
from tau.ai.model import Model

FAUX_MODEL = Model(
    id="faux",
    name="Faux (scripted)",
    api="faux",
    provider="faux",
    base_url="",
    reasoning=True,
    input=("text", "image"),
    context_window=200_000,
    max_tokens=8_192,
)


class Say(Struct, frozen=True):
    """Text, in `pieces` deltas."""

    text: str
    pieces: int = 1


class Think(Struct, frozen=True):
    text: str
    signature: str | None = None


class Use:
    """A tool call; `cut` truncates its argument JSON after this many characters, like a length limit."""

    def __init__(self, tool: str, *, id: str = "", cut: int | None = None, **arguments: Any) -> None:
        self.tool = tool
        self.id = id
        self.cut = cut
        self.arguments = arguments


class Wait(Struct, frozen=True):
    """Silence; None waits forever."""

    seconds: float | None = None


class Fail(Struct, frozen=True):
    error: Exception


class Count(Struct, frozen=True):
    """The usage to report."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


class Stop(Struct, frozen=True):
    """End with this reason. Without it: toolUse after a call, else stop."""

    reason: d.DoneReason


class Act(Struct, frozen=True):
    """Call something at this moment, such as a user's abort; wait for it if it can be awaited."""

    action: Callable[[], object]


FauxStep: TypeAlias = Say | Think | Use | Wait | Fail | Count | Stop | Act


class Faux:
    def __init__(self, script: Sequence[Sequence[FauxStep]]) -> None:
        self._script = [list(answer) for answer in script]
        self.requests: list[d.Request] = []

    async def stream(self, model: Model, request: d.Request) -> AsyncGenerator[d.Delta, None]:
        """Replaces the real stream: same arguments, same deltas."""
        number = min(len(self.requests), len(self._script) - 1)
        self.requests.append(request)
        reason: d.DoneReason = "stop"
        for key, step in enumerate(self._script[number]):
            match step:
                case Say(text, pieces):
                    for piece in _pieces(text, pieces):
                        yield d.TextPiece(piece)
                case Think(text, signature):
                    yield d.ThinkingPiece(text)
                    if signature is not None:
                        yield d.Signature(signature)
                    yield d.BlockEnd()
                case Use():
                    reason = "toolUse"
                    yield d.CallStart(key, step.id or f"call_{len(self.requests)}_{key}", step.tool)
                    for piece in _pieces(msgspec.json.encode(step.arguments).decode()[: step.cut], 3):
                        yield d.CallPiece(key, piece)
                    yield d.CallEnd(key)
                case Wait(seconds):
                    await (asyncio.Event().wait() if seconds is None else asyncio.sleep(seconds))
                case Fail(error):
                    raise error
                case Count(input, output, cache_read, cache_write):
                    yield d.Tokens(input, output, cache_read, cache_write)
                case Stop(wanted):
                    reason = wanted
                case Act(action):
                    if isinstance(waiting := action(), Awaitable):
                        await waiting
        yield d.Done(reason)


def _pieces(text: str, count: int) -> list[str]:
    size = max(1, -(-len(text) // count))
    return [text[start : start + size] for start in range(0, len(text), size)]
