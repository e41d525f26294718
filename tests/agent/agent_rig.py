"""An agent with the scripted model and simple tools."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from tau.agent.agent import Agent
from tau.agent.call_context import World
from tau.agent.events import AgentEvent
from tau.agent.hooks import Hooks
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.ai.faux import FAUX_MODEL, Faux, FauxStep
from tau.ai.wire import AppMessage, TextContent, ToolResultMessage
from tau.base.errors import ToolError
from tests.support.limits import HANG_S


class EchoParams(Struct):
    text: str = ""


class Echo(Tool[EchoParams]):
    name, label, description = "echo", "Echo", "Says it back."

    async def run(self, params: EchoParams, ctx: Any) -> ToolOutput:
        ctx.update(ToolOutput.text("half"))
        return ToolOutput.text(f"echo: {params.text}")


class Sleep(Tool[EchoParams]):
    """Runs until cancelled; counts starts and cleanups."""

    name, label, description = "sleep", "Sleep", "Waits."

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.running = 0
        self.most_at_once = 0

    async def run(self, params: EchoParams, ctx: Any) -> ToolOutput:
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        self.began.set()
        try:
            await asyncio.sleep(float(params.text or 1000))
        finally:
            self.running -= 1
        return ToolOutput.text("slept")


class Alone(Sleep):
    name, label, exclusive = "alone", "Alone", True


class Broken(Tool[EchoParams]):
    name, label, description = "broken", "Broken", "Fails."

    async def run(self, params: EchoParams, ctx: Any) -> ToolOutput:
        raise ToolError("no luck") if params.text == "politely" else ZeroDivisionError("oops")


def agent(
    script: Sequence[Sequence[FauxStep]], tools: Sequence[Tool[Any]] = (), hooks: Hooks | None = None
) -> tuple[Agent, Faux, list[AgentEvent]]:
    faux = Faux(script)
    unused: Any = None
    made = Agent(
        model=FAUX_MODEL,
        stream=faux.stream,
        world=World(cwd=Path("/"), fs=unused, run=unused, artifacts=unused),
        tools=tools,
        hooks=hooks,
    )
    events: list[AgentEvent] = []
    made.subscribe(events.append)
    return made, faux, events


def names(events: Sequence[AgentEvent]) -> list[str]:
    return [str(event.__struct_config__.tag) for event in events]


async def until(condition: Callable[[], object]) -> None:
    """Wait for something without a notification; the time limit is only a guard."""
    async with asyncio.timeout(HANG_S):
        while not condition():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.001)


def results(messages: list[AppMessage]) -> list[ToolResultMessage]:
    return [message for message in messages if isinstance(message, ToolResultMessage)]


def text_of(message: ToolResultMessage) -> str:
    return "".join(part.text for part in message.content if isinstance(part, TextContent))
