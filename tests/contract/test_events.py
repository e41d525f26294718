"""What programs read of an event: its name on the wire and its fields. Changes here are changes of a contract."""

from typing import get_args

from inline_snapshot import snapshot
from msgspec.structs import fields

from tau.agent.events import AgentEvent
from tests.contract.session_tools import HOW


def test_events() -> None:
    found = {
        str(event.__struct_config__.tag): [field.encode_name for field in fields(event)]
        for event in get_args(AgentEvent)
    }
    pinned = snapshot(
        {
            "agent_start": [],
            "agent_end": ["messages"],
            "agent_settled": ["aborted", "error"],
            "turn_start": [],
            "turn_end": ["message", "toolResults"],
            "message_start": ["message"],
            "message_update": ["assistantMessageEvent"],
            "message_end": ["message"],
            "tool_execution_start": ["toolCallId", "toolName", "args"],
            "tool_execution_update": ["toolCallId", "toolName", "args", "partialResult"],
            "tool_execution_end": ["toolCallId", "toolName", "result", "isError"],
            "auto_retry_start": ["attempt", "maxAttempts", "delayMs", "errorMessage"],
            "auto_retry_end": ["success", "attempt", "finalError"],
            "retry_fallback_applied": ["from", "to", "role"],
            "retry_fallback_succeeded": ["model", "role"],
            "auto_compaction_start": ["reason", "action"],
            "auto_compaction_end": ["action", "result", "aborted", "willRetry", "errorMessage", "skipped"],
            "compaction": ["summary", "tokensBefore", "tokensAfter", "auto"],
            "thinking_level_changed": ["thinkingLevel"],
            "model_changed": ["provider", "modelId"],
            "session_info_changed": ["name"],
            "entry_appended": ["entry"],
            "permissions_changed": ["mode", "allow", "ask", "deny"],
            "queue_update": ["steering", "followUp"],
            "job_update": ["id", "status", "label", "durationMs", "queued"],
            "todo_reminder": ["todos", "attempt", "maxAttempts"],
            "todo_auto_clear": [],
            "ttsr_triggered": ["rules", "interrupted"],
            "mcp_servers_changed": ["servers"],
            "extension_error": ["extensionPath", "event", "error"],
            "bash_end": ["message"],
            "notice": ["level", "message", "source"],
        }
    )
    assert found == pinned, HOW
