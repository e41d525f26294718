"""The tool rewind, over a fake conversation."""

import pytest

from tau.base.errors import ToolError
from tau.coding.ports import MAX_REPORT_CHARS, Checkpoint
from tau.coding.tools.rewind import Rewind, RewindDetails
from tests.coding.context import FakeCheckpoints, text_of
from tests.coding.tools.test_checkpoint import call


def marked(problem: str | None = None) -> FakeCheckpoints:
    checkpoints = FakeCheckpoints(problem)
    checkpoints.mark(Checkpoint("find it", "2026-01-31T12:00:00.000Z"))
    return checkpoints


def test_the_report_is_handed_over_without_the_space_around_it() -> None:
    checkpoints = marked()
    output = call(Rewind(), checkpoints, report="  It is in a.py:3.\n")
    assert checkpoints.reports == ["It is in a.py:3."]
    assert output.details == RewindDetails(report="It is in a.py:3.", rewound=True)
    assert "goes back to the checkpoint" in text_of(output)


@pytest.mark.parametrize("report", ["", " \n ", "x" * (MAX_REPORT_CHARS + 1)], ids=["empty", "blank", "long"])
def test_a_report_that_says_nothing_or_too_much_is_refused(report: str) -> None:
    checkpoints = marked()
    with pytest.raises(ToolError, match="report"):
        call(Rewind(), checkpoints, report=report)
    assert not checkpoints.reports and checkpoints.active is not None


def test_without_a_checkpoint_there_is_nothing_to_go_back_to() -> None:
    with pytest.raises(ToolError, match="no active checkpoint"):
        call(Rewind(), FakeCheckpoints(), report="done")
    with pytest.raises(ToolError, match="subagent"):
        call(Rewind(), None, report="done")


def test_what_the_session_objects_to_is_told() -> None:
    with pytest.raises(ToolError, match="Not now"):
        call(Rewind(), marked("Not now."), report="done")
