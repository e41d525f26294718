"""Checkpoints: what a rewind removes from the conversation and what it leaves."""

from pathlib import Path

import msgspec
import pytest

from tau.agent.events import AgentEvent, MessageEnd, Notice
from tau.ai.apis import anthropic_body, openai_body
from tau.ai.faux import Act, Say, Use
from tau.ai.wire import AssistantMessage, BranchSummaryMessage, CustomMessage, ToolResultMessage, UserMessage
from tau.base.errors import SessionError
from tau.coding.session.checkpoints import NOTHING_YET, WARNING
from tau.coding.session.entries import BranchSummaryEntry
from tau.coding.session.storage.log import SessionLog
from tests.coding.session_rig import SessionRig

MARK = Use("checkpoint", goal="find the leak")
LOOK = Use("echo", text="a very long log")
BACK = Use("rewind", report="It leaks in a.py:3.")


def summary(work: SessionRig) -> str:
    [found] = [m.summary for m in work.log.messages() if isinstance(m, BranchSummaryMessage)]
    return found


def test_rewind_replaces_the_investigation_with_the_report(tmp_path: Path) -> None:
    work = SessionRig([[MARK], [LOOK], [LOOK], [BACK], [Say("Mended.")]], tmp_path)
    outcome = work.go("mend it")
    assert outcome.message is not None and outcome.message.text == "Mended."
    kinds = [type(message) for message in work.log.messages()]
    assert kinds == [UserMessage, AssistantMessage, ToolResultMessage, BranchSummaryMessage, AssistantMessage]
    sent = work.sent()
    assert len(sent) == 4 and "It leaks in a.py:3." in sent[-1] and "find the leak" in sent[-1]
    assert not any("a very long log" in text for text in sent)
    assert work.checkpoints.active is None


def test_investigation_stays_in_the_tree(tmp_path: Path) -> None:
    work = SessionRig([[MARK], [LOOK], [BACK], [Say("ok")]], tmp_path)
    work.go()
    [entry] = [e for _, e in work.log.entries() if isinstance(e, BranchSummaryEntry)]
    left = [node.id for node in work.log.branch(entry.from_id)]
    assert entry.from_id in left and len(left) == 9  # the first two: model and thinking level
    assert entry.details["kind"] == "rewind" and entry.details["goal"] == "find the leak"


def test_rewind_waits_for_the_other_calls_of_its_answer(tmp_path: Path) -> None:
    work = SessionRig([[LOOK, MARK, LOOK], [LOOK, BACK, LOOK], [Say("ok")]], tmp_path)
    work.go()
    # All results of the answer that made the checkpoint stay, and none of the one that rewound.
    assert len(work.results) == 3
    requests = work.faux.requests
    assert [type(m) for m in requests[-1].messages].count(ToolResultMessage) == 3


def test_touched_files_are_remembered(tmp_path: Path) -> None:
    write = Use("write", path="b.txt", content="x")
    work = SessionRig([[MARK], [write], [BACK], [Say("ok")]], tmp_path)
    work.go()
    [entry] = [e for _, e in work.log.entries() if isinstance(e, BranchSummaryEntry)]
    assert [Path(path).name for path in entry.details["modifiedFiles"]] == ["b.txt"]
    assert (tmp_path / "b.txt").read_text() == "x"


def test_user_messages_during_the_investigation_are_kept(tmp_path: Path) -> None:
    work = SessionRig([], tmp_path)
    steer = Act(lambda: work.queue.steer(UserMessage("mind the tests\ntoo", 5)))
    work.follow([[MARK], [steer, LOOK], [BACK], [Say("ok")]])
    work.go()
    assert summary(work).endswith("Meanwhile the user said:\n\n> mind the tests\n> too")


def test_rewind_keeps_2000_characters_of_a_user_message(tmp_path: Path) -> None:
    work = SessionRig([], tmp_path)
    whole, long = UserMessage("x" * 2_000, 5), UserMessage("y" * 2_001, 6)
    steer = [Act(lambda: work.queue.steer(whole)), Act(lambda: work.queue.follow_up(long))]
    work.follow([[MARK], [*steer, LOOK], [Say("hm")], [BACK], [Say("ok")]])
    work.go()
    assert summary(work).endswith(f"> {'x' * 2_000}\n\n> {'y' * 1_999}…")


def test_message_right_after_the_checkpoint_is_kept_unchanged(tmp_path: Path) -> None:
    work = SessionRig([], tmp_path)
    work.follow([[MARK, LOOK], [BACK], [Say("ok")]])

    def steer(event: AgentEvent) -> None:
        if _ends(event, "checkpoint"):
            work.queue.steer(UserMessage("look at b.py", 5))

    work.subscribe(steer)
    work.go()
    texts = [m.content for m in work.log.messages() if isinstance(m, UserMessage)]
    assert texts == ["go", "look at b.py"] and "Meanwhile" not in summary(work)


def _ends(event: object, tool: str) -> bool:
    return (
        isinstance(event, MessageEnd)
        and isinstance(event.message, ToolResultMessage)
        and event.message.tool_name == tool
    )


def test_rewind_in_the_same_answer_as_its_checkpoint_is_refused(tmp_path: Path) -> None:
    work = SessionRig([[MARK, BACK], [LOOK], [BACK], [Say("ok")]], tmp_path)
    work.go()
    assert NOTHING_YET in work.results and "It leaks" in summary(work)


def test_no_second_checkpoint_until_the_first_is_closed(tmp_path: Path) -> None:
    work = SessionRig([[MARK], [MARK], [BACK], [MARK], [LOOK], [BACK], [Say("ok")]], tmp_path)
    work.go()
    assert work.checkpoints.active is None
    summaries = [m for m in work.log.messages() if isinstance(m, BranchSummaryMessage)]
    assert len(summaries) == 2 and work.results[-1].startswith("Checkpoint created.")
    assert any("already active" in text for text in work.sent(2))


def test_model_that_stops_with_an_open_checkpoint_is_warned(tmp_path: Path) -> None:
    work = SessionRig([[MARK], [Say("Here is what I found.")], [BACK], [Say("ok")]], tmp_path)
    outcome = work.go()
    assert outcome.message is not None and outcome.message.text == "ok"
    assert work.sent(2)[-1] == WARNING and work.checkpoints.active is None


def test_warnings_are_limited_and_then_the_user_is_notified(tmp_path: Path) -> None:
    work = SessionRig([[MARK], [Say("No.")]], tmp_path)
    work.go()
    warnings = [m for m in work.log.messages() if isinstance(m, CustomMessage)]
    assert len(warnings) == 3
    notices = [event.message for event in work.events if isinstance(event, Notice)]
    assert notices == ["The model stopped without a rewind; its checkpoint stays active."]
    assert work.checkpoints.active is not None and not work.queue.waiting()


def test_resumed_session_knows_its_checkpoint(tmp_path: Path) -> None:
    log = SessionLog.new(tmp_path, tmp_path)
    work = SessionRig([[MARK], [LOOK], [Say("No.")]], tmp_path, log=log)
    work.go()
    log.close()
    assert log.path is not None
    again = SessionRig([[BACK], [Say("ok")]], tmp_path, log=SessionLog.open(log.path))
    active = again.checkpoints.active
    assert active is not None and active.goal == "find the leak"
    again.go("go on")
    assert "> go on" in summary(again)
    again.log.close()


def test_rewind_interrupted_by_a_crash_completes_on_resume(tmp_path: Path) -> None:
    work = SessionRig([[MARK], [LOOK], [BACK], [Say("ok")]], tmp_path)
    work.go()
    [entry] = [e for _, e in work.log.entries() if isinstance(e, BranchSummaryEntry)]
    log = SessionLog.new(None, tmp_path)  # as it was just before the move
    for node in work.log.branch(entry.from_id):
        kept = work.log.decode(node)
        assert kept is not None
        log.append(kept)
    again = SessionRig([[Say("ok")]], tmp_path, log=log)
    again.go("go on")
    assert "It leaks" in again.sent()[-2] and again.sent()[-1] == "go on"


def test_user_can_move_back_into_the_investigation(tmp_path: Path) -> None:
    work = SessionRig([[MARK], [LOOK], [BACK], [Say("ok")]], tmp_path)
    work.go()
    [entry] = [e for _, e in work.log.entries() if isinstance(e, BranchSummaryEntry)]
    work.log.move(entry.from_id)
    work.follow([[Say("Here.")]])
    work.go("what did the log say?")
    assert any("a very long log" in text for text in work.sent())
    assert work.checkpoints.active is None


def test_other_branch_has_no_checkpoint(tmp_path: Path) -> None:
    work = SessionRig([[Say("hi")], [MARK], [LOOK], [Say("No.")]], tmp_path)
    work.go("one")
    fork = work.log.leaf
    work.go("two")
    assert work.checkpoints.active is not None
    work.log.move(fork)
    assert work.checkpoints.active is None


def test_todos_rewind_with_the_conversation(tmp_path: Path) -> None:
    todo = Use("todo", ops=[{"op": "init", "list": [{"phase": "p", "items": ["look"]}]}])
    work = SessionRig([[MARK], [todo], [todo, BACK], [Say("ok")]], tmp_path)
    work.go()
    assert work.todos.phases == ()


def test_full_disk_leaves_the_conversation_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = SessionRig([[MARK], [LOOK], [BACK], [Say("ok")]], tmp_path)
    append = work.log.append

    def fails(entry: object) -> str:
        if isinstance(entry, BranchSummaryEntry):
            raise SessionError("The disk is full.")
        return append(entry)  # type: ignore[arg-type]

    monkeypatch.setattr(work.log, "append", fails)
    work.go()
    assert [type(m) for m in work.log.messages()][-1] is AssistantMessage
    assert any("a very long log" in text for text in work.sent())
    notices = [event.message for event in work.events if isinstance(event, Notice)]
    assert notices == ["The rewind failed; the conversation is unchanged. The disk is full."]


def test_abort_after_the_rewind_still_rewinds(tmp_path: Path) -> None:
    work = SessionRig([[MARK], [LOOK], [BACK], [Say("never")]], tmp_path)
    work.subscribe(lambda event: work.abort() if _ends(event, "rewind") else None)
    assert work.go().aborted
    assert "It leaks" in summary(work)


def test_ui_receives_the_report(tmp_path: Path) -> None:
    work = SessionRig([[MARK], [LOOK], [BACK], [Say("ok")]], tmp_path)
    work.go()
    notices = [e.message for e in work.events if isinstance(e, MessageEnd)]
    [report] = [message for message in notices if isinstance(message, BranchSummaryMessage)]
    assert "It leaks in a.py:3." in report.summary


def test_both_dialects_can_send_the_rewound_context(tmp_path: Path) -> None:
    work = SessionRig([[LOOK, MARK, LOOK], [LOOK], [BACK, LOOK], [Say("ok")]], tmp_path)
    work.go()
    request = work.faux.requests[-1]
    messages = anthropic_body.build_body(work.models.default, request)["messages"]
    assert [m["role"] for m in messages] == ["user", "assistant", "user", "user"]
    calls = [part["id"] for part in messages[1]["content"] if part["type"] == "tool_use"]
    results = [part["tool_use_id"] for part in messages[2]["content"] if part["type"] == "tool_result"]
    assert calls == results and len(calls) == 3
    rows = msgspec.to_builtins(openai_body.build_body(work.models.default, request))["messages"]
    assert [row["role"] for row in rows] == ["system", "user", "assistant", "tool", "tool", "tool", "user"]
    assert [call["id"] for call in rows[2]["tool_calls"]] == [row["tool_call_id"] for row in rows[3:6]]
