"""Whatever a model sends to task, irc and yield gets a clear answer, never a crash."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from tau.ai.faux import Say
from tau.base.errors import ToolError
from tau.coding.task.yield_result import Yield
from tau.coding.tools.irc import Irc
from tau.coding.tools.task import Delegate
from tests.coding.context import CallContext
from tests.coding.task.play import Play, session_of, yielded
from tests.support.soak import seeds

VALUES: tuple[Any, ...] = (
    *(None, "", " ", "x", "all", "Main", 0, -1, 1.5, True, [], {}, [None], [{}], {"a": {"b": []}}, "é"),
    *("\0", "x" * 5000, float("nan"), [["x"]], {"data": 1}, '{"data": 2}', 10**30),
)
BASES: dict[str, dict[str, Any]] = {
    "task": {"agent": "task", "context": "c", "tasks": [{"assignment": "a", "id": "i"}]},
    "irc": {"op": "send", "to": "x", "message": "m", "await": False, "timeoutMs": 1},
    "yield": {"data": {"n": 1}},
}
NAMES = (
    "agent",
    "context",
    "tasks",
    "assignment",
    "id",
    "op",
    "to",
    "message",
    "from",
    "await",
    "peek",
    "data",
    "error",
)
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def mutated(random: random.Random, base: dict[str, Any]) -> dict[str, Any]:
    changed = {name: value for name, value in base.items() if random.random() > 0.2}
    for _ in range(random.randrange(1, 4)):
        changed[random.choice(NAMES)] = random.choice(VALUES)
    return changed


@pytest.mark.parametrize("seed", seeds(3, 50))
def test_mutated_calls_get_a_clear_answer(seed: int, tmp_path: Path, ctx: CallContext) -> None:
    chance = random.Random(seed)

    async def main() -> None:
        play = Play([[Say("ok")]], lambda assignment, turn: yielded())
        async with session_of(play, tmp_path, settings={"task.maxAgents": 5}) as session:
            tools: dict[str, Any] = {
                "task": Delegate(session.settings, session.team),
                "irc": Irc(session.team),
                "yield": Yield(SCHEMA, lambda: ""),
            }
            for name in chance.choices(list(BASES), k=100):
                try:
                    params, _ = tools[name].decode(mutated(chance, BASES[name]))
                    if name != "task" and not (name == "irc" and params.op == "wait"):
                        await tools[name].run(params, ctx)
                except ToolError as error:
                    assert str(error).strip()

    asyncio.run(main())
