"""A session whose main conversation and agents follow a script."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tau.ai import dialect as d
from tau.ai.faux import Faux, FauxStep, Use
from tau.ai.model import Model
from tau.ai.wire import AssistantMessage, CustomMessage, ToolResultMessage, UserMessage, text_of
from tau.coding.session.session import Session
from tau.sdk import SessionOptions, create_session

Answer = Sequence[FauxStep]


def yielded(data: Any = "done", **more: Any) -> Answer:
    return [Use("yield", data=data, **more)]


def text_in(message: Any) -> str:
    content = getattr(message, "content", "")
    return content if isinstance(content, str) else text_of(content)


class Play:
    """`main` answers the main conversation in order; `agent(assignment, turn)` those of agents."""

    def __init__(self, main: Sequence[Answer], agent: Callable[[str, int], Answer]) -> None:
        self._main = Faux(main)
        self._agent = agent
        self.requests: list[d.Request] = []
        self.agent_requests: list[d.Request] = []
        self.active = 0
        self.most_active = 0

    @property
    def main_requests(self) -> list[d.Request]:
        return self._main.requests

    async def stream(self, model: Model, request: d.Request) -> AsyncGenerator[d.Delta, None]:
        self.requests.append(request)
        if not any(tool.name == "yield" for tool in request.tools):
            async for delta in self._main.stream(model, request):
                yield delta
            return
        self.agent_requests.append(request)
        first = next(message for message in request.messages if isinstance(message, UserMessage))
        turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
        self.active += 1
        self.most_active = max(self.most_active, self.active)
        try:
            async for delta in Faux([self._agent(text_in(first), turn)]).stream(model, request):
                if isinstance(delta, d.CallStart):
                    delta = d.CallStart(delta.key, f"call_{len(self.requests)}_{delta.key}", delta.name)
                yield delta
        finally:
            self.active -= 1


@asynccontextmanager
async def session_of(play: Play, cwd: Path, **more: Any) -> AsyncIterator[Session]:
    settings = {"sandbox.mode": "off", **more.pop("settings", {})}
    async with create_session(
        SessionOptions(cwd=cwd, stream=play.stream, settings=settings, **more)
    ) as session:
        yield session


async def finish(session: Session) -> None:
    """Work on results until no agent runs and nothing waits, as faces do."""
    while True:
        await session.jobs.quiet()
        if not any(item.kind == "aside" for item in session.queue.waiting()):
            return
        await session.go_on(results=True)


def results_in(session: Session) -> list[str]:
    """The results that the main conversation has seen, in order."""
    found = []
    for message in session.log.messages():
        is_job = isinstance(message, CustomMessage) and message.custom_type == "job"
        is_task = isinstance(message, ToolResultMessage) and message.tool_name == "task"
        if is_job or is_task:
            found.append(text_in(message))
    return found


def task(*assignments: str, agent: str = "task", **item: Any) -> Use:
    tasks = [{"assignment": text, **item} for text in assignments]
    return Use("task", agent=agent, context="Shared background.", tasks=tasks)


def run(work: Any) -> Any:
    return asyncio.run(work)
