"""Calls without results, after tau ended in the middle of them."""

import pytest

from tau.ai.wire import AssistantMessage, StopReason, TextContent, ToolCall, ToolResultMessage, Usage, text_of
from tau.coding.session.lost_results import MAY_HAVE_RUN, NEVER_BEGAN, lost_results
from tau.coding.undo.journal import AnswerCalls, CallBegan, Record


def answer(stop: StopReason = "toolUse") -> AssistantMessage:
    calls = [ToolCall(id, "bash", {}) for id in ("done", "begun", "waiting")]
    return AssistantMessage([*calls], "faux", "faux", "faux", Usage(), stop, 7)


DONE = ToolResultMessage("done", "bash", [TextContent("ok")], False, 8)
RECORDS: list[Record] = [
    AnswerCalls(answer_ms=7, calls=["done", "begun", "waiting"]),
    CallBegan(call="done"),
    CallBegan(call="begun"),
]


def test_every_call_that_tau_left_gets_a_result_that_says_whether_it_ran() -> None:
    results = lost_results([answer(), DONE], lambda: RECORDS)
    assert [(result.tool_call_id, text_of(result.content), result.is_error) for result in results] == [
        ("begun", MAY_HAVE_RUN, True),
        ("waiting", NEVER_BEGAN, True),
    ]


def test_call_that_no_journal_lists_may_have_run() -> None:
    results = lost_results([answer(), DONE], list)
    assert [text_of(result.content) for result in results] == [MAY_HAVE_RUN, MAY_HAVE_RUN]


@pytest.mark.parametrize("stop", ("error", "aborted"))
def test_calls_of_a_failed_answer_never_ran_and_need_no_result(stop: StopReason) -> None:
    assert lost_results([answer(stop)], lambda: RECORDS) == []
