"""The todo list of a session: saved in the log per branch, cleared, and reminded of."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tau.agent.events import AgentEvent, Compacted, TurnEnd
from tau.ai.faux import Act, Fail, Say, Stop, Use
from tau.ai.wire import CustomMessage, UserMessage
from tau.base.errors import ProviderError, TauError
from tau.coding.session import branch_state
from tau.coding.session.entries import CompactionEntry, CustomEntry
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.todos import TodoAutoClear, TodoReminder, TodoRules, reminder_text
from tau.coding.todo.list import MAX_TASKS, TodoItem, TodoOp, TodoPhase, tasks_of
from tests.coding.session_rig import SessionRig

INIT = Use("todo", ops=[{"op": "init", "list": [{"phase": "Work", "items": ["a", "b"]}]}])
DONE_A = Use("todo", ops=[{"op": "done", "task": "a"}])
DONE = Use("todo", ops=[{"op": "done"}])
SILENT = TodoRules(reminders=False)


def states(work: SessionRig) -> dict[str, str]:
    return {task.content: task.status for _, task in tasks_of(work.todos.phases)}


def reminders(work: SessionRig) -> list[TodoReminder]:
    events: list[Any] = list(work.events)
    return [event for event in events if isinstance(event, TodoReminder)]


def hidden(work: SessionRig, kind: str) -> list[str]:
    return [
        str(message.content)
        for message in work.log.messages()
        if isinstance(message, CustomMessage) and message.custom_type == kind and not message.display
    ]


def test_list_is_restored_without_closed_tasks(tmp_path: Path) -> None:
    work = SessionRig(
        [[INIT], [DONE_A], [Say("ok")]], tmp_path, log=SessionLog.new(tmp_path, tmp_path), rules=SILENT
    )
    work.go()
    assert states(work) == {"a": "completed", "b": "in_progress"} and work.todos.storage == "session"
    work.log.close()
    assert work.log.path is not None
    again = SessionRig([[Say("ok")]], tmp_path, log=SessionLog.open(work.log.path))
    assert states(again) == {"b": "in_progress"}
    assert [task.status for _, task in tasks_of(again.todos.recorded)] == ["completed", "in_progress"]
    again.log.close()


def test_list_follows_the_branch(tmp_path: Path) -> None:
    work = SessionRig([[INIT], [Say("ok")], [DONE_A], [Say("ok")]], tmp_path, rules=SILENT)
    work.go("one")
    fork = work.log.leaf
    work.go("two")
    later = work.log.leaf
    work.log.move(fork)
    assert states(work) == {"a": "in_progress", "b": "pending"}
    work.log.move(None)
    assert states(work) == {}
    work.log.move(later)
    assert states(work) == {"b": "in_progress"}


def test_list_survives_compaction(tmp_path: Path) -> None:
    work = SessionRig([[INIT], [Say("ok")]], tmp_path, rules=SILENT)
    work.go()
    assert work.log.leaf is not None
    work.log.append(CompactionEntry(summary="short", first_kept_entry_id=work.log.leaf))
    again = SessionRig([[Say("ok")]], tmp_path, log=work.log)
    assert states(again) == {"a": "in_progress", "b": "pending"}


def test_list_survives_compaction_of_a_session_too_long_to_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(branch_state, "MAX_PAST_STOP", 3)
    work = SessionRig([[INIT], [Say("ok")]], tmp_path, rules=SILENT)
    for _ in range(4):
        work.go()
    assert work.log.leaf is not None
    work.log.append(CompactionEntry(summary="short", first_kept_entry_id=work.log.leaf))
    work._parts.events.emit(Compacted("short", 9_000, 1_000))
    again = SessionRig([[Say("ok")]], tmp_path, log=work.log)
    assert states(again) == {"a": "in_progress", "b": "pending"}


def test_nested_call_is_saved_too(tmp_path: Path) -> None:
    work = SessionRig([[INIT], [Use("indirect", text="a")], [Say("ok")]], tmp_path, rules=SILENT)
    work.go()
    again = SessionRig([[Say("ok")]], tmp_path, log=work.log)
    assert states(work) == {"a": "completed", "b": "in_progress"} and states(again) == {"b": "in_progress"}


def test_foreign_log_entries_are_not_mistaken_for_the_list(tmp_path: Path) -> None:
    work = SessionRig([[INIT], [Say("ok")]], tmp_path, rules=SILENT)
    work.go()
    work.log.append(CustomEntry(custom_type="other", data={"phases": []}))
    work.log.append(CustomEntry(custom_type="user_todo_edit", data={"phases": "damaged"}))
    assert states(work) == {"a": "in_progress", "b": "pending"}


def test_model_that_stops_early_is_reminded_a_limited_number_of_times(tmp_path: Path) -> None:
    work = SessionRig([[INIT], [Say("Enough.")]], tmp_path, rules=TodoRules(max_reminders=2))
    work.go()
    reported = reminders(work)
    assert [(event.attempt, event.max_attempts) for event in reported] == [(1, 2), (2, 2)]
    assert [task.content for task in reported[0].todos] == ["a", "b"]
    assert len(work.faux.requests) == 4 and len(hidden(work, "todo-reminder")) == 2
    assert "- a\n- b" in work.sent()[-1] and "reminder 2 of 2" in work.sent()[-1]
    work.go("again")
    assert len(reminders(work)) == 4  # a new user message resets the reminders


def test_model_that_continues_after_a_reminder_can_finish(tmp_path: Path) -> None:
    work = SessionRig([[INIT], [Say("Enough.")], [DONE], [Say("All done.")]], tmp_path)
    outcome = work.go()
    assert outcome.message is not None and outcome.message.text == "All done."
    assert len(reminders(work)) == 1


@pytest.mark.parametrize(
    ("last", "rules"),
    [
        ([Say("Enough.")], SILENT),
        ([Say("Enough.")], TodoRules(max_reminders=0)),
        ([Say("Shall I go on?\n")], TodoRules()),
        ([Say("Cut"), Stop("length")], TodoRules()),
        ([Say("Hm"), Fail(ProviderError("gone"))], TodoRules()),
    ],
    ids=["switched off", "none allowed", "asks the user", "cut off", "failed"],
)
def test_no_reminder_when_there_is_a_reason_to_stop(tmp_path: Path, last: Any, rules: TodoRules) -> None:
    work = SessionRig([[INIT], last], tmp_path, rules=rules)
    work.go()
    assert not reminders(work) and len(work.faux.requests) == 2


def test_user_message_comes_before_a_reminder(tmp_path: Path) -> None:
    work = SessionRig([], tmp_path)
    follow = Act(lambda: work.queue.follow_up(UserMessage("and this", 5)))
    work.follow([[INIT], [Say("Enough."), follow], [DONE], [Say("ok")]])
    work.go()
    assert not reminders(work) and "and this" in work.sent(2)


def test_no_reminder_in_plan_mode(tmp_path: Path) -> None:
    work = SessionRig([[INIT], [Say("Enough.")]], tmp_path)
    work.plan.enter()
    work.go()
    assert not reminders(work)


def test_failed_call_is_mentioned_in_the_next_turn(tmp_path: Path) -> None:
    work = SessionRig(
        [[INIT], [Use("todo", ops=[{"op": "done", "task": "z"}])], [DONE], [Say("ok")]], tmp_path
    )
    work.go()
    assert len(hidden(work, "todo-error-reminder")) == 1
    assert work.sent(2)[-1].startswith("The last todo call reported an error")


def test_closed_tasks_leave_the_list_after_a_while(tmp_path: Path) -> None:
    work = SessionRig(
        [[INIT], [DONE_A], [Say("ok")]], tmp_path, rules=TodoRules(reminders=False, clear_delay_s=7)
    )
    work.go()
    assert [seconds for seconds, _ in work.timers.waiting] == [7]
    work.timers.ring()
    assert states(work) == {"b": "in_progress"}
    events: list[Any] = list(work.events)
    assert sum(isinstance(event, TodoAutoClear) for event in events) == 1
    assert not work.timers.waiting


def test_reopened_task_stays(tmp_path: Path) -> None:
    reopen = Use("todo", ops=[{"op": "start", "task": "a"}])
    work = SessionRig([[INIT], [DONE_A], [reopen], [Say("ok")]], tmp_path, rules=SILENT)
    work.go()
    assert not work.timers.waiting and states(work) == {"a": "in_progress", "b": "pending"}


def test_a_negative_delay_clears_nothing(tmp_path: Path) -> None:
    work = SessionRig([[INIT], [DONE], [Say("ok")]], tmp_path, rules=TodoRules(clear_delay_s=-1))
    work.go()
    assert not work.timers.waiting and states(work) == {"a": "completed", "b": "completed"}


def test_zero_delay_clears_at_once_with_the_real_clock(tmp_path: Path) -> None:
    def later(seconds: float, action: Any) -> Any:
        return asyncio.get_running_loop().call_later(seconds, action)

    work = SessionRig([[INIT], [DONE], [Say("ok")]], tmp_path, rules=TodoRules(clear_delay_s=0), later=later)
    work.go()
    assert states(work) == {}


def test_closing_stops_the_timer(tmp_path: Path) -> None:
    work = SessionRig([[INIT], [DONE_A], [Say("ok")]], tmp_path, rules=SILENT)
    work.go()
    work.todos.close()
    assert not work.timers.waiting


def test_user_edit_is_saved_and_sent_to_the_model(tmp_path: Path) -> None:
    work = SessionRig([[INIT], [Say("ok")]], tmp_path, log=SessionLog.new(tmp_path, tmp_path), rules=SILENT)
    work.go()
    work.todos.edit((TodoPhase("Mine", (TodoItem("c"), TodoItem("d", "abandoned"))),))
    assert states(work) == {"c": "in_progress", "d": "abandoned"}
    assert hidden(work, "todo-edit") == [
        "The user changed the todo list. It is now:\n- [in_progress] c (Mine)\n- [abandoned] d (Mine)"
    ]
    work.log.close()
    assert work.log.path is not None
    again = SessionRig([[Say("ok")]], tmp_path, log=SessionLog.open(work.log.path))
    assert states(again) == {"c": "in_progress"}
    assert again.todos.change([TodoOp(op="done", task="c"), TodoOp(op="done", task="z")]) == [
        'There is no task "z".'
    ]
    assert [task.status for _, task in tasks_of(again.todos.recorded)] == ["completed", "abandoned"]
    again.log.close()


def test_change_without_effect_is_not_recorded(tmp_path: Path) -> None:
    work = SessionRig([[INIT], [Say("ok")]], tmp_path, rules=SILENT)
    work.go()
    before = len(list(work.log.entries()))
    assert work.todos.change([TodoOp(op="done", task="z")]) == ['There is no task "z".']
    assert len(list(work.log.entries())) == before and hidden(work, "todo-edit") == []


def test_edit_during_a_run_waits_for_its_turn(tmp_path: Path) -> None:
    work = SessionRig([], tmp_path, rules=SILENT)
    edit = Act(lambda: work.todos.edit((TodoPhase("Mine", (TodoItem("c"),)),)))
    work.follow([[edit, Use("echo", text="x")], [Say("ok")]])
    work.go()
    assert work.sent(1)[-1].startswith("The user changed the todo list.")
    assert states(work) == {"c": "in_progress"}


def test_oversized_edit_is_refused(tmp_path: Path) -> None:
    work = SessionRig([[Say("ok")]], tmp_path)
    with pytest.raises(TauError, match=f"more than {MAX_TASKS} tasks"):
        work.todos.edit((TodoPhase("p", tuple(TodoItem(str(n)) for n in range(MAX_TASKS + 1))),))
    assert states(work) == {}


def test_late_reminder_is_withdrawn(tmp_path: Path) -> None:
    work = SessionRig([[INIT], [Say("Enough.")]], tmp_path)

    def stop(event: AgentEvent) -> None:
        if isinstance(event, TurnEnd) and not event.tool_results:
            work.abort()

    work.subscribe(stop)
    work.go()
    assert len(reminders(work)) == 1 and not work.queue.waiting()


def test_reminder_names_20_tasks_and_counts_the_others() -> None:
    tasks = [TodoItem(f"task {number}", "pending") for number in range(21)]
    assert "- task 19\nContinue" in reminder_text(tasks[:20], 1, 3)
    assert "- task 19\n- and 1 more\nContinue" in reminder_text(tasks, 1, 3)
