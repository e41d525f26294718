"""Files as the editor has them: what happens when it is gone, refuses, or keeps text in its own way."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from acp import RequestError
from acp import schema as a
from acp.interfaces import Client

from tau.agent.ports import ABSENT
from tau.base.errors import ToolError
from tau.coding.files.local_fs import LocalFileSystem
from tau.modes.acp import editor_files
from tau.modes.acp.editor_files import EditorFiles

BOTH = a.FileSystemCapabilities(read_text_file=True, write_text_file=True)


class FakeClient:
    """Answers with `text`, or fails."""

    def __init__(self, text: str = "", failure: Exception | None = None, *, hangs: bool = False) -> None:
        self.text = text
        self.failure = failure
        self.hangs = hangs
        self.written: list[str] = []

    async def read_text_file(self, session_id: str, path: str, **_: Any) -> a.ReadTextFileResponse:
        await self._meet()
        return a.ReadTextFileResponse(content=self.text)

    async def write_text_file(self, session_id: str, path: str, content: str, **_: Any) -> None:
        await self._meet()
        self.written.append(content)

    async def _meet(self) -> None:
        if self.hangs:
            await asyncio.Event().wait()
        if self.failure is not None:
            raise self.failure


def files(client: FakeClient, capabilities: a.FileSystemCapabilities = BOTH) -> EditorFiles:
    return EditorFiles(LocalFileSystem(), cast("Client", client), lambda: "s", capabilities)


@pytest.mark.parametrize(
    ("stored", "held", "read"),
    [
        (b"a\n", "unsaved\n", b"unsaved\n"),
        (b"a\r\nb\r\n", "a\nc\n", b"a\r\nc\r\n"),
        (b"\xef\xbb\xbfa\n", "b\n", b"\xef\xbb\xbfb\n"),
        (b"\0binary", "never asked", b"\0binary"),
    ],
)
def test_text_keeps_the_line_ends_and_the_mark_of_the_file(
    tmp_path: Path, stored: bytes, held: str, read: bytes
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(stored)
    assert asyncio.run(files(FakeClient(held)).read(path)) == read


def test_dead_editor_fails_the_call(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a\n")
    dead = files(FakeClient(failure=ConnectionError("Connection closed")))
    for work in (dead.read(path), dead.write(path, b"b\n")):
        with pytest.raises(ToolError, match="The editor is gone"):
            asyncio.run(work)  # type: ignore[arg-type]
    assert path.read_text() == "a\n"


def test_editor_that_does_not_answer_fails_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(editor_files, "TIMEOUT_S", 0.01)
    path = tmp_path / "a.txt"
    path.write_text("a\n")
    with pytest.raises(ToolError, match="did not answer"):
        asyncio.run(files(FakeClient(hangs=True)).read(path))


def test_file_the_editor_does_not_open_is_read_from_disk_and_a_refused_write_fails(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a\n")
    refusing = files(FakeClient(failure=RequestError(-32603, "no")))
    assert asyncio.run(refusing.read(path)) == b"a\n"
    with pytest.raises(ToolError, match="refused to write"):
        asyncio.run(refusing.write(path, b"b\n"))
    assert path.read_text() == "a\n"


def test_file_that_changed_on_disk_is_not_handed_to_the_editor(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("changed\n")
    client = FakeClient()
    with pytest.raises(ToolError, match="meanwhile"):
        asyncio.run(files(client).write(path, b"b\n", expect=ABSENT))
    assert (client.written, path.read_text()) == ([], "changed\n")


def test_file_deleted_since_it_was_read_is_not_created_again(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a\n")
    client = FakeClient()

    async def work() -> None:
        known = await LocalFileSystem().stat(path)
        path.unlink()
        await files(client).write(path, b"b\n", expect=known)

    with pytest.raises(ToolError, match="has been deleted since it was read; nothing was written"):
        asyncio.run(work())
    assert client.written == [] and not path.exists()


class DyingClient(FakeClient):
    """Dies after it has written a part of the text."""

    async def write_text_file(self, session_id: str, path: str, content: str, **_: Any) -> None:
        Path(path).write_text(content[:3])
        raise ConnectionError


def test_editor_that_dies_while_it_writes_is_not_said_to_have_done_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old text\n")
    with pytest.raises(ToolError, match="has changed on disk and may be incomplete"):
        asyncio.run(files(DyingClient()).write(path, b"new text\n"))


@pytest.mark.parametrize("failure", [ConnectionError(), RequestError(-32603, "no")])
def test_new_file_that_the_editor_does_not_take_is_said_to_be_on_disk(
    tmp_path: Path, failure: Exception
) -> None:
    path = tmp_path / "a.txt"
    with pytest.raises(ToolError, match="On disk, the file has the new text"):
        asyncio.run(files(FakeClient(failure=failure)).write(path, b"b\n"))
    assert path.read_text() == "b\n"


def test_answer_outside_the_protocol_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a\n")
    with pytest.raises(ToolError, match="does not follow the protocol"):
        asyncio.run(files(FakeClient(failure=ValueError("content: not a string"))).read(path))
