"""The operations on a todo list and its invariants."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from tau.coding.todo.list import (
    MAX_TASKS,
    MAX_TEXT_CHARS,
    CompletedTask,
    NewPhase,
    Phases,
    TodoItem,
    TodoOp,
    TodoPhase,
    apply_ops,
    completed_between,
    normalized,
    open_tasks,
    tasks_of,
    without_closed,
)

TWO = [{"phase": "Build", "items": ["a", "b"]}, {"phase": "Ship", "items": ["c"]}]
INIT = {"op": "init", "list": TWO}


def ops(*wanted: dict[str, Any]) -> list[TodoOp]:
    return msgspec.convert(list(wanted), list[TodoOp])


def done(*wanted: dict[str, Any], phases: Phases = ()) -> tuple[Phases, list[str]]:
    return apply_ops(phases, ops(*wanted))


def states(phases: Phases) -> dict[str, str]:
    return {task.content: task.status for _, task in tasks_of(phases)}


def test_new_list_replaces_the_old_one_and_starts_its_first_task() -> None:
    phases, errors = done(INIT, phases=(TodoPhase("Old", (TodoItem("x"),)),))
    assert not errors
    assert [phase.name for phase in phases] == ["Build", "Ship"]
    assert states(phases) == {"a": "in_progress", "b": "pending", "c": "pending"}


def test_next_task_starts_when_one_is_done() -> None:
    phases, _ = done(INIT, {"op": "done", "task": "a"})
    assert states(phases) == {"a": "completed", "b": "in_progress", "c": "pending"}


def test_starting_a_task_returns_the_other_to_pending() -> None:
    phases, _ = done(INIT, {"op": "start", "task": "c"})
    assert states(phases) == {"a": "pending", "b": "pending", "c": "in_progress"}


@pytest.mark.parametrize("status", ["completed", "abandoned"])
def test_closed_task_can_be_started_again(status: Any) -> None:
    before = (TodoPhase("p", (TodoItem("a", status), TodoItem("b", "in_progress"))),)
    phases, errors = done({"op": "start", "task": "a"}, phases=before)
    assert not errors and states(phases) == {"a": "in_progress", "b": "pending"}


@pytest.mark.parametrize(("op", "status"), [("done", "completed"), ("drop", "abandoned")])
def test_phase_or_everything_can_be_closed_at_once(op: str, status: str) -> None:
    phases, _ = done(INIT, {"op": op, "phase": "Build"})
    assert states(phases) == {"a": status, "b": status, "c": "in_progress"}
    phases, _ = done(INIT, {"op": op})
    assert set(states(phases).values()) == {status}


def test_removing_a_phase_empties_it_and_keeps_its_name() -> None:
    phases, _ = done(INIT, {"op": "rm", "phase": "Build"})
    assert [(phase.name, len(phase.tasks)) for phase in phases] == [("Build", 0), ("Ship", 1)]
    phases, _ = done(INIT, {"op": "rm", "task": "b"})
    assert list(states(phases)) == ["a", "c"]
    phases, _ = done(INIT, {"op": "rm"})
    assert not states(phases)


def test_a_second_removal_is_an_error() -> None:
    _, errors = done(INIT, {"op": "rm", "task": "b"}, {"op": "rm", "task": "b"})
    assert errors == ['There is no task "b".']


def test_tasks_are_added_to_a_phase_that_is_created_if_needed() -> None:
    phases, errors = done(INIT, {"op": "append", "phase": "Later", "items": ["d", "e"]})
    assert not errors and phases[-1] == TodoPhase("Later", (TodoItem("d"), TodoItem("e")))
    phases, _ = done({"op": "append", "phase": "Ship", "items": ["f"]}, phases=phases)
    assert [task.content for task in phases[1].tasks] == ["c", "f"]


def test_duplicate_task_is_skipped_and_the_others_are_added() -> None:
    phases, errors = done(INIT, {"op": "append", "phase": "Ship", "items": ["a", "d"]})
    assert errors == ['Task "a" already exists.']
    assert list(states(phases)) == ["a", "b", "c", "d"]


def test_notes_accumulate_without_trailing_whitespace() -> None:
    note = {"op": "note", "task": "a", "text": "look here \n\n"}
    phases, _ = done(INIT, note, note)
    assert phases[0].tasks[0].notes == ("look here", "look here")
    assert phases[0].tasks[0].status == "in_progress"


@pytest.mark.parametrize(
    ("op", "error"),
    [
        ({"op": "init"}, "`init` needs `list`."),
        ({"op": "init", "list": [{"phase": " ", "items": ["x"]}]}, "`init` has a phase without a name."),
        ({"op": "start"}, "A task has no text."),
        ({"op": "done", "task": " "}, "A task has no text."),
        ({"op": "done", "task": "z"}, 'There is no task "z".'),
        ({"op": "drop", "phase": ""}, "The phase has no name."),
        ({"op": "drop", "phase": "z"}, 'There is no phase "z".'),
        ({"op": "append", "items": ["z"]}, "`append` needs `phase`."),
        ({"op": "append", "phase": "Ship"}, "`append` needs `items`."),
        ({"op": "append", "phase": "Ship", "items": ["\n"]}, "A task has no text."),
        ({"op": "note", "task": "a"}, "`note` needs `text`."),
        ({"op": "note", "task": "a", "text": " \n"}, "`note` needs `text`."),
    ],
)
def test_bad_operation_is_reported_and_the_others_are_applied(op: dict[str, Any], error: str) -> None:
    phases, errors = done(INIT, op, {"op": "done", "task": "a"})
    assert errors == [error]
    assert states(phases) == {"a": "completed", "b": "in_progress", "c": "pending"}


def test_empty_list_says_how_to_begin() -> None:
    assert done({"op": "start", "task": "a"})[1] == [
        'There is no task "a". The list is empty; start with `init`.'
    ]


def test_names_are_compared_without_surrounding_whitespace() -> None:
    phases, errors = done(
        {"op": "init", "list": [{"phase": " P ", "items": [" write\nit "]}]},
        {"op": "done", "task": "write it"},
        {"op": "append", "phase": "P", "items": ["b"]},
    )
    assert not errors and states(phases) == {"write it": "completed", "b": "in_progress"}


def test_list_size_is_limited_and_reported() -> None:
    many = [{"phase": "p", "items": [f"task {n}" for n in range(MAX_TASKS + 1)]}]
    phases, errors = done({"op": "init", "list": many})
    assert not phases and errors == [f"The list would have more than {MAX_TASKS} tasks."]
    _, errors = done(INIT, {"op": "note", "task": "a", "text": "x" * (MAX_TEXT_CHARS + 1)})
    assert errors == [f"The list would be longer than {MAX_TEXT_CHARS:,} characters; write less."]


def test_oversized_list_can_be_reduced() -> None:
    large = (TodoPhase("p", tuple(TodoItem(f"task {n}") for n in range(MAX_TASKS + 5))),)
    phases, errors = done({"op": "rm", "task": "task 3"}, {"op": "done", "task": "task 4"}, phases=large)
    assert not errors and len(states(phases)) == MAX_TASKS + 4


def test_completed_task_is_reported_once() -> None:
    before, _ = done(INIT, {"op": "done", "task": "a"})
    after, _ = done({"op": "done", "phase": "Build"}, {"op": "drop", "task": "c"}, phases=before)
    assert completed_between(before, after) == [CompletedTask("Build", "b")]


def test_closed_tasks_can_be_removed() -> None:
    phases, _ = done(INIT, {"op": "done", "task": "a"}, {"op": "drop", "task": "c"})
    assert [(p.name, [t.content for t in p.tasks]) for p in without_closed(phases)] == [("Build", ["b"])]
    assert list(states(without_closed(phases, ("c",)))) == ["a", "b"]
    everything, _ = done({"op": "done"}, phases=phases)
    assert without_closed(everything) == ()


NAMES = st.sampled_from(["a", "b", "c", "d", " a ", ""])
OPS = st.builds(
    TodoOp,
    op=st.sampled_from(["init", "start", "done", "drop", "rm", "append", "note", "view"]),
    phases=st.none() | st.lists(st.builds(NewPhase, NAMES, st.lists(NAMES, min_size=1)), max_size=2),
    task=st.none() | NAMES,
    phase=st.none() | NAMES,
    items=st.none() | st.lists(NAMES, min_size=1, max_size=3),
    text=st.none() | st.sampled_from(["", "note"]),
)


@given(st.lists(st.lists(OPS, min_size=1, max_size=5), max_size=5))
def test_one_task_is_in_progress_while_any_is_open(batches: list[list[TodoOp]]) -> None:
    phases: Phases = ()
    for batch in batches:
        phases, errors = apply_ops(phases, batch)
        active = [task for _, task in tasks_of(phases) if task.status == "in_progress"]
        assert len(active) == (1 if open_tasks(phases) else 0)
        assert normalized(phases) == phases
        assert all(task.content and task.content == task.content.strip() for _, task in tasks_of(phases))
        assert all(error.endswith(".") for error in errors)
        assert all(task.notes is UNSET or task.notes for _, task in tasks_of(phases))
