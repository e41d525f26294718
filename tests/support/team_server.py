"""A fake server whose agents follow a function, whatever the order in which they ask."""

from collections.abc import Callable, Iterable
from typing import Any

from tests.support.fake_answers import Answer, Call, Scriptable, Text, scripted
from tests.support.fake_dialects import Dialect
from tests.support.fake_play import Document, Step
from tests.support.fake_server import FakeServer, Recorded

AgentScript = Callable[[str, int], Scriptable]
"""From the assignment and how many answers the agent has had to its next answer."""


class TeamServer(FakeServer):
    """The script is that of the main conversation. For the dialect openai-completions."""

    def __init__(self, agent: AgentScript, **options: Any) -> None:
        super().__init__(**options)
        self._agent = agent

    def _answer(self, request: Recorded, dialect: Dialect | None) -> Document | Iterable[Step]:
        body = request.body if isinstance(request.body, dict) else {}
        names = [tool.get("function", {}).get("name") for tool in body.get("tools", [])]
        if "yield" not in names:
            return super()._answer(request, dialect)
        messages = body["messages"]
        first = next(str(one["content"]) for one in messages if one["role"] == "user")
        turn = sum(one["role"] == "assistant" for one in messages)
        kept, self._script = self._script, [scripted(self._agent(first, turn))]
        try:
            return super()._answer(request, dialect)
        finally:
            self._script = kept


def delegate(*assignments: str, agent: str = "task", **item: Any) -> Answer:
    """The answer that starts agents named A1, A2 and so on."""
    tasks = [{"id": f"A{at}", "assignment": text, **item} for at, text in enumerate(assignments, 1)]
    return Answer((Call("task", {"agent": agent, "context": "Shared.", "tasks": tasks}),))


def hand_over(data: Any = "done") -> Answer:
    return Answer((Call("yield", {"data": data}),))


def say(text: str) -> Answer:
    return Answer((Text(text),))
