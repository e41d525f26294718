"""The todo tool: what the model and the user see."""

from pathlib import Path
from typing import Any

import pytest

from tau.agent.output import ToolOutput
from tau.base.errors import ToolError
from tau.coding.todo.list import CompletedTask, TodoItem, TodoPhase
from tau.coding.tools.todo import Todo, TodoDetails
from tests.coding.context import CallContext, call_now, text_of

LIST = [{"phase": "Build", "items": ["parse", "print"]}, {"phase": "Ship", "items": ["send"]}]
INIT = {"op": "init", "list": LIST}


def change(ctx: CallContext, *ops: dict[str, Any]) -> ToolOutput:
    return call_now(Todo(), ctx, ops=list(ops))


def test_model_sees_remaining_tasks_progress_and_the_whole_list(ctx: CallContext) -> None:
    output = change(ctx, INIT, {"op": "done", "task": "parse"})
    assert text_of(output) == (
        "Remaining (2):\n- print (Build, in progress)\n- send (Ship)\n"
        'Phase 1 of 2, "Build": 1 of 2 tasks closed.\n\n'
        "Build\n  [x] parse\n  [/] print\nShip\n  [ ] send"
    )
    assert not output.is_error


def test_notes_are_shown_in_full_for_the_task_in_progress_only(ctx: CallContext) -> None:
    notes = [{"op": "note", "task": task, "text": f"{task} 1\n{task} 2"} for task in ("parse", "send")]
    text = text_of(change(ctx, INIT, *notes, {"op": "note", "task": "send", "text": "more"}))
    assert "  [/] parse\n      parse 1\n      parse 2\n" in text
    assert "  [ ] send\n      (2 notes)" in text and "send 1" not in text


def test_errors_come_first_and_the_other_operations_are_applied(ctx: CallContext) -> None:
    output = change(ctx, INIT, {"op": "done", "task": "nope"}, {"op": "drop", "phase": "Ship"})
    assert output.is_error and text_of(output).startswith('Errors: There is no task "nope".\n\nRemaining (2)')
    assert isinstance(output.details, TodoDetails) and output.details.phases == ctx.todos.phases
    assert ctx.todos.phases[1] == TodoPhase("Ship", (TodoItem("send", "abandoned"),))


def test_details_hold_the_list_and_the_tasks_just_completed(ctx: CallContext) -> None:
    first, second = change(ctx, INIT), change(ctx, {"op": "done", "task": "parse"})
    assert first.details.storage == "memory" and not first.details.completed_tasks
    assert second.details.completed_tasks == [CompletedTask("Build", "parse")]
    assert second.details.phases == ctx.todos.phases


def test_empty_list_is_reported_briefly(ctx: CallContext) -> None:
    assert text_of(change(ctx, {"op": "view"})) == "The todo list is empty."
    change(ctx, INIT)
    assert text_of(change(ctx, {"op": "rm"})) == "Todo list cleared."
    assert text_of(change(ctx, {"op": "done", "task": "x"})).startswith('Errors: There is no task "x".')


def test_finished_list_says_nothing_remains(ctx: CallContext) -> None:
    assert text_of(change(ctx, INIT, {"op": "done"})).startswith("Nothing remains")


def test_view_changes_nothing(ctx: CallContext) -> None:
    change(ctx, INIT)
    before = ctx.todos.phases
    text = text_of(change(ctx, {"op": "view"}))
    assert ctx.todos.phases is before and "[/] parse" in text


@pytest.mark.parametrize(
    "arguments",
    [
        {"ops": []},
        {},
        {"ops": [{"op": "init", "list": [{"phase": "p", "items": []}]}]},
        {"ops": [{"op": "append", "phase": "p", "items": []}]},
        {"ops": [{"op": "jump"}]},
    ],
    ids=["no operation", "nothing", "phase without tasks", "nothing to append", "unknown operation"],
)
def test_invalid_call_is_refused_before_anything_changes(arguments: dict[str, Any]) -> None:
    with pytest.raises(ToolError):
        Todo().decode(arguments)


def test_null_counts_as_an_omitted_field(ctx: CallContext) -> None:
    output = change(ctx, {**INIT, "task": None, "phase": None, "items": None, "text": None})
    assert not output.is_error


def test_it_is_exclusive_and_writes_no_file() -> None:
    params, _ = Todo().decode({"ops": [INIT]})
    assert Todo().exclusive and Todo().effects(params, Path("/")).writes == ()
