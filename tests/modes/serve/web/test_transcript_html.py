"""Pages of the conversation as HTML."""

from pathlib import Path

import pytest

from tau.ai.wire import ToolCall, UserMessage
from tau.base.errors import SessionError
from tau.coding.session.storage.log import SessionLog
from tau.modes.serve.web.transcript_html import render, transcript_page
from tests.coding.export.sample import TIME, answer, result


def conversation(pairs: int) -> SessionLog:
    log = SessionLog.new(None, Path("/project"))
    for number in range(pairs):
        log.append_message(UserMessage(f"Question {number}", TIME))
        log.append_message(answer(f"Answer {number}"))
    return log


def test_pages_follow_each_other_without_gap_or_overlap() -> None:
    log = conversation(25)
    last = transcript_page(log, limit=20)
    middle = transcript_page(log, before=last.items[0].id, limit=20)
    first = transcript_page(log, before=middle.items[0].id, limit=20)
    shown = [item.id for page in (first, middle, last) for item in page.items]
    assert shown == [node.id for node in log.branch()]
    assert not first.before
    assert middle.after == last.items[0].id
    assert transcript_page(log, start=middle.after, limit=100).items == last.items


def test_result_is_shown_with_its_call_on_the_same_page() -> None:
    log = conversation(1)
    call = log.append_message(answer(ToolCall("c1", "bash", {"command": "ls"}), stop="toolUse"))
    [item] = transcript_page(log, start=call).items
    assert [card.done for card in item.calls] == [False]
    log.append_message(result("c1", "bash", "cart.py"))
    [item] = transcript_page(log, limit=1).items
    assert (item.id, [card.done for card in item.calls]) == (call, [True])
    assert "cart.py" in item.html


def test_unknown_entry_is_an_error() -> None:
    with pytest.raises(SessionError, match="not in this conversation"):
        transcript_page(conversation(1), before="00000000")


def test_markdown_and_diffs_are_rendered_escaped() -> None:
    assert render("**a** <b>") == "<p><strong>a</strong> &lt;b&gt;</p>\n"
    assert '<span class="a">+&lt;b&gt;</span>' in render("+<b>", "diff")
