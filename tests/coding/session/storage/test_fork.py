"""Forks: every line unchanged, the chosen branch, artifacts included, even if the source is open."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tau.ai.wire import AssistantMessage, ImageContent, TextContent, Usage, UserMessage
from tau.base.errors import SessionError
from tau.coding.session.entries import LabelEntry, SessionInfo
from tau.coding.session.storage.blobs import MIN_CHARS
from tau.coding.session.storage.fork import fork
from tau.coding.session.storage.log import SessionLog

CWD = Path("/elsewhere")


def answer(text: str) -> AssistantMessage:
    return AssistantMessage([TextContent(text)], "faux", "faux", "faux", Usage(), "stop", 2)


def lines(log: SessionLog) -> list[bytes]:
    assert log.path is not None
    return log.path.read_bytes().split(b"\n")


def branched(folder: Path) -> tuple[SessionLog, dict[str, str]]:
    """root - a - b and a - c, with labels and a name set on the other branch."""
    log = SessionLog.new(folder, Path("/w"))
    ids = {"root": log.append_message(UserMessage("root", 1)), "a": log.append_message(answer("a"))}
    ids["b"] = log.append_message(UserMessage("b", 3))
    log.append(LabelEntry(target_id=ids["root"], label="start"))
    log.append(LabelEntry(target_id=ids["a"], label="first"))
    log.append(LabelEntry(target_id=ids["b"], label="not on it"))
    log.append(SessionInfo(name="The name"))
    log.move(ids["a"])
    ids["label"] = log.append(LabelEntry(target_id=ids["a"], label="second"))
    ids["c"] = log.append_message(UserMessage("c", 4))
    log.append(LabelEntry(target_id=ids["root"]))
    log.move(ids["c"])
    return log, ids


def labels(log: SessionLog) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _, entry in log.entries():
        if isinstance(entry, LabelEntry):
            found[entry.target_id] = entry.label or None
    return {target: label for target, label in found.items() if label}


def test_fork_has_every_line_and_a_new_header(tmp_path: Path) -> None:
    log, ids = branched(tmp_path / "one")
    copy = fork(log, tmp_path / "two", CWD)
    assert lines(copy)[1:] == lines(log)[1:]
    header = json.loads(lines(copy)[0])
    assert header["id"] != log.header.id
    assert (header["cwd"], header["parentSession"]) == ("/elsewhere", str(log.path))
    assert copy.leaf == log.leaf == ids["c"]
    assert copy.messages() == log.messages()
    assert copy.name == "The name"
    copy.append_message(UserMessage("only here", 9))
    assert len(log.messages()) + 1 == len(copy.messages())
    copy.close()
    log.close()


def test_fork_of_a_branch_has_its_entries_labels_and_name(tmp_path: Path) -> None:
    log, ids = branched(tmp_path / "one")
    copy = fork(log, tmp_path / "two", CWD, leaf=ids["c"])
    assert copy.messages() == log.messages()
    assert [node.id for node in copy.nodes()][:4] == [ids["root"], ids["a"], ids["label"], ids["c"]]
    assert ids["b"] not in copy
    assert labels(copy) == {ids["a"]: "second"}
    assert copy.name == "The name"
    other = fork(log, tmp_path / "two", CWD, leaf=ids["b"])
    assert labels(other) == {ids["a"]: "second", ids["b"]: "not on it"}
    for one in (copy, other, log):
        one.close()


def test_artifacts_are_copied(tmp_path: Path) -> None:
    log, _ = branched(tmp_path / "one")
    assert log.artifacts_folder is not None
    (log.artifacts_folder / "deep").mkdir(parents=True)
    (log.artifacts_folder / "deep" / "1.bash.log").write_text("output")
    copy = fork(log, tmp_path / "two", CWD)
    assert copy.artifacts_folder is not None
    assert (copy.artifacts_folder / "deep" / "1.bash.log").read_text() == "output"
    (copy.artifacts_folder / "deep" / "1.bash.log").write_text("changed")
    assert (log.artifacts_folder / "deep" / "1.bash.log").read_text() == "output"
    copy.close()
    log.close()


def test_large_images_are_shared(tmp_path: Path) -> None:
    log = SessionLog.new(tmp_path / "one", CWD, blobs=tmp_path / "blobs")
    message = UserMessage([ImageContent("AAAA" * MIN_CHARS, "image/png")], 1)
    log.append_message(message)
    copy = fork(log, tmp_path / "two", CWD)
    assert copy.messages() == [message]
    assert len(list((tmp_path / "blobs").iterdir())) == 1
    copy.close()
    log.close()


def test_in_memory_session_can_be_forked_to_a_file(tmp_path: Path) -> None:
    log = SessionLog.new(None, CWD)
    log.append_message(UserMessage("hi", 1))
    copy = fork(log, tmp_path, CWD)
    assert copy.messages() == [UserMessage("hi", 1)]
    assert b"parentSession" not in lines(copy)[0]
    copy.close()


def test_file_with_a_half_written_line_can_be_forked(tmp_path: Path) -> None:
    log, _ = branched(tmp_path / "one")
    assert log.path is not None
    with log.path.open("ab") as file:
        file.write(b'{"type":"message","id":"half')
    copy = fork(log.path, tmp_path / "two", CWD)
    assert [node.id for node in copy.nodes()] == [node.id for node in log.nodes()]
    assert lines(copy)[-1] == b""
    assert copy.warnings == []
    copy.close()
    log.close()


def test_unknown_leaf_is_refused(tmp_path: Path) -> None:
    log, _ = branched(tmp_path / "one")
    with pytest.raises(SessionError, match="no entry nowhere"):
        fork(log, tmp_path / "two", CWD, leaf="nowhere")
    assert not (tmp_path / "two").exists()
    log.close()


def test_failed_fork_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, _ = branched(tmp_path / "one")
    assert log.artifacts_folder is not None
    log.artifacts_folder.mkdir()
    (log.artifacts_folder / "x").write_text("x")

    def broken(fd: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch, pytest.raises(SessionError, match="cannot be forked"):
        patch.setattr(os, "fsync", broken)
        fork(log, tmp_path / "two", CWD)
    assert list((tmp_path / "two").iterdir()) == []
    log.close()


def test_a_fork_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    log = SessionLog.new(None, tmp_path)
    log.append_message(UserMessage(content="hi", timestamp=1))
    copy = fork(log, tmp_path / "forks", CWD)
    assert copy.path is not None and copy.path.stat().st_mode & 0o777 == 0o600
    copy.close()
