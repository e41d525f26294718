"""Sessions of pi and omp load, mean the same here, can be continued, and pi reads the result."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tau.ai.wire import (
    AppMessage,
    AssistantMessage,
    BashExecutionMessage,
    ImageContent,
    TextContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from tau.coding.export.json import pi_lines
from tau.coding.session.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ContextEdit,
    CustomEntry,
    CustomMessageEntry,
    LabelEntry,
    ModeChange,
    ModelChange,
    RuleInjection,
    SessionInfo,
    ThinkingLevelChange,
)
from tau.coding.session.storage.blobs import MIN_CHARS
from tau.coding.session.storage.fork import fork
from tau.coding.session.storage.log import SessionLog

FILES = Path(__file__).with_name("files")
PI = os.environ.get("PI_OF_TESTER", "")
needs_pi = pytest.mark.skipif(
    not PI or shutil.which("node") is None, reason="PI_OF_TESTER does not name pi's package folder"
)


def copied(name: str, folder: Path) -> Path:
    return Path(shutil.copy(FILES / name, folder / name))


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def read_with_pi(path: Path) -> dict[str, Any]:
    command = ["node", str(FILES / "read_pi.mjs"), PI, str(path)]
    done = subprocess.run(command, capture_output=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def as_ours(messages: list[dict[str, Any]]) -> list[AppMessage]:
    """What pi would send, without the fields we do not keep."""
    return msgspec.convert(messages, list[AppMessage])


def answer(text: str) -> AssistantMessage:
    return AssistantMessage([TextContent(text)], "faux", "faux", "faux", Usage(), "stop", 2)


def test_pi_session_has_the_same_context_at_every_entry(tmp_path: Path) -> None:
    expected = json.loads((FILES / "pi.context.json").read_text())
    log = SessionLog.open(copied("pi.jsonl", tmp_path))
    assert log.warnings == []
    assert log.leaf == expected["leaf"]
    assert log.name == expected["name"]
    assert {node.id for node in log.nodes()} == set(expected["contexts"])
    for id, wanted in expected["contexts"].items():
        log.move(id)
        context = log.context()
        assert context.messages == as_ours(wanted["messages"]), id
        model = wanted["model"] and (wanted["model"]["provider"], wanted["model"]["modelId"])
        assert context.model == model, id
        assert (context.thinking or "off") == wanted["thinkingLevel"], id
    log.close()


def test_every_pi_entry_is_known(tmp_path: Path) -> None:
    log = SessionLog.open(copied("pi.jsonl", tmp_path))
    assert [node.type for node, entry in log.entries() if entry is None] == []
    log.close()


def test_pi_session_can_be_continued_and_keeps_its_lines(tmp_path: Path) -> None:
    path = copied("pi.jsonl", tmp_path)
    before = path.read_bytes()
    log = SessionLog.open(path)
    id = log.append_message(UserMessage("from here", 1))
    log.close()
    assert path.read_bytes().startswith(before)
    assert records(path)[-1]["id"] == id
    assert records(path)[-1]["parentId"] == records(path)[-2]["id"]


def grown(log: SessionLog) -> None:
    """One of everything we write."""
    log.append(ModelChange(provider="anthropic", model_id="claude-opus-4-5"))
    log.append(ThinkingLevelChange(thinking_level="low"))
    first = log.append_message(
        UserMessage([TextContent("look"), ImageContent("iVBORw0KGgo=", "image/png")], 1)
    )
    log.append_message(
        AssistantMessage(
            [ToolCall("c", "read", {"path": "x"})],
            "anthropic-messages",
            "anthropic",
            "m",
            Usage(),
            "toolUse",
            4,
        )
    )
    log.append_message(ToolResultMessage("c", "read", [TextContent("text")], False, 5, {"lines": 1}))
    log.append_message(BashExecutionMessage("ls", "a", 0, False, False, 6))
    log.append(LabelEntry(target_id=first, label="here"))
    log.append(CustomEntry(custom_type="x", data={"a": 1}))
    log.append(CustomMessageEntry(custom_type="note", content="mind this"))
    log.append(ModeChange(mode="plan"))
    log.append(RuleInjection(injected_rules=["r"]))
    log.append(BranchSummaryEntry(from_id=first, summary="was there"))
    kept = log.append_message(UserMessage("kept", 7))
    log.append(CompactionEntry(summary="so far", first_kept_entry_id=kept, tokens_before=9))
    late = log.append_message(answer("later"))
    log.append(ContextEdit(target_id=late, replacement=None))
    log.append(SessionInfo(name="A name"))
    log.append_message(UserMessage("last", 8))


def same_for_pi(log: SessionLog, path: Path) -> None:
    found = read_with_pi(path)
    assert found["entries"] == records(path)[1:]
    assert found["header"] == records(path)[0]
    assert (found["leaf"], found["name"]) == (log.leaf, log.name)
    context = log.context()
    assert as_ours(found["context"]["messages"]) == context.messages
    assert found["context"]["thinkingLevel"] == context.thinking
    model = found["context"]["model"]
    assert (model["provider"], model["modelId"]) == context.model


@needs_pi
def test_pi_reads_its_session_after_tau_continued_it(tmp_path: Path) -> None:
    path = copied("pi.jsonl", tmp_path)
    log = SessionLog.open(path)
    grown(log)
    log.close()
    same_for_pi(log, path)


@needs_pi
def test_pi_reads_a_session_started_by_tau(tmp_path: Path) -> None:
    log = SessionLog.new(tmp_path, Path("/home/me/project"))
    grown(log)
    log.close()
    assert log.path is not None
    same_for_pi(log, log.path)


@needs_pi
def test_fixture_matches_current_pi(tmp_path: Path) -> None:
    path = copied("pi.jsonl", tmp_path)
    expected = json.loads((FILES / "pi.context.json").read_text())
    assert read_with_pi(path)["context"] == expected["contexts"][expected["leaf"]]


def omp_file(folder: Path, content: bytes) -> Path:
    path = folder / "omp.jsonl"
    text = (FILES / "omp.jsonl").read_text().replace("BLOB", hashlib.sha256(content).hexdigest())
    path.write_text(text)
    return path


def test_omp_session_loads_with_all_known_entries(tmp_path: Path) -> None:
    picture = b"\x89PNG picture"
    store = Path.home() / ".omp/agent/blobs"
    store.mkdir(parents=True)
    (store / hashlib.sha256(picture).hexdigest()).write_bytes(picture)
    log = SessionLog.open(omp_file(tmp_path, picture))
    context = log.context()
    log.close()
    assert log.warnings == []
    assert log.name == "Fix the parser"
    assert context.model == ("anthropic", "claude-opus-4-5")
    assert (context.thinking, context.mode) == ("high", "plan")
    roles = [str(type(message).__struct_config__.tag) for message in context.messages]
    assert roles == ["user", "assistant", "toolResult", "custom", "pythonExecution", "assistant"]
    assert context.messages[0] == UserMessage(
        [
            TextContent("Fix it, as in the picture."),
            ImageContent(base64.b64encode(picture).decode(), "image/png"),
        ],
        1777629602001,
    )


def test_unknown_omp_entries_survive_in_the_file_and_its_fork(tmp_path: Path) -> None:
    path = omp_file(tmp_path, b"gone")
    before = path.read_bytes()
    log = SessionLog.open(path)
    log.append_message(UserMessage("on", 1))
    copy = fork(log, tmp_path / "forks", Path("/home/me/project"))
    log.close()
    copy.close()
    assert copy.path is not None
    assert path.read_bytes().startswith(before)
    assert copy.path.read_bytes().split(b"\n")[1:] == path.read_bytes().split(b"\n")[1:]
    assert copy.name == "Fix the parser"
    assert copy.messages() == log.messages()


def test_pi_export_renames_omp_models(tmp_path: Path) -> None:
    log = SessionLog.open(omp_file(tmp_path, b"gone"))
    lines = [json.loads(line) for line in pi_lines(log)]
    log.close()
    changes = [line for line in lines if line["type"] == "model_change"]
    assert [(line["provider"], line["modelId"]) for line in changes] == [("anthropic", "claude-opus-4-5")]
    [other] = [line for line in lines if line["type"] == "custom"]
    assert other["data"] == {"model": "anthropic/claude-haiku-4-5", "role": "smol"}
    assert [line.get("id") for line in lines[1:]] == [node.id for node in log.nodes()]


def with_large_image(folder: Path) -> tuple[SessionLog, str]:
    data = base64.b64encode(os.urandom(MIN_CHARS)).decode()
    log = SessionLog.new(folder, folder, blobs=folder / "blobs")
    log.append_message(UserMessage([TextContent("see"), ImageContent(data, "image/png")], 1))
    log.append_message(answer("seen"))
    return log, data


def test_pi_export_inlines_large_images(tmp_path: Path) -> None:
    log, data = with_large_image(tmp_path)
    lines = list(pi_lines(log))
    log.close()
    assert log.path is not None
    assert data.encode() not in log.path.read_bytes()
    assert json.loads(lines[1])["message"]["content"][1] == {
        "type": "image",
        "data": data,
        "mimeType": "image/png",
    }
    assert lines[2] == log.path.read_bytes().split(b"\n")[2]


@needs_pi
def test_pi_reads_its_export(tmp_path: Path) -> None:
    log, _ = with_large_image(tmp_path)
    exported = tmp_path / "exported.jsonl"
    exported.write_bytes(b"".join(line + b"\n" for line in pi_lines(log)))
    found = read_with_pi(exported)
    assert as_ours(found["context"]["messages"]) == log.messages()
    log.close()
