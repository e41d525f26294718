"""The checkpoint tool in a conversation."""

import pytest

from tau.base.clock import from_iso
from tau.base.errors import ToolError
from tau.coding.ports import Checkpoint
from tau.coding.tools.checkpoint import MarkCheckpoint
from tests.coding.context import CallContext, call_in_conversation, call_now, text_of


def test_checkpoint_echoes_its_goal_and_says_what_to_do_next(ctx: CallContext) -> None:
    output = call_in_conversation(MarkCheckpoint(), ctx, goal="find the leak")
    assert text_of(output).splitlines() == [
        "Checkpoint created.",
        "Goal: find the leak",
        "Investigate now, then call rewind with a short report.",
    ]
    assert ctx.checkpoints is not None
    assert isinstance(output.details, Checkpoint) and output.details == ctx.checkpoints.active
    assert output.details.goal == "find the leak" and from_iso(output.details.started_at) > 0


def test_only_one_checkpoint_at_a_time(ctx: CallContext) -> None:
    call_in_conversation(MarkCheckpoint(), ctx, goal="one")
    with pytest.raises(ToolError, match='already active, for "one"'):
        call_in_conversation(MarkCheckpoint(), ctx, goal="two")


def test_subagent_has_no_checkpoints(ctx: CallContext) -> None:
    ctx.checkpoints = None
    with pytest.raises(ToolError, match="subagent"):
        call_now(MarkCheckpoint(), ctx, goal="one")


def test_goal_is_required() -> None:
    with pytest.raises(ToolError, match="goal"):
        MarkCheckpoint().decode({})
