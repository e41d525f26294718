"""Escape leads to idle from every state: recorded, no queued message lost, ready for the next one."""

import asyncio
from pathlib import Path

import pytest

from tau.ai.wire import AssistantMessage, ToolCall, ToolResultMessage, UserMessage
from tests.faults.escapes import STATES, escape


@pytest.mark.parametrize("name", STATES)
def test_escape_to_idle(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))  # so that nothing beside the project is allowed
    state = STATES[name]

    escaped = asyncio.run(escape(state, folder))

    assert escaped.session_was_busy
    assert escaped.waiting == list(state.keeps_waiting)
    assert escaped.next_request is not None
    messages = escaped.next_request.messages
    last = messages[-1]
    assert isinstance(last, UserMessage) and last.content == "Are you there?"
    calls = [
        part.id
        for message in messages
        if isinstance(message, AssistantMessage)
        for part in message.content
        if isinstance(part, ToolCall)
    ]
    results = [message.tool_call_id for message in messages if isinstance(message, ToolResultMessage)]
    assert calls == results
