"""The incrementally updated context equals one built from the file."""

import random
from pathlib import Path

import pytest
from msgspec.structs import replace

from tau.ai.wire import (
    AssistantMessage,
    BashExecutionMessage,
    TextContent,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from tau.coding.session import entries as s
from tau.coding.session.context import Context, build_context
from tau.coding.session.storage.log import SessionLog


def entry_of(chance: random.Random, ids: list[str]) -> s.KnownEntry:
    text = f"text {chance.randrange(1000)}"
    answer = AssistantMessage([TextContent(text)], "api", "p", "m", Usage(), "stop", 1)
    spoken = [
        UserMessage(text, 1),
        UserMessage([TextContent(text)], 1),
        answer,
        ToolResultMessage("call", "read", [TextContent(text)], False, 1),
        BashExecutionMessage("ls", text, 0, False, False, 1),
    ]
    target = chance.choice(ids) if ids else "gone"
    content: str | list[TextContent] = text if chance.random() < 0.4 else [TextContent(text)]
    replacement = None if chance.random() < 0.2 else s.ContentReplacement(content)
    kinds: list[s.KnownEntry] = [
        *(s.MessageEntry(message=message) for message in spoken),
        s.CustomMessageEntry(custom_type="note", content=text, display=True),
        s.BranchSummaryEntry(summary=text, from_id=target),
        s.ModeChange(mode=chance.choice(["plan", "none"])),
        s.ThinkingLevelChange(thinking_level="high"),
        s.ModelChange(
            provider="p", model_id=chance.choice(["m", "n"]), base_url=chance.choice(["", "http://a"])
        ),
        s.ModelChange(model="q/n", role=chance.choice(["default", "smol"])),
        s.CompactionEntry(summary=text, first_kept_entry_id=target, tokens_before=9),
    ]
    edit = s.ContextEdit(target_id=target, replacement=replacement)
    return edit if chance.random() < 0.4 else chance.choice(kinds)


def read_again(log: SessionLog) -> Context:
    return build_context(log.branch(), log.decode)


@pytest.mark.parametrize("seed", range(40))
def test_incremental_context_equals_a_fresh_read(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    log = SessionLog.new(tmp_path / "s", tmp_path)
    ids = [log.append_message(UserMessage("begin", 1))]
    for _ in range(40):
        log.context()
        ids.append(log.append(entry_of(chance, ids)))
        assert log.context() == read_again(log)
    log.close()


def test_model_is_the_one_chosen_or_answering_last() -> None:
    log = SessionLog.new(None, Path("/"))
    answer = AssistantMessage([], "api", "p", "m", Usage(), "stop", 1)
    entries = [
        (s.ModelChange(provider="p", model_id="m", base_url="http://a"), ("p", "m"), "http://a"),
        (s.MessageEntry(message=answer), ("p", "m"), "http://a"),
        (s.ModelChange(model="q/n", role="smol"), ("p", "m"), "http://a"),
        (s.ModelChange(model="q/n"), ("q", "n"), None),
        (s.MessageEntry(message=answer), ("p", "m"), None),
        (s.MessageEntry(message=replace(answer, provider="q", model="n")), ("q", "n"), None),
    ]
    for entry, model, address in entries:
        log.append(entry)
        for context in (log.context(), read_again(log)):
            assert (context.model, context.base_url) == (model, address)


def test_edit_gives_a_new_list_and_leaves_the_other_messages_alone(tmp_path: Path) -> None:
    log = SessionLog.new(tmp_path / "s", tmp_path)
    first, second = (log.append_message(UserMessage(text, 1)) for text in ("one", "two"))
    before = log.context()
    kept = before.items[0].message
    log.append(s.ContextEdit(target_id=second, replacement=s.ContentReplacement("gone")))
    after = log.context()
    assert [item.id for item in after.items] == [first, second]
    assert after.items is not before.items
    assert after.items[0].message is kept
    assert after.items[1].message == UserMessage("gone", 1)
    log.close()
