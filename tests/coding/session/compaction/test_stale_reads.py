"""Stale reads are replaced by a note if a newer one shows the same or the file has changed."""

from typing import Any

import pytest

from tau.ai.wire import AppMessage, text_of
from tau.coding.session.compaction.estimate import message_tokens
from tau.coding.session.compaction.stale_reads import recent_stale_reads, stale_reads
from tau.coding.session.context import ContextItem
from tests.coding.session.compaction.rig import Rig, call, model, result, says, step, user, words


def stale(messages: list[AppMessage], **options: Any) -> list[int]:
    costs = [message_tokens(message) for message in messages]
    found = stale_reads(messages, costs, "/project", **options)
    assert all(message_tokens(found[place]) < costs[place] for place in found)
    return sorted(found)


def read(id: str, path: str, first: int = 1, last: int = 100, **more: Any) -> list[AppMessage]:
    details = {"path": f"/project/{path}", "firstLine": first, "lastLine": last, **more}
    return [
        says(call(id, "read", path=path), stop="toolUse"),
        result(id, "read", words(900), details=details),
    ]


def test_file_shown_again_is_dropped_where_it_was_first_shown() -> None:
    assert stale([*read("a", "x.py"), *read("b", "x.py"), *read("c", "x.py")]) == [1, 3]
    assert stale([*read("a", "x.py"), *read("b", "./x.py")]) == [1]
    assert stale([*read("a", "x.py"), *read("b", "y.py")]) == []


def test_only_completely_repeated_content_is_dropped() -> None:
    assert stale([*read("a", "x.py:10-20", 10, 20), *read("b", "x.py:1-50", 1, 50)]) == [1]
    assert stale([*read("a", "x.py:1-50", 1, 50), *read("b", "x.py:10-60", 10, 60)]) == []
    assert stale([*read("a", "x.py:1-50", 1, 50), *read("b", "x.py", summary={"lines": 9})]) == []


def test_failed_read_replaces_nothing() -> None:
    failed: list[AppMessage] = [says(call("b", "read", path="x.py")), result("b", "read", "No.", error=True)]
    assert stale([*read("a", "x.py"), *failed]) == []


def test_changed_file_is_dropped_only_where_it_is_stale() -> None:
    messages = [*read("a", "x.py"), *step("w", "edit", "ok", path="x.py", old_text="a", new_text="b")]
    assert stale(messages) == []
    assert stale(messages, changed_before=2) == [1]
    failed: list[AppMessage] = [says(call("w", "edit", path="x.py")), result("w", "edit", "No.", error=True)]
    assert stale([*read("a", "x.py"), *failed], changed_before=2) == []


def test_small_results_stay() -> None:
    assert stale([*step("a", "read", "tiny", path="x.py"), *step("b", "read", "tiny", path="x.py")]) == []


def test_recent_duplicate_is_dropped_before_the_next_request() -> None:
    rig = Rig([user("go"), *read("a", "x.py"), *read("b", "x.py")], model=model())
    before = rig.estimated
    assert rig.make_room()
    rig.check()
    assert rig.events == [] and rig.estimated < before
    first = rig.log.messages()[2]
    assert "shown again later" in text_of(first.content)  # type: ignore[union-attr, arg-type]
    assert not rig.make_room()


def test_large_duplicate_is_dropped() -> None:
    long = step("a", "read", words(20_000), path="x.py")
    rig = Rig([user("go"), *long, *step("b", "read", words(7_000), path="x.py")], model=model())
    assert rig.make_room()
    rig.check()
    assert rig.estimated < 8_000


def test_old_duplicate_is_kept_to_preserve_the_cache() -> None:
    filler = step("f", "bash", words(9_000), command="x")
    rig = Rig([user("go"), *read("a", "x.py"), *filler, *read("b", "x.py")], model=model())
    assert not rig.make_room()


def test_duplicate_counts_as_recent_up_to_8000_tokens_after_it() -> None:
    messages = [user("go"), *read("a", "x.py"), *read("b", "x.py")]
    items = [ContextItem(str(number), message) for number, message in enumerate(messages)]
    assert set(recent_stale_reads(items, [1, 1, 900, 1, 7_999], "/project")) == {2}
    assert not recent_stale_reads(items, [1, 1, 900, 1, 8_000], "/project")


def test_duplicate_is_dropped_if_that_saves_100_tokens_and_500_without_a_compaction() -> None:
    messages = [user("go"), *read("a", "x.py"), *read("b", "x.py")]
    items = [ContextItem(str(number), message) for number, message in enumerate(messages)]
    note = message_tokens(stale_reads(messages, [1, 1, 900, 1, 900], "/project")[2])
    for saved, dropped in ((99, set()), (100, {2})):
        assert set(stale_reads(messages, [1, 1, note + saved, 1, 900], "/project")) == dropped
    for saved, dropped in ((499, set()), (500, {2})):
        assert set(recent_stale_reads(items, [1, 1, note + saved, 1, 900], "/project")) == dropped


@pytest.mark.parametrize(("after", "dropped"), [(15_000, False), (17_000, True)])
def test_compaction_keeps_what_was_read_for_an_edit_among_the_newest_16000_tokens(
    after: int, dropped: bool
) -> None:
    filler = [m for n in range(20) for m in step(f"f{n}", "bash", words(8_000), command="x")]
    edit = step("w", "edit", "ok", path="x.py", old_text="a", new_text="b")
    tail = [*read("a", "x.py"), *edit, *step("g", "bash", words(after), command="x")]
    rig = Rig([user("go"), *filler, *tail], model=model(150_000), keep_recent_tokens=40_000)
    assert rig.make_room()
    [text] = [text_of(m.content) for m in rig.log.messages() if getattr(m, "tool_name", "") == "read"]  # type: ignore[union-attr, arg-type]
    assert ("the file changed later" in text) == dropped


def test_nothing_is_dropped_when_the_setting_is_off() -> None:
    rig = Rig([user("go"), *read("a", "x.py"), *read("b", "x.py")], model=model(), supersede_reads=False)
    assert not rig.make_room()


def test_compaction_drops_stale_copies_from_what_it_keeps() -> None:
    filler = [m for n in range(30) for m in step(f"f{n}", "bash", words(2_500), command="x")]
    tail = [*read("a", "x.py"), *step("g", "bash", words(9_000), command="x"), *read("b", "x.py")]
    rig = Rig([user("go"), *filler, *tail], model=model(80_000))
    assert rig.make_room()
    rig.check()
    texts = [text_of(m.content) for m in rig.log.messages() if getattr(m, "tool_name", "") == "read"]  # type: ignore[union-attr, arg-type]
    assert [("shown again later" in text) for text in texts] == [True, False]
