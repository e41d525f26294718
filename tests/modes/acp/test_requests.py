"""What a permission request shows."""

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from acp import schema as a
from acp.interfaces import Client

from tau.base.errors import ToolError
from tau.coding.approval.policy import ApprovalItem
from tau.coding.approval.request import ApprovalDecision, ApprovalRequest
from tau.coding.files.local_fs import LocalFileSystem
from tau.coding.plan.review import Plan, PlanAnswer
from tau.modes.acp.dialogs import AcpDialogs
from tau.modes.acp.tool_calls import ShownCall


def test_request_to_write_a_pipe_does_not_wait_for_its_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "notes.txt")
    call = ShownCall("c", "write", {"path": "notes.txt", "content": "new\n"}, tmp_path)
    [diff] = asyncio.run(call.planned(LocalFileSystem()))
    assert isinstance(diff, a.FileEditToolCallContent)
    assert (diff.old_text, diff.new_text) == (None, "new\n")


class Editor:
    """Records what it is asked and answers with the given option, if it is offered."""

    def __init__(self, answer: str = "") -> None:
        self.answer = answer
        self.calls: list[a.ToolCallUpdate] = []
        self.options: list[list[tuple[str, str, str]]] = []
        self.dialogs = AcpDialogs(cast("Client", self), lambda: "s", lambda _: None, LocalFileSystem())

    async def request_permission(
        self, session_id: str, call: a.ToolCallUpdate, options: list[a.PermissionOption]
    ) -> Any:
        self.calls.append(call)
        self.options.append([(one.option_id, one.name, one.kind) for one in options])
        if not self.answer:
            return SimpleNamespace(outcome=a.DeniedOutcome(outcome="cancelled"))
        return SimpleNamespace(outcome=a.AllowedOutcome(outcome="selected", option_id=self.answer))


def test_invalid_answer_is_one_sentence_for_the_model(tmp_path: Path) -> None:
    async def request_permission(*_: Any) -> Any:
        a.RequestPermissionResponse.model_validate({})

    client = cast("Client", SimpleNamespace(request_permission=request_permission))
    dialogs = AcpDialogs(client, lambda: "s", lambda _: None, LocalFileSystem())
    with pytest.raises(ToolError, match=r"^The editor's answer does not follow the protocol\.$"):
        asyncio.run(dialogs.approve(request_for(tmp_path, "ls")))


def request_for(folder: Path, command: str, **more: Any) -> ApprovalRequest:
    item = ApprovalItem(f"run: {command}", ("run", command), "run", command)
    return ApprovalRequest(
        call_id="c",
        tool="bash",
        label="bash",
        arguments={"command": command},
        questions=(item,),
        cwd=folder,
        session_cwd=folder,
        **{"for_session": False, **more},
    )


def test_title_of_a_request_shows_characters_that_hide_a_command(tmp_path: Path) -> None:
    editor = Editor()
    request = request_for(tmp_path, "ls \u202e; rm -r x\x1b[2K")
    assert asyncio.run(editor.dialogs.approve(request)) is None
    assert editor.calls[0].title == "ls <U+202E>; rm -r x<U+001B>[2K"


def test_request_offers_what_the_screen_offers(tmp_path: Path) -> None:
    editor = Editor("always")
    request = request_for(tmp_path, "make", for_session=True, patterns=("run: make",))
    assert asyncio.run(editor.dialogs.approve(request)) == ApprovalDecision("always")
    assert editor.options == [
        [
            ("once", "Allow once", "allow_once"),
            ("no", "Reject", "reject_once"),
            ("session", "Allow for this session", "allow_always"),
            ("always", "Always allow run: make", "allow_always"),
        ]
    ]
    assert asyncio.run(editor.dialogs.approve(request_for(tmp_path, "make"))) is None  # not offered
    long = request_for(tmp_path, "x" * 200_001, for_session=True)
    assert asyncio.run(editor.dialogs.approve(long)) is None
    assert editor.options[-1] == [("no", "Reject", "reject_once")]


def test_questions_and_plans_show_what_hides_in_them() -> None:
    editor = Editor("0")
    plan = Plan("Safe\u202e", "Read\u200b files", "local://plan.md")
    assert asyncio.run(editor.dialogs.review_plan(plan)) == PlanAnswer("approve")
    shown = str(editor.calls[0])
    assert "Safe<U+202E>" in shown and "Read<U+200B> files" in shown and "\u202e" not in shown
    assert asyncio.run(editor.dialogs.select("Which?", ["a\u202e"])) == "a\u202e"
    assert editor.options[-1][0] == ("0", "a<U+202E>", "allow_once")
