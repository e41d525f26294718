"""What a permission request shows."""

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from acp import schema as a
from acp.interfaces import Client

from tau.coding.approval.request import ApprovalRequest
from tau.coding.files.local_fs import LocalFileSystem
from tau.modes.acp.dialogs import AcpDialogs
from tau.modes.acp.tool_calls import ShownCall


def test_request_to_write_a_pipe_does_not_wait_for_its_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "notes.txt")
    call = ShownCall("c", "write", {"path": "notes.txt", "content": "new\n"}, tmp_path)
    [diff] = asyncio.run(call.planned(LocalFileSystem()))
    assert isinstance(diff, a.FileEditToolCallContent)
    assert (diff.old_text, diff.new_text) == (None, "new\n")


def test_title_of_a_request_shows_characters_that_hide_a_command(tmp_path: Path) -> None:
    titles: list[str | None] = []

    class Recorder:
        async def request_permission(
            self, session_id: str, call: a.ToolCallUpdate, options: list[a.PermissionOption]
        ) -> Any:
            titles.append(call.title)
            return SimpleNamespace(outcome=a.DeniedOutcome(outcome="cancelled"))

    request = ApprovalRequest(
        call_id="c",
        tool="bash",
        label="bash",
        arguments={"command": "ls \u202e; rm -r x\x1b[2K"},
        questions=(),
        for_session=False,
        cwd=tmp_path,
        session_cwd=tmp_path,
    )
    dialogs = AcpDialogs(cast("Client", Recorder()), lambda: "s", lambda _: None, LocalFileSystem())
    assert asyncio.run(dialogs.approve(request)) is None
    assert titles == ["ls <U+202E>; rm -r x<U+001B>[2K"]
