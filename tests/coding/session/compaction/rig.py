"""In-memory sessions, good and bad summarizers, and what must hold after each compaction."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tau.agent.abort import Abort
from tau.agent.events import AgentEvent, Compacted, CompactionEnd, CompactionStart
from tau.agent.hooks import Hooks
from tau.agent.loop_owner import Setup
from tau.ai.dialect import Request
from tau.ai.model import Model
from tau.ai.normalization import normalize_history
from tau.ai.wire import (
    AppMessage,
    AssistantContent,
    AssistantMessage,
    TextContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from tau.coding.session.compaction.compactor import Compactor
from tau.coding.session.compaction.estimate import frame_tokens, message_tokens
from tau.coding.session.compaction.meter import Meter
from tau.coding.session.compaction.trigger import limit_tokens
from tau.coding.session.storage.log import SessionLog
from tau.config.settings import CompactionSettings
from tests.support.limits import HANG_S
from tests.support.next_request import problems

T = TypeVar("T")
GOOD = "## Goal\nMend the parser.\n\n## Progress\n### Done\nThe lexer.\n\n## Next\nThe tests."
SYSTEM = "You are an agent. RULE-7: never touch vendor/."
Answers = Callable[[Model, Request], Coroutine[Any, Any, AssistantMessage]]


def run(work: Coroutine[Any, Any, T]) -> T:
    async def guarded() -> T:
        async with asyncio.timeout(HANG_S):
            return await work

    return asyncio.run(guarded())


def model(window: int = 200_000, max_tokens: int = 8_192) -> Model:
    return Model(
        id="m",
        name="M",
        api="faux",
        provider="faux",
        base_url="",
        input=("text", "image"),
        context_window=window,
        max_tokens=max_tokens,
    )


def user(text: str) -> UserMessage:
    return UserMessage(text, 1)


def says(
    *content: AssistantContent | str, used: int = 0, stop: Any = "stop", error: str | None = None
) -> AssistantMessage:
    parts = [TextContent(part) if isinstance(part, str) else part for part in content]
    usage = Usage(input=used)
    if error is None:
        return AssistantMessage(parts, "faux", "faux", "m", usage, stop, 1)
    return AssistantMessage(parts, "faux", "faux", "m", usage, "error", 1, error)


def call(id: str, name: str, **arguments: Any) -> ToolCall:
    return ToolCall(id, name, arguments)


def result(id: str, name: str, text: str, *, error: bool = False, details: Any = None) -> ToolResultMessage:
    if details is None:
        return ToolResultMessage(id, name, [TextContent(text)], error, 1)
    return ToolResultMessage(id, name, [TextContent(text)], error, 1, details)


def step(id: str, name: str, text: str, **arguments: Any) -> list[AppMessage]:
    """An answer with one call, and its result."""
    return [says(call(id, name, **arguments), stop="toolUse"), result(id, name, text)]


def words(count: int) -> str:
    """About this many tokens of text."""
    return "alpha beta gamma delta " * max(count * 7 // 46, 1)


class Summarizer:
    """Answers summary requests; `answers` come in turn, the last one repeatedly."""

    def __init__(self, *answers: str | AssistantMessage | Exception | None) -> None:
        self._answers = answers or (GOOD,)
        self.requests: list[Request] = []

    async def __call__(self, model: Model, request: Request) -> AssistantMessage:
        answer = self._answers[min(len(self.requests), len(self._answers) - 1)]
        self.requests.append(request)
        await asyncio.sleep(0)
        if answer is None:
            await asyncio.Event().wait()
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, AssistantMessage) else says(answer or "")

    def text(self, number: int = 0) -> str:
        [message] = self.requests[number].messages
        assert isinstance(message, UserMessage) and isinstance(message.content, str)
        return message.content


class Rig:
    """A compactor over a log in memory (or in `folder`)."""

    def __init__(
        self,
        messages: Sequence[AppMessage] = (),
        *,
        model: Model,
        complete: Answers | None = None,
        hooks: Hooks | None = None,
        folder: Path | None = None,
        **settings: Any,
    ) -> None:
        self.log = SessionLog.new(folder, Path("/project"))
        self.settings = CompactionSettings(**settings)
        self.model = model
        self.events: list[AgentEvent] = []
        self.summarizer = Summarizer()
        self.abort = Abort()
        self.compactor = Compactor(
            log=self.log,
            settings=self.settings,
            complete=complete or self.summarizer,
            setup=self.setup,
            emit=self.events.append,
            hooks=hooks or Hooks(),
        )
        self.add(*messages)

    def setup(self) -> Setup:
        return Setup(
            model=self.model, thinking="off", system=SYSTEM, tools=[], max_tokens=self.model.max_tokens
        )

    def add(self, *messages: AppMessage) -> None:
        for message in messages:
            self.log.append_message(message)

    def make_room(self, reason: Any = "threshold") -> bool:
        return run(self.compactor.make_room(self.abort, reason))

    def compact(self, focus: str = "") -> Any:
        return run(self.compactor.compact(focus, self.abort))

    @property
    def summary(self) -> str:
        compaction = self.log.context().compaction
        return "" if compaction is None else compaction.summary

    @property
    def limit(self) -> int:
        reading = Meter(self.log).read(self.setup())
        return limit_tokens(self.settings, self.model.context_window, reading.frame)

    @property
    def estimated(self) -> int:
        return Meter(self.log).read(self.setup()).estimated

    def events_of(self, kind: type[T]) -> list[T]:
        return [event for event in self.events if isinstance(event, kind)]

    def check(self) -> None:
        """Every start has its end, and the next request is acceptable to all servers."""
        depth = 0
        for event in self.events:
            depth += isinstance(event, CompactionStart) - isinstance(event, CompactionEnd)
            assert depth in (0, 1)
        assert depth == 0
        assert not self.compactor.running
        assert len(self.events_of(Compacted)) >= sum(
            end.result is not None for end in self.events_of(CompactionEnd)
        )
        assert problems(self.log.messages()) == []


def request_tokens(request: Request) -> int:
    return frame_tokens(request.system, request.tools) + sum(map(message_tokens, request.messages))


def sent_tokens(rig: Rig) -> int:
    """The estimated size of the next request."""
    sent = normalize_history(rig.log.messages(), rig.model)
    return request_tokens(Request(system=SYSTEM, messages=sent, tools=[], max_tokens=1))
