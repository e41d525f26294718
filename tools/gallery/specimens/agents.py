"""Specimens of agents that a call starts."""

from typing import Any, Literal

from tau.coding.task.results import AgentProgress, TaskDetails
from tools.gallery.specimens.case import Result, in_all_states, one

MODEL = "anthropic/claude-sonnet-5"


def _agent(
    index: int, id: str, status: Literal["pending", "running", "completed", "failed"], task: str, **more: Any
) -> AgentProgress:
    return AgentProgress(
        index=index,
        id=id,
        agent="explore",
        agent_source="bundled",
        status=status,
        task=task,
        description=task,
        model=MODEL,
        **more,
    )


ASSIGNMENTS = {
    "agent": "explore",
    "tasks": [
        {"id": "Prices", "description": "Find where prices are rounded", "assignment": "Find the rounding."},
        {"id": "Taxes", "description": "List the tax rates", "assignment": "List the tax rates."},
        {"id": "Carts", "description": "Trace how carts close", "assignment": "Trace the carts."},
    ],
}
AT_WORK = TaskDetails(
    progress=[
        _agent(
            0,
            "Prices",
            "running",
            "Find where prices are rounded",
            current_tool="search",
            current_target="quantize",
            requests=4,
            tokens=18_400,
            cost=0.04,
            duration_ms=21_000,
        ),
        _agent(1, "Taxes", "running", "List the tax rates", waiting=True, requests=2, tokens=6_100),
        _agent(2, "Carts", "pending", "Trace how carts close"),
    ]
)
ENDED = TaskDetails(
    progress=[
        _agent(
            0, "Prices", "completed", "Find where prices are rounded", requests=7, tokens=31_000, cost=0.07
        ),
        _agent(1, "Taxes", "failed", "List the tax rates", requests=3, tokens=9_000, cost=0.02),
        _agent(2, "Carts", "completed", "Trace how carts close", requests=5, tokens=20_500, cost=0.05),
    ]
)
MANY = TaskDetails(
    progress=[
        _agent(
            number,
            f"Page{number}",
            "running",
            f"Check page {number}",
            requests=number,
            quiet_ms=90_000 if number == 3 else 0,
        )
        for number in range(1, 12)
    ]
)
SPECIMENS = [
    *in_all_states(
        "task",
        ASSIGNMENTS,
        streaming={"agent": "explore"},
        running=Result("", AT_WORK, 21_000),
        done=Result("[explore Prices completed; 7 requests]\nRounded in prices.py:21.", ENDED, 64_000),
        failed=Result("There is no agent `explorer`; there are explore, plan, review and task."),
    ),
    one(
        "task",
        "many",
        "More agents than rows; one is stalled.",
        "running",
        {"agent": "explore", "tasks": [{"id": f"Page{number}"} for number in range(1, 12)]},
        Result("", MANY, 95_000),
    ),
    one(
        "task",
        "background",
        "An agent in the background.",
        "done",
        {"agent": "explore", "assignment": "Find the rounding."},
        Result("Spawned agent `Prices` (job `Prices`). Its result follows when it yields."),
    ),
]
