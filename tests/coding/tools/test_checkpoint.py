"""The tools checkpoint and rewind, over a fake conversation."""

import asyncio
from typing import Any

import pytest

from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.base.clock import from_iso
from tau.base.errors import ToolError
from tau.coding.ports import Checkpoint, Checkpoints
from tau.coding.tools.checkpoint import MarkCheckpoint
from tests.coding.context import FakeCheckpoints, text_of


class Desk:
    def __init__(self, checkpoints: Checkpoints | None) -> None:
        self.checkpoints = checkpoints


def call(tool: Tool[Any], checkpoints: Checkpoints | None, **arguments: Any) -> ToolOutput:
    params, _ = tool.decode(arguments)
    return asyncio.run(tool.run(params, Desk(checkpoints)))


def test_a_checkpoint_echoes_its_goal_and_says_what_to_do_next() -> None:
    checkpoints = FakeCheckpoints()
    output = call(MarkCheckpoint(), checkpoints, goal="find the leak")
    assert text_of(output).splitlines() == [
        "Checkpoint created.",
        "Goal: find the leak",
        "Investigate now, then call rewind with a short report.",
    ]
    assert isinstance(output.details, Checkpoint) and output.details == checkpoints.active
    assert output.details.goal == "find the leak" and from_iso(output.details.started_at) > 0


def test_there_is_one_checkpoint_at_a_time() -> None:
    checkpoints = FakeCheckpoints()
    call(MarkCheckpoint(), checkpoints, goal="one")
    with pytest.raises(ToolError, match='active already, for "one"'):
        call(MarkCheckpoint(), checkpoints, goal="two")


def test_a_subagent_has_none() -> None:
    with pytest.raises(ToolError, match="subagent"):
        call(MarkCheckpoint(), None, goal="one")


def test_a_goal_is_required() -> None:
    with pytest.raises(ToolError, match="goal"):
        MarkCheckpoint().decode({})
