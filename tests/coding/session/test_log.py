"""The log: what is on disk, when, and what a damaged file still gives."""

import json
from pathlib import Path

import pytest

from tau.ai.faux import FAUX_MODEL
from tau.ai.wire import AssistantMessage, TextContent, ToolCall, ToolResultMessage, Usage, UserMessage
from tau.base.errors import SessionError, UsageError
from tau.coding.session.entries import ModelChange, ThinkingLevelChange
from tau.coding.session.ids import file_name, folder_name, new_session_id
from tau.coding.session.log import SessionLog
from tau.coding.session.store import SessionStore


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


def test_the_lines_have_the_documented_shapes(tmp_path: Path) -> None:
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


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
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


def test_the_file_is_for_its_owner_only(tmp_path: Path) -> None:
    path = filled(tmp_path / "new")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_file_cut_at_any_byte_loads_and_goes_on(tmp_path: Path) -> None:
    whole = filled(tmp_path).read_bytes()
    first_line = whole.index(b"\n") + 1
    for cut in range(first_line, len(whole)):
        path = tmp_path / f"{cut}.jsonl"
        path.write_bytes(whole[:cut])
        complete = [line for line in whole[:cut].split(b"\n")[1:] if line and _is_json(line)]

        log = SessionLog.open(path)
        log.append_message(UserMessage("after the crash", 9))
        log.close()

        assert len(lines(path)) == 1 + len(complete) + 1
        torn = whole[:cut].rsplit(b"\n", 1)[1]
        assert bool(log.warnings) == bool(torn and not _is_json(torn))
        reopened = SessionLog.open(path)
        assert reopened.messages()[-1] == UserMessage("after the crash", 9)
        reopened.close()


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def test_unknown_entries_and_messages_survive_and_keep_their_place(tmp_path: Path) -> None:
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


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    path = filled(tmp_path)
    log = SessionLog.open(path)

    with pytest.raises(SessionError, match="open in another tau"):
        SessionLog.open(path)
    log.close()
    SessionLog.open(path).close()


@pytest.mark.parametrize("content", [b"", b"not a session\n", b'{"type":"message"}\n', b"\0" * 100])
def test_what_is_no_session_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)

    with pytest.raises(SessionError, match="not a session"):
        SessionLog.open(path)
    assert path.read_bytes() == content.strip(b"\0")


def test_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"type":"session","version":9,"id":"a","timestamp":"t","cwd":"/"}\n')

    with pytest.raises(SessionError, match="version 9"):
        SessionLog.open(path)


def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = filled(tmp_path)
    log = SessionLog.open(path)
    before = path.read_bytes()

    def no_space(fd: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(SessionError, match="No space left"):
        patch.setattr("tau.base.jsonl.os.write", no_space)
        log.append_message(UserMessage("lost?", 7))

    assert path.read_bytes() == before
    assert len(log.messages()) == 5
    log.append_message(UserMessage("there is room again", 8))
    log.close()
    assert len(lines(path)) == before.count(b"\n") + 1


def test_names() -> None:
    assert folder_name(Path("/home/me/x y")) == "--home-me-x y--"
    long = [folder_name(Path(f"/{name}" + "/ünd" * 100)) for name in "ab"]
    assert len(set(long)) == 2
    assert all(len(name.encode()) <= 255 and name.endswith("ünd--") for name in long)
    assert file_name("2026-01-31T12:00:00.123Z", "id") == "2026-01-31T12-00-00-123Z_id.jsonl"
    ids = [new_session_id() for _ in range(100)]
    assert len(set(ids)) == 100
    assert all(id[14] == "7" and id[19] in "89ab" and len(id) == 36 for id in ids)


def test_folders_whose_sessions_lie_together_do_not_continue_each_other(tmp_path: Path) -> None:
    one, other = (SessionStore(tmp_path, Path(cwd)) for cwd in ("/a/b", "/a-b"))
    assert one.folder == other.folder
    log = one.new()
    log.append_message(UserMessage("mine", 1))
    log.close()
    with pytest.raises(UsageError):
        other.recent()
    found = one.recent()
    assert found.header.id == log.header.id
    found.close()


def test_half_a_surrogate_pair_is_written_as_a_sign_for_it(tmp_path: Path) -> None:
    log = SessionLog.new(tmp_path, Path("/caf\udce9"))
    log.append_message(UserMessage("a\ud83db", 1))
    log.append_message(ToolResultMessage("c", "read", [TextContent("ok")], False, 5, {"path": "\udcff"}))
    log.close()
    assert log.path is not None
    header, *messages = lines(log.path)
    assert header["cwd"] == "/caf\ufffd"
    assert [entry["message"]["role"] for entry in messages] == ["user", "toolResult"]  # type: ignore[index]
    SessionLog.open(log.path).close()
