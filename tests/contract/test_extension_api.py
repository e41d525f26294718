"""What authors of extensions rely on. A removed or renamed name here breaks their code."""

import inspect

from inline_snapshot import snapshot

from tau import ext
from tau.ext.extensions.actions import SessionActions
from tau.ext.extensions.api import ExtensionAPI
from tau.ext.extensions.context import ExtensionCommandContext, ToolRunContext
from tau.ext.extensions.ui import ExtensionUi
from tests.contract.session_tools import HOW


def members(cls: type) -> list[str]:
    return sorted(name for name, _ in inspect.getmembers(cls) if not name.startswith("_"))


def test_public_names() -> None:
    assert sorted(ext.__all__) == snapshot(
        [
            "API_VERSION",
            "BeforeAgentStart",
            "BeforeCompact",
            "BeforeLeave",
            "BeforeProviderHeaders",
            "BeforeProviderRequest",
            "BeforeTree",
            "CURSOR_MARKER",
            "CachedComponent",
            "CancellableLoader",
            "CompactionReply",
            "Component",
            "ContextEvent",
            "CredentialDisabled",
            "Deny",
            "Effects",
            "ExtensionAPI",
            "ExtensionCommandContext",
            "ExtensionContext",
            "ExtensionUi",
            "GoalUpdated",
            "InputEvent",
            "Key",
            "Paste",
            "ProjectTrust",
            "ProviderResponse",
            "ResourcePaths",
            "ResourcesDiscover",
            "RunSetup",
            "SessionShutdown",
            "SessionStart",
            "StaleContext",
            "TauError",
            "ToolCallEvent",
            "ToolError",
            "ToolOutput",
            "ToolResultEvent",
            "ToolRunContext",
            "TreeMoved",
            "UserCode",
            "UserInput",
            "clean_line",
            "clean_styled",
            "truncate",
            "visible_width",
            "wrap",
        ]
    ), HOW


def test_members() -> None:
    found = {
        cls.__name__: members(cls)
        for cls in (SessionActions, ExtensionAPI, ExtensionCommandContext, ToolRunContext, ExtensionUi)
    }
    assert found == snapshot(
        {
            "SessionActions": [
                "active_tools",
                "append_entry",
                "commands",
                "complete",
                "events",
                "every",
                "exec",
                "log",
                "model",
                "send_message",
                "send_user_message",
                "set_active_tools",
                "set_label",
                "set_model",
                "set_name",
                "set_thinking",
                "task",
                "thinking",
                "tools",
            ],
            "ExtensionAPI": [
                "active_tools",
                "append_entry",
                "command",
                "commands",
                "complete",
                "context",
                "data_dir",
                "entry_renderer",
                "events",
                "every",
                "exec",
                "flag",
                "log",
                "message_renderer",
                "model",
                "provider",
                "remove_tool",
                "send_message",
                "send_user_message",
                "set_active_tools",
                "set_label",
                "set_model",
                "set_name",
                "set_thinking",
                "settings",
                "shortcut",
                "task",
                "thinking",
                "thinking_renderer",
                "tool",
                "tool_renderer",
                "tools",
                "url_scheme",
            ],
            "ExtensionCommandContext": [
                "abort",
                "branch",
                "compact",
                "cwd",
                "fork",
                "has_ui",
                "is_idle",
                "mode",
                "model",
                "navigate_tree",
                "new_session",
                "reload",
                "resume",
                "session",
                "shutdown",
                "ui",
                "usage",
                "wait_for_idle",
            ],
            "ToolRunContext": [
                "abort",
                "call",
                "call_id",
                "compact",
                "cwd",
                "has_ui",
                "is_idle",
                "mode",
                "model",
                "session",
                "shutdown",
                "ui",
                "update",
                "usage",
            ],
            "ExtensionUi": [
                "can",
                "confirm",
                "custom",
                "editor",
                "editor_text",
                "footer",
                "header",
                "input",
                "notify",
                "on_key",
                "paste",
                "select",
                "set_editor",
                "status",
                "theme",
                "themes",
                "title",
                "tools_expanded",
                "widget",
                "working_message",
            ],
        }
    ), HOW
