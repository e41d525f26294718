"""The session log: what is on disk, when, and what is read back."""

import errno
import itertools
import json
import os
import re
import tracemalloc
from pathlib import Path

import pytest

from tau.ai.faux import FAUX_MODEL
from tau.ai.wire import AssistantMessage, TextContent, ToolCall, ToolResultMessage, Usage, UserMessage
from tau.base.errors import SessionError
from tau.coding.session.entries import CustomMessageEntry, ModelChange, SessionInfo, ThinkingLevelChange
from tau.coding.session.storage.line_storage import FileStorage
from tau.coding.session.storage.log import SessionLog, file_name, new_session_id
from tau.config.paths import folder_name


def answer(text: str) -> AssistantMessage:
    return AssistantMessage([TextContent(text)], "faux", "faux", "faux", Usage(), "stop", 2)


def filled(folder: Path) -> Path:
    log = SessionLog.new(folder, Path("/somewhere"))
    log.append(ModelChange(provider=FAUX_MODEL.provider, model_id=FAUX_MODEL.id))
    log.append(ThinkingLevelChange(thinking_level="low"))
    log.append_message(UserMessage("hällo\u2028", 1))
    log.append_message(answer("hi"))
    log.append_message(UserMessage("more", 3))
    log.append_message(
        AssistantMessage(
            [ToolCall("c", "read", {"path": "x"})], "faux", "faux", "faux", Usage(), "toolUse", 4
        )
    )
    log.append_message(ToolResultMessage("c", "read", [TextContent("text")], False, 5, {"lines": 1}))
    log.close()
    assert log.path is not None
    return log.path


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def test_nothing_is_written_before_the_first_message(tmp_path: Path) -> None:
    log = SessionLog.new(tmp_path / "s", tmp_path)
    log.append(ModelChange(provider=FAUX_MODEL.provider, model_id=FAUX_MODEL.id))
    assert not (tmp_path / "s").exists()

    log.append_message(UserMessage("hi", 1))

    assert log.path is not None
    assert [line["type"] for line in lines(log.path)] == ["session", "model_change", "message"]
    log.close()


def test_full_disk_is_reported_with_a_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    log = SessionLog.open(filled(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(FileStorage, "append", full)
        with pytest.raises(
            SessionError, match=r"Earlier messages are saved. Free up disk space, then try again."
        ):
            log.append_message(UserMessage("hi", 1))
    log.append_message(UserMessage("hi", 1))
    log.close()


def test_uncreatable_folder_is_reported_with_a_workaround(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("a file, not a folder")
    log = SessionLog.new(tmp_path / "s", tmp_path)
    with pytest.raises(SessionError, match=r"cannot be written to .* --no-session to not save"):
        log.append_message(UserMessage("hi", 1))


def test_lines_have_the_documented_shapes(tmp_path: Path) -> None:
    header, model, thinking, first, second, *_ = lines(filled(tmp_path))

    assert header == {
        "type": "session",
        "version": 3,
        "id": header["id"],
        "timestamp": header["timestamp"],
        "cwd": "/somewhere",
    }
    assert model["provider"] == "faux" and model["modelId"] == "faux" and model["parentId"] is None
    assert thinking["thinkingLevel"] == "low" and thinking["parentId"] == model["id"]
    assert first["message"] == {"role": "user", "content": "hällo\u2028", "timestamp": 1}
    assert second["parentId"] == first["id"]


def test_written_entries_are_read_back(tmp_path: Path) -> None:
    path = filled(tmp_path)

    log = SessionLog.open(path)

    assert [type(message) for message in log.messages()] == [
        UserMessage,
        AssistantMessage,
        UserMessage,
        AssistantMessage,
        ToolResultMessage,
    ]
    assert log.context().model == ("faux", "faux")
    assert log.context().thinking == "low"
    log.append_message(UserMessage("again", 6))
    log.close()
    assert lines(path)[-1]["parentId"] == lines(path)[-2]["id"]


def test_file_is_private(tmp_path: Path) -> None:
    path = filled(tmp_path / "new")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_unknown_entries_and_messages_survive_in_place(tmp_path: Path) -> None:
    path = filled(tmp_path)
    last = lines(path)[-1]
    strange = {
        "type": "hologram",
        "id": "deadbeef",
        "parentId": last["id"],
        "timestamp": "2026-01-01T00:00:00.000Z",
        "x": [1],
    }
    odd = {
        "type": "message",
        "id": "deadbee0",
        "parentId": "deadbeef",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "message": {"role": "oracle"},
    }
    with path.open("ab") as file:
        file.write(json.dumps(strange).encode() + b"\n" + json.dumps(odd).encode() + b"\n")

    log = SessionLog.open(path)
    log.append_message(UserMessage("on", 7))
    log.close()

    assert lines(path)[-3:-1] == [strange, odd]
    assert lines(path)[-1]["parentId"] == "deadbee0"
    assert len(log.messages()) == 6


def test_second_writer_is_refused(tmp_path: Path) -> None:
    path = filled(tmp_path)
    log = SessionLog.open(path)

    with pytest.raises(SessionError, match="open in another tau"):
        SessionLog.open(path)
    log.close()
    SessionLog.open(path).close()


@pytest.mark.parametrize("content", [b"", b"not a session\n", b'{"type":"message"}\n', b"\0" * 100])
def test_other_files_are_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)

    with pytest.raises(SessionError, match="not a session"):
        SessionLog.open(path)
    assert path.read_bytes() == content.strip(b"\0")


def test_folder_file_and_session_names() -> None:
    assert folder_name(Path("/home/me/x y")) == "--home-me-x y--"
    long = [folder_name(Path(f"/{name}" + "/ünd" * 100)) for name in "ab"]
    assert len(set(long)) == 2
    assert all(len(name.encode()) <= 255 and name.endswith("ünd--") for name in long)
    assert folder_name(Path("/" + "x" * 240)) == f"--{'x' * 240}--"
    assert re.fullmatch(f"--[0-9a-f]{{16}}-{'x' * 50}--", folder_name(Path("/" + "x" * 241)))
    assert file_name("2026-01-31T12:00:00.123Z", "id") == "2026-01-31T12-00-00-123Z_id.jsonl"
    ids = [new_session_id() for _ in range(100)]
    assert len(set(ids)) == 100
    assert all(id[14] == "7" and id[19] in "89ab" and len(id) == 36 for id in ids)
    assert all(len({id[place] for id in ids}) > 1 for place in (15, 16, 17, 19, 20, 21, 35))


def test_lone_surrogate_is_written_as_a_replacement(tmp_path: Path) -> None:
    log = SessionLog.new(tmp_path, Path("/caf\udce9"))
    log.append_message(UserMessage("a\ud83db", 1))
    log.append_message(ToolResultMessage("c", "read", [TextContent("ok")], False, 5, {"path": "\udcff"}))
    log.close()
    assert log.path is not None
    header, *messages = lines(log.path)
    assert header["cwd"] == "/caf\ufffd"
    assert [entry["message"]["role"] for entry in messages] == ["user", "toolResult"]  # type: ignore[index]
    SessionLog.open(log.path).close()


def test_memory_holds_the_tree_but_not_the_text(tmp_path: Path) -> None:
    log = SessionLog.new(tmp_path, tmp_path)
    for number in range(200):
        log.append_message(UserMessage(f"{number} " + "x" * 20_000, number))
    log.close()
    assert log.path is not None
    tracemalloc.start()
    opened = SessionLog.open(log.path)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < log.path.stat().st_size / 4
    nodes = list(opened.nodes())
    assert all(node.parent_id is before.id for before, node in itertools.pairwise(nodes))
    assert len({id(node.type) for node in nodes}) == 1
    opened.close()


def test_entries_of_all_branches_come_in_file_order(tmp_path: Path) -> None:
    log = SessionLog.open(filled(tmp_path))
    first = next(iter(log.nodes())).id
    log.move(first)
    log.append_message(UserMessage("elsewhere", 9))
    found = [(node.type, type(entry).__name__) for node, entry in log.entries()]
    assert found[:2] == [("model_change", "ModelChange"), ("thinking_level_change", "ThinkingLevelChange")]
    assert found[2:] == [("message", "MessageEntry")] * 6
    assert log.messages() == [UserMessage("elsewhere", 9)]
    log.close()


def test_second_root_is_a_separate_branch_after_reopening(tmp_path: Path) -> None:
    log = SessionLog.open(filled(tmp_path))
    log.move(None)
    log.append_message(UserMessage("afresh", 9))
    path = log.path
    log.close()
    assert path is not None
    log = SessionLog.open(path)
    assert log.messages() == [UserMessage("afresh", 9)] and len(log.branch()) == 1
    log.close()


def test_branches_of_linear_and_branched_sessions(tmp_path: Path) -> None:
    path = filled(tmp_path)
    log = SessionLog.open(path)
    line = [node.id for node in log.nodes()]
    assert [node.id for node in log.branch()] == line
    assert [node.id for node in log.branch(line[3])] == line[:4]
    log.move(line[3])
    new = log.append_message(UserMessage("other", 1))
    assert [node.id for node in log.branch()] == [*line[:4], new]
    assert [node.id for node in log.branch(line[-1])] == line
    log.move(None)
    root = log.append_message(UserMessage("a new beginning", 1))
    log.close()
    again = SessionLog.open(path)
    assert [node.id for node in again.branch()] == [root]
    assert [node.id for node in again.branch(new)] == [*line[:4], new]
    assert again.branch(None) == []
    again.close()


def test_entry_with_a_missing_parent_follows_the_previous_one(tmp_path: Path) -> None:
    path = filled(tmp_path)
    content = path.read_bytes().split(b"\n")
    del content[4]
    path.write_bytes(b"\n".join(content))
    log = SessionLog.open(path)
    assert len(log.branch()) == 6
    assert "with a missing parent" in log.warnings[0]
    log.close()


def test_duplicate_line_counts_once(tmp_path: Path) -> None:
    path = filled(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content + content.split(b"\n")[-2] + b"\n")
    log = SessionLog.open(path)
    assert len(log.messages()) == 5
    assert "with a duplicate id: 1" in log.warnings[0]
    log.close()


def test_latest_name_wins(tmp_path: Path) -> None:
    log = SessionLog.new(tmp_path, tmp_path)
    names = [log.name]
    log.append_message(UserMessage("hi", 1))
    log.append(SessionInfo(name="first"))
    log.append(SessionInfo(name="second"))
    log.append_message(UserMessage("more", 1))
    names.append(log.name)
    log.close()
    assert log.path is not None
    again = SessionLog.open(log.path)
    names.append(again.name)
    again.append(SessionInfo())
    names.append(again.name)
    assert names == [None, "second", "second", None]
    again.close()


def test_custom_message_creates_the_file(tmp_path: Path) -> None:
    log = SessionLog.new(tmp_path, tmp_path)
    log.append(CustomMessageEntry(custom_type="x", content="hi"))
    assert log.path is not None
    assert [line["type"] for line in lines(log.path)] == ["session", "custom_message"]
    log.close()


@pytest.mark.parametrize(("damaged", "more"), [(10, ""), (11, " and more")])
def test_ten_damaged_lines_are_named(tmp_path: Path, damaged: int, more: str) -> None:
    path = filled(tmp_path)
    before = len(lines(path))
    path.write_bytes(path.read_bytes() + b"{broken}\n" * damaged)
    log = SessionLog.open(path)
    log.close()
    numbers = ", ".join(str(before + number) for number in range(1, 11))
    assert log.warnings == [f"{path.name} has damaged lines, which were skipped: {numbers}{more}."]
