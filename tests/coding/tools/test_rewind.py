"""The rewind tool in a conversation."""

import pytest

from tau.base.errors import ToolError
from tau.coding.ports import MAX_REPORT_CHARS
from tau.coding.session.checkpoints import NOTHING_YET
from tau.coding.tools.checkpoint import MarkCheckpoint
from tau.coding.tools.rewind import Rewind, RewindDetails
from tests.coding.context import CallContext, call_in_conversation, call_now, text_of


@pytest.fixture
def marked(ctx: CallContext) -> CallContext:
    call_in_conversation(MarkCheckpoint(), ctx, goal="find it")
    return ctx


def test_report_is_passed_on_stripped(marked: CallContext) -> None:
    output = call_in_conversation(Rewind(), marked, report="  It is in a.py:3.\n")
    assert output.details == RewindDetails(report="It is in a.py:3.", rewound=True)
    assert "returns to the checkpoint" in text_of(output)


@pytest.mark.parametrize("report", ["", " \n ", "x" * (MAX_REPORT_CHARS + 1)], ids=["empty", "blank", "long"])
def test_empty_or_oversized_report_is_refused(marked: CallContext, report: str) -> None:
    with pytest.raises(ToolError, match="report"):
        call_in_conversation(Rewind(), marked, report=report)
    assert marked.checkpoints is not None and marked.checkpoints.active is not None


def test_rewind_needs_a_checkpoint(ctx: CallContext) -> None:
    with pytest.raises(ToolError, match="no active checkpoint"):
        call_now(Rewind(), ctx, report="done")
    ctx.checkpoints = None
    with pytest.raises(ToolError, match="subagent"):
        call_now(Rewind(), ctx, report="done")


def test_session_objection_is_reported(marked: CallContext) -> None:
    with pytest.raises(ToolError) as caught:
        call_now(Rewind(), marked, report="done")  # in the very answer that made the checkpoint
    assert str(caught.value) == NOTHING_YET
