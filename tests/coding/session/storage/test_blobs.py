"""Large images: stored once, private, verified on load; a lost one becomes a note."""

import base64
import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tau.ai.wire import (
    AppMessage,
    Attachment,
    CustomMessage,
    ImageContent,
    TextContent,
    ToolResultMessage,
    UserMessage,
)
from tau.base.errors import SessionError
from tau.coding.session.entries import ContentReplacement, ContextEdit, CustomMessageEntry
from tau.coding.session.storage.blobs import MIN_CHARS, PREFIX, Blobs, MissingBlob
from tau.coding.session.storage.log import SessionLog

LARGE = base64.b64encode(bytes(range(256)) * (MIN_CHARS // 256)).decode()
SMALL = "A" * (MIN_CHARS - 4)


def image(data: str = LARGE) -> ImageContent:
    return ImageContent(data, "image/png")


def begun(folder: Path) -> SessionLog:
    return SessionLog.new(folder / "sessions", folder, blobs=folder / "blobs")


def reopened(log: SessionLog) -> SessionLog:
    log.close()
    assert log.path is not None
    return SessionLog.open(log.path, blobs=log.blobs)


def stored(folder: Path) -> list[Path]:
    return sorted((folder / "blobs").iterdir())


def test_same_large_image_is_stored_once_and_restored(tmp_path: Path) -> None:
    log = begun(tmp_path)
    texts: list[AppMessage] = [
        UserMessage([TextContent("see"), image()], 1),
        ToolResultMessage("c", "read", [image(), TextContent("x")], False, 2),
        CustomMessage("note", [image()], True, 3),
    ]
    files = set()
    for message in texts:
        log.append_message(message)
        [blob] = stored(tmp_path)
        files.add(blob.stat().st_ino)
    assert log.messages() == texts and len(files) == 1
    assert blob.stat().st_mode & 0o777 == 0o600
    assert blob.read_bytes() == base64.b64decode(LARGE)
    assert log.path is not None
    assert log.path.stat().st_size < 3_000
    assert f'"data":"blob:sha256:{blob.name}"' in log.path.read_text()
    log = reopened(log)
    assert log.messages() == texts
    assert log.warnings == []
    log.close()


def test_non_message_entries_store_their_images_too(tmp_path: Path) -> None:
    log = begun(tmp_path)
    spoken = log.append(CustomMessageEntry(custom_type="x", content=[image()]))
    log.append(ContextEdit(target_id=spoken, replacement=ContentReplacement([image(), TextContent("now")])))
    assert log.path is not None and log.path.stat().st_size < 3_000
    log = reopened(log)
    [message] = log.messages()
    assert isinstance(message, CustomMessage)
    assert message.content == [image(), TextContent("now")]
    log.close()


def test_attachments_are_stored_and_restored(tmp_path: Path) -> None:
    log = begun(tmp_path)
    file = Attachment("1", "document", "a.pdf", "application/pdf", 9, LARGE)
    message = UserMessage("see", 1, [file])
    log.append_message(message)
    assert len(stored(tmp_path)) == 1
    log = reopened(log)
    assert log.messages() == [message]
    log.close()


def test_lost_attachment_leaves_a_note(tmp_path: Path) -> None:
    log = begun(tmp_path)
    log.append_message(UserMessage("see", 1, [Attachment("1", "image", "a.png", "image/png", 9, LARGE)]))
    stored(tmp_path)[0].unlink()
    log = reopened(log)
    [message] = log.messages()
    assert isinstance(message, UserMessage) and isinstance(message.content, list)
    assert message.attachments == []
    assert message.content[0] == TextContent("see")
    assert isinstance(note := message.content[1], TextContent) and "missing" in note.text
    log.close()


@pytest.mark.parametrize("data", [SMALL, LARGE[:-4] + "\n" + LARGE[-4:], "?" * MIN_CHARS, "ü" * MIN_CHARS])
def test_small_or_unusual_data_stays_inline(tmp_path: Path, data: str) -> None:
    log = begun(tmp_path)
    log.append_message(UserMessage([image(data)], 1))
    assert not (tmp_path / "blobs").exists()
    log = reopened(log)
    assert log.messages() == [UserMessage([image(data)], 1)]
    log.close()


def test_without_a_blob_folder_images_stay_inline(tmp_path: Path) -> None:
    for log in (SessionLog.new(tmp_path, tmp_path), SessionLog.new(None, tmp_path, blobs=tmp_path / "blobs")):
        log.append_message(UserMessage([image()], 1))
        assert log.messages() == [UserMessage([image()], 1)]
        log.close()
    assert not (tmp_path / "blobs").exists()


@pytest.mark.parametrize(
    "harm", [Path.unlink, lambda path: path.write_bytes(b"x"), lambda path: path.write_bytes(b"")]
)
def test_missing_or_damaged_image_becomes_a_note_and_a_warning(tmp_path: Path, harm: Any) -> None:
    log = begun(tmp_path)
    log.append_message(UserMessage([TextContent("see"), image(), image()], 1))
    harm(stored(tmp_path)[0])
    log = reopened(log)
    [message] = log.messages()
    assert isinstance(message, UserMessage)
    assert message.content[0] == TextContent("see")
    assert all(isinstance(part, TextContent) for part in message.content)
    [warning] = log.warnings
    assert "missing" in warning
    log.append_message(UserMessage("on", 2))
    log.close()


def test_damaged_blob_is_replaced_when_the_image_is_stored_again(tmp_path: Path) -> None:
    log = begun(tmp_path)
    log.append_message(UserMessage([image()], 1))
    stored(tmp_path)[0].write_bytes(b"\0" * (MIN_CHARS // 256 * 256))
    log.append_message(UserMessage([image()], 2))
    log = reopened(log)
    assert log.messages() == [UserMessage([image()], 1), UserMessage([image()], 2)]
    log.close()


@pytest.mark.parametrize("name", ["../../secret", "/etc/passwd", "A" * 64, "ab", ""])
def test_blob_reference_is_not_a_path(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "a" / "blobs").mkdir(parents=True)
    path = tmp_path / "x.jsonl"
    part = {"type": "image", "data": f"blob:sha256:{name}", "mimeType": "image/png"}
    place = {"id": "1", "parentId": None, "timestamp": "t"}
    message = {"role": "user", "content": [part], "timestamp": 1}
    path.write_text(
        '{"type":"session","version":3,"id":"a","timestamp":"t","cwd":"/"}\n'
        + json.dumps({"type": "message", **place, "message": message})
        + "\n"
    )
    log = SessionLog.open(path, blobs=tmp_path / "a" / "blobs")
    [found] = log.messages()
    assert isinstance(found, UserMessage) and isinstance(found.content[0], TextContent)
    assert len(log.warnings) == 1
    log.close()


def test_text_that_looks_like_a_reference_is_text(tmp_path: Path) -> None:
    log = begun(tmp_path)
    message = UserMessage([TextContent("blob:sha256:" + "a" * 64), image(SMALL)], 1)
    log.append_message(message)
    log = reopened(log)
    assert log.messages() == [message]
    log.close()


def test_image_that_cannot_be_stored_is_reported_and_nothing_is_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = begun(tmp_path)
    log.append_message(UserMessage("hi", 1))
    assert log.path is not None
    before = log.path.read_bytes()

    def full(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch, pytest.raises(SessionError, match="No space left"):
        patch.setattr(os, "write", full)
        log.append_message(UserMessage([image()], 2))
    assert log.path.read_bytes() == before
    assert stored(tmp_path) == []
    assert log.messages() == [UserMessage("hi", 1)]
    log.append_message(UserMessage([image()], 2))
    assert len(stored(tmp_path)) == 1
    log.close()


def test_inlining_a_lost_image_leaves_a_note(tmp_path: Path) -> None:
    warnings: list[str] = []
    line = json.dumps({"x": [{"type": "image", "data": "blob:sha256:" + "a" * 64, "mimeType": "m"}]}).encode()
    [part] = json.loads(Blobs(tmp_path).inline(line.replace(b": ", b":"), warnings.append))["x"]
    assert part["type"] == "text" and "missing" in part["text"]
    assert len(warnings) == 1


@pytest.mark.parametrize("name", ("a" * 63, "g" * 64, "../" * 21 + "a"), ids=("short", "letters", "path"))
def test_only_a_hash_names_a_stored_image(tmp_path: Path, name: str) -> None:
    with pytest.raises(MissingBlob, match="not the name of a stored image"):
        Blobs(tmp_path).data(PREFIX + name)
