"""Navigating a session's tree: where a selection leads, labels, and summaries of abandoned branches."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.agent.abort import Abort
from tau.agent.hooks import Hooks
from tau.ai.assembler import complete
from tau.ai.dialect import Request
from tau.ai.faux import FAUX_MODEL, Act, Count, Fail, Faux, FauxStep, Say, Wait
from tau.ai.model import Model
from tau.ai.wire import (
    AssistantContent,
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    ImageContent,
    TextContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from tau.base.errors import ProviderError, SessionError
from tau.coding.session import entries as s
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.tree_navigation import BranchPoint, Move, TreeNavigator
from tests.support.limits import HANG_S


def tree_of(
    log: SessionLog, script: Sequence[Sequence[FauxStep]] = ((Say("unused"),),), hooks: Hooks | None = None
) -> tuple[TreeNavigator, Faux, list[Move]]:
    faux = Faux(script)
    moves: list[Move] = []

    async def ask(model: Model, request: Request) -> AssistantMessage:
        return await complete(faux.stream, model, request)

    tree = TreeNavigator(log, hooks or Hooks(), ask, lambda: FAUX_MODEL, moved=moves.append)
    return tree, faux, moves


def memory_log() -> SessionLog:
    return SessionLog.new(None, Path("/project"))


def user(log: SessionLog, text: str) -> str:
    return log.append_message(UserMessage(text, 0))


def answer(log: SessionLog, text: str, *calls: ToolCall) -> str:
    content: list[AssistantContent] = [TextContent(text), *calls]
    return log.append_message(AssistantMessage(content, "faux", "faux", "faux", Usage(), "stop", 0))


def goto(tree: TreeNavigator, target: str, **options: Any) -> Move:
    async def main() -> Move:
        async with asyncio.timeout(HANG_S):
            return await tree.goto(target, **options)

    return asyncio.run(main())


def summary_at(log: SessionLog, id: str | None) -> s.BranchSummaryEntry:
    node = log.node(id or "")
    assert node is not None
    entry = log.decode(node)
    assert isinstance(entry, s.BranchSummaryEntry)
    return entry


def record(faux: Faux) -> str:
    (message,) = faux.requests[-1].messages
    assert isinstance(message.content, str)
    return message.content


def test_selecting_a_user_message_edits_it_and_moves_the_leaf_before_it() -> None:
    log = memory_log()
    user(log, "First")
    before = answer(log, "One")
    target = user(log, "Second")
    answer(log, "Two")
    tree, _, moves = tree_of(log)
    move = goto(tree, target)
    assert (move.leaf, move.editor_text, move.summary_id) == (before, "Second", None)
    assert log.leaf == before and moves == [move]
    assert not (move.cancelled or move.aborted or move.already_there)


def test_selecting_the_first_message_moves_to_the_root() -> None:
    log = memory_log()
    first = user(log, "First")
    answer(log, "One")
    tree, _, _ = tree_of(log)
    move = goto(tree, first)
    assert (move.leaf, log.leaf, move.editor_text) == (None, None, "First")
    again = log.node(user(log, "Other"))
    assert again is not None and again.parent_id is None
    assert [m.content for m in log.messages() if isinstance(m, UserMessage)] == ["Other"]


def test_custom_message_is_edited_like_a_user_message() -> None:
    log = memory_log()
    before = user(log, "First")
    target = log.append(
        s.CustomMessageEntry(custom_type="memo", content=[TextContent("Note"), TextContent("it")])
    )
    answer(log, "One")
    tree, _, _ = tree_of(log)
    move = goto(tree, target)
    assert (move.leaf, move.editor_text) == (before, "Note\nit")


def test_images_of_a_message_return_with_its_text() -> None:
    log = memory_log()
    picture = ImageContent("aGk=", "image/png")
    target = log.append_message(UserMessage([TextContent("See"), picture], 0))
    answer(log, "One")
    tree, _, _ = tree_of(log)
    move = goto(tree, target)
    assert (move.editor_text, move.images) == ("See", [picture])


def test_any_other_entry_becomes_the_leaf() -> None:
    log = memory_log()
    user(log, "First")
    targets = [
        answer(log, "One", ToolCall("c", "bash", {})),
        log.append_message(ToolResultMessage("c", "bash", [], False, 0)),
        log.append(s.CompactionEntry(summary="sum", first_kept_entry_id="x")),
        log.append(s.BranchSummaryEntry(from_id="root", summary="sum")),
        log.append(s.CustomEntry(custom_type="state")),
        log.append(s.ModelChange(provider="p", model_id="m")),
        log.append_message(BashExecutionMessage("ls", "", 0, False, False, 0)),
    ]
    answer(log, "End")
    tree, _, _ = tree_of(log)
    for target in targets:
        move = goto(tree, target)
        assert (move.leaf, log.leaf, move.editor_text) == (target, target, None)


def test_selecting_the_current_leaf_moves_nothing_even_if_it_is_a_user_message() -> None:
    log = memory_log()
    last = user(log, "First")
    tree, faux, moves = tree_of(log)
    move = goto(tree, last, summarize=True)
    assert move.already_there and (move.leaf, move.editor_text) == (last, None)
    assert log.leaf == last and moves == [] and faux.requests == []


def test_labels_and_names_after_the_leaf_do_not_count_as_a_move() -> None:
    log = memory_log()
    user(log, "First")
    last = answer(log, "One")
    tree, _, _ = tree_of(log)
    tree.label(last, "mark")
    log.append(s.SessionInfo(name="Name"))
    leaf = log.leaf
    assert goto(tree, last).already_there and log.leaf == leaf
    log.append(s.ModelChange(provider="p", model_id="m"))
    assert not goto(tree, last).already_there and log.leaf == last


def test_missing_entry_is_refused() -> None:
    log = memory_log()
    user(log, "First")
    tree, _, _ = tree_of(log)
    with pytest.raises(SessionError, match='no entry "gone"'):
        goto(tree, "gone")
    with pytest.raises(SessionError, match='no entry "gone"'):
        tree.label("gone", "x")


class Refusing(Hooks):
    def __init__(self) -> None:
        self.asked: list[str] = []

    async def before_switch(self, target: str) -> bool:
        self.asked.append(target)
        return False


def test_hook_can_block_the_move() -> None:
    log = memory_log()
    first = user(log, "First")
    last = answer(log, "One")
    hooks = Refusing()
    tree, faux, moves = tree_of(log, hooks=hooks)
    move = goto(tree, first, summarize=True)
    assert move.cancelled and not move.aborted and move.editor_text is None
    assert log.leaf == last and hooks.asked == [first] and moves == [] and faux.requests == []


def test_summary_of_the_abandoned_branch_is_added_and_sent_to_the_model(tmp_path: Path) -> None:
    log = SessionLog.new(tmp_path, Path("/project"))
    user(log, "Start")
    fork = answer(log, "Plan")
    user(log, "Try A")
    answer(log, "Trying", ToolCall("c", "write", {"path": "a.py", "content": "x"}))
    old = log.append_message(ToolResultMessage("c", "write", [TextContent("Written.")], False, 0))
    tree, faux, moves = tree_of(log, [[Say("## Goal\nA was tried."), Count(input=70, output=7)]])
    move = goto(tree, fork, summarize=True, instructions="Mind the tests.")
    entry = summary_at(log, move.summary_id)
    assert (entry.parent_id, entry.from_id) == (fork, old)
    assert entry.summary.startswith("## Goal\nA was tried.") and "a.py" in entry.summary
    assert entry.details == {"readFiles": [], "modifiedFiles": ["a.py"]}
    assert isinstance(entry.usage, Usage) and (entry.usage.input, entry.usage.output) == (70, 7)
    assert log.leaf == move.leaf == move.summary_id and moves == [move]
    assert isinstance(log.messages()[-1], BranchSummaryMessage)
    assert "Mind the tests." in faux.requests[0].system
    assert "Try A" in record(faux) and "Written." in record(faux)
    assert "Start" not in record(faux) and "Plan" not in record(faux)
    log.close()
    again = SessionLog.open(log.path or Path())
    assert again.leaf == move.summary_id
    again.close()


def test_switching_branches_summarizes_from_the_common_ancestor() -> None:
    log = memory_log()
    user(log, "Start")
    fork = answer(log, "Plan")
    user(log, "Try A")
    target = answer(log, "A done")
    log.move(fork)
    user(log, "Try B")
    old = answer(log, "B done")
    tree, faux, _ = tree_of(log, [[Say("## Done\nB.")]])
    move = goto(tree, target, summarize=True)
    entry = summary_at(log, move.summary_id)
    assert (entry.parent_id, entry.from_id) == (target, old)
    assert "Try B" in record(faux) and "Try A" not in record(faux)


def test_message_to_be_edited_is_not_part_of_the_summary() -> None:
    log = memory_log()
    target = user(log, "Editable")
    answer(log, "Answered")
    tree, faux, _ = tree_of(log, [[Say("## Done\nIt.")]])
    move = goto(tree, target, summarize=True)
    entry = summary_at(log, move.summary_id)
    assert entry.parent_id is None and move.editor_text == "Editable"
    assert "Answered" in record(faux) and "Editable" not in record(faux)


def test_nothing_is_summarized_when_nothing_is_left_behind() -> None:
    log = memory_log()
    first = user(log, "Start")
    answered = answer(log, "Plan")
    log.append(s.CustomEntry(custom_type="state"))
    log.append_message(
        BashExecutionMessage("cat key", "secret", 0, False, False, 0, exclude_from_context=True)
    )
    tree, faux, _ = tree_of(log)
    assert goto(tree, answered, summarize=True).summary_id is None  # only what no model sees
    assert log.leaf == answered
    log.move(first)
    assert goto(tree, answered, summarize=True).summary_id is None  # further down the same branch
    log.move(None)
    assert goto(tree, answered, summarize=True).leaf == answered  # from before the beginning
    assert faux.requests == []


def test_content_hidden_from_the_model_is_not_summarized() -> None:
    log = memory_log()
    first = user(log, "Start")
    answer(log, "Plan")
    edited = user(log, "poisoned words")
    log.append(s.ContextEdit(target_id=edited))
    log.append_message(
        BashExecutionMessage("cat key", "secret", 0, False, False, 0, exclude_from_context=True)
    )
    answer(log, "Fine")
    tree, faux, _ = tree_of(log, [[Say("## Done\nIt.")]])
    goto(tree, first, summarize=True)
    assert "Fine" in record(faux) and "poisoned" not in record(faux) and "secret" not in record(faux)


def test_compaction_on_the_branch_replaces_the_messages_it_summarized() -> None:
    log = memory_log()
    first = user(log, "Start")
    answer(log, "long forgotten")
    kept = user(log, "kept words")
    files = {"readFiles": [], "modifiedFiles": ["old.py"]}
    log.append(s.CompactionEntry(summary="compacted words", first_kept_entry_id=kept, details=files))
    answer(log, "later words")
    tree, faux, _ = tree_of(log, [[Say("## Done\nIt.")]])
    move = goto(tree, first, summarize=True)
    for words in ("compacted words", "kept words", "later words"):
        assert words in record(faux)
    assert "long forgotten" not in record(faux)
    assert summary_at(log, move.summary_id).details == files


def test_abort_while_summarizing_moves_nothing() -> None:
    log = memory_log()
    first = user(log, "Start")
    last = answer(log, "Plan")
    count = len(list(log.nodes()))
    abort = Abort()
    tree, _, moves = tree_of(log, [[Act(abort.abort), Wait()]])
    move = goto(tree, first, summarize=True, abort=abort)
    assert move.cancelled and move.aborted and move.editor_text is None
    assert log.leaf == last and len(list(log.nodes())) == count and moves == []


def test_abort_at_the_last_moment_moves_nothing() -> None:
    log = memory_log()
    first = user(log, "Start")
    last = answer(log, "Plan")
    abort = Abort()
    tree, _, _ = tree_of(log, [[Say("## Done\nIt."), Act(abort.abort)]])
    assert goto(tree, first, summarize=True, abort=abort).aborted
    assert goto(tree, first, abort=abort).aborted  # and one from earlier
    assert log.leaf == last


def test_failed_model_moves_nothing_and_says_why() -> None:
    log = memory_log()
    first = user(log, "Start")
    last = answer(log, "Plan")
    tree, _, _ = tree_of(log, [[Fail(ProviderError("The server is down."))], [Say("  ")]])
    with pytest.raises(ProviderError, match="down"):
        goto(tree, first, summarize=True)
    with pytest.raises(ProviderError, match="no summary"):
        goto(tree, first, summarize=True)
    assert log.leaf == last


def test_summary_that_cannot_be_written_moves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = memory_log()
    first = user(log, "Start")
    last = answer(log, "Plan")

    def full(entry: s.KnownEntry) -> str:
        raise SessionError("The disk is full.")

    monkeypatch.setattr(log, "append", full)
    tree, _, moves = tree_of(log, [[Say("## Done\nIt.")]])
    with pytest.raises(SessionError, match="full"):
        goto(tree, first, summarize=True)
    assert log.leaf == last and moves == []


def test_conversation_continued_meanwhile_is_not_moved() -> None:
    log = memory_log()
    first = user(log, "Start")
    answer(log, "Plan")
    tree, _, _ = tree_of(log, [[Act(lambda: user(log, "Quick")), Say("## Done\nIt.")]])
    with pytest.raises(SessionError, match="continued meanwhile"):
        goto(tree, first, summarize=True)
    assert isinstance(message := log.messages()[-1], UserMessage) and message.content == "Quick"


def test_title_arriving_meanwhile_does_not_block_the_move() -> None:
    log = memory_log()
    first = user(log, "Start")
    answer(log, "Plan")
    tree, _, _ = tree_of(log, [[Act(lambda: log.append(s.SessionInfo(name="Title"))), Say("## Done\nIt.")]])
    move = goto(tree, first, summarize=True)
    assert log.leaf == move.summary_id is not None


def test_moving_writes_nothing_until_the_next_message(tmp_path: Path) -> None:
    log = SessionLog.new(tmp_path, Path("/project"))
    user(log, "Start")
    fork = answer(log, "Plan")
    user(log, "Try A")
    last = answer(log, "A done")
    assert log.path is not None
    before = log.path.read_bytes()
    goto(tree_of(log)[0], fork)
    assert log.path.read_bytes() == before
    log.close()
    log = SessionLog.open(log.path)
    assert log.leaf == last
    goto(tree_of(log)[0], fork)
    new = user(log, "Try B")
    log.close()
    log = SessionLog.open(log.path or Path())
    assert log.leaf == new and [node.id for node in log.branch()][-2] == fork
    log.close()


def test_labels_are_set_changed_and_removed() -> None:
    log = memory_log()
    target = user(log, "Start")
    tree, _, _ = tree_of(log)
    assert tree.label(target, " first \n try ") == "first try"
    assert tree.labels == {target: "first try"} and tree.rows("labeled-only")[0].label == "first try"
    leaf = log.leaf
    assert tree.label(target, "first try") == "first try" and log.leaf == leaf  # nothing new to write
    assert tree.label(target, "second") == "second"
    assert tree.label(target, None) is None and tree.labels == {}
    leaf = log.leaf
    assert tree.label(target, "") is None and log.leaf == leaf


def test_branches_can_start_at_every_user_message_on_any_branch() -> None:
    log = memory_log()
    first = user(log, "Start\nhere")
    fork = answer(log, "Plan")
    second = user(log, "Try A")
    log.move(fork)
    third = log.append_message(UserMessage([TextContent("Try"), ImageContent("aGk=", "image/png")], 0))
    user(log, "  ")
    fourth = log.append_message(UserMessage([ImageContent("aGk=", "image/png")] * 2, 0))
    log.append(s.CustomMessageEntry(custom_type="memo", content="no"))
    tree, _, _ = tree_of(log)
    assert tree.branch_points() == [
        BranchPoint(first, "Start\nhere"),
        BranchPoint(second, "Try A"),
        BranchPoint(third, "Try", 1),
        BranchPoint(fourth, "", 2),
    ]
    assert tree.to_edit(third) == ("Try", [ImageContent("aGk=", "image/png")])
    assert tree.to_edit(fork) == ("", [])


KINDS = ("user", "answer", "custom_message", "custom", "model", "label", "info")


@st.composite
def walks(draw: st.DrawFn) -> tuple[SessionLog, str]:
    """A session grown by appending and moving, and an entry to go to."""
    log = memory_log()
    ids: list[str] = []
    for number in range(draw(st.integers(1, 20))):
        if ids and draw(st.integers(0, 3)) == 0:
            log.move(draw(st.sampled_from([None, *ids])))
        match draw(st.sampled_from(KINDS)):
            case "user":
                ids.append(user(log, f"asked {number}"))
            case "answer":
                ids.append(answer(log, f"said {number}"))
            case "custom_message":
                ids.append(log.append(s.CustomMessageEntry(custom_type="x", content=f"told {number}")))
            case "custom":
                ids.append(log.append(s.CustomEntry(custom_type="x")))
            case "model":
                ids.append(log.append(s.ModelChange(provider="p", model_id="m")))
            case "label":
                ids.append(log.append(s.LabelEntry(target_id=draw(st.sampled_from(ids or ["x"])), label="m")))
            case _:
                ids.append(log.append(s.SessionInfo(name="n")))
    if draw(st.booleans()):
        log.move(draw(st.sampled_from([None, *ids])))
    return log, draw(st.sampled_from(ids))


@given(walks(), st.booleans())
def test_every_selection_follows_the_rules(walk: tuple[SessionLog, str], summarize: bool) -> None:
    log, target = walk
    old, old_path = log.leaf, [node.id for node in log.branch()]
    node = log.node(target)
    assert node is not None
    entry = log.decode(node)
    spoken = {item.id for item in log.context().items}
    tree, faux, _ = tree_of(log, [[Say("## Done\nIt.")]])
    left = [node.id for node in tree.abandoned(target)]
    assert old_path[len(old_path) - len(left) :] == left
    move = goto(tree, target, summarize=summarize)
    if move.already_there:
        assert log.leaf == old and target in old_path
        behind = old_path[old_path.index(target) + 1 :]
        kinds = {node.type for id in behind if (node := log.node(id)) is not None}
        assert kinds <= {"label", "session_info", "usage"}
        return
    assert target != old
    editable = isinstance(entry, s.CustomMessageEntry) or (
        isinstance(entry, s.MessageEntry) and isinstance(entry.message, UserMessage)
    )
    assert (move.editor_text is not None) == editable
    place = node.parent_id if editable else target
    assert (move.summary_id is not None) == (summarize and bool(spoken & set(left)))
    assert len(faux.requests) == (move.summary_id is not None)
    if move.summary_id is None:
        assert log.leaf == move.leaf == place
    else:
        summary = summary_at(log, move.summary_id)
        assert log.leaf == move.leaf == summary.id
        assert (summary.parent_id, summary.from_id) == (place, old)
