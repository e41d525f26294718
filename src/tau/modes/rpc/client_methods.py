"""One method per command, written by `make docs` from the table of session commands."""

# mypy: disable-error-code="no-any-return"

from typing import Any, Literal

from msgspec import Struct

from tau.agent.events import CompactionResult
from tau.ai.wire import Attachment, ImageContent
from tau.coding.todo.list import TodoPhase
from tau.modes.session_commands.command import NoFields
from tau.modes.session_commands.conversation import (
    BashRequest,
    BashResult,
    ClearedQueue,
    EnabledRequest,
    HandoffResult,
    InstructionsRequest,
    InterruptModeRequest,
    MessageRequest,
    PromptAccepted,
    PromptRequest,
    TakeModeRequest,
)
from tau.modes.session_commands.host_tools import (
    HostScheme,
    HostSchemeNames,
    HostSchemesRequest,
    HostTool,
    HostToolNames,
    HostToolsRequest,
)
from tau.modes.session_commands.logins import LoggedIn, LoginProviders, LoginRequest
from tau.modes.session_commands.models import (
    AvailableLevels,
    AvailableModels,
    CycledModel,
    ModelInfo,
    SetModelRequest,
    ThinkingRequest,
)
from tau.modes.session_commands.servers import McpAnswer, McpRequest
from tau.modes.session_commands.sessions import (
    Branched,
    EntriesRequest,
    EntryList,
    EntryRequest,
    EntryTree,
    ExportedFile,
    ExportRequest,
    LastText,
    MessageList,
    MessagePage,
    MessagePlaces,
    NameRequest,
    NewSessionRequest,
    PageRequest,
    SessionSwitched,
    SwitchSessionRequest,
)
from tau.modes.session_commands.state import (
    ApprovalModeRequest,
    AvailableCommands,
    SessionState,
    StatsWithContext,
    TodosRequest,
    TodoState,
)
from tau.modes.session_commands.subagents import (
    StoppedSubagents,
    SubagentLevel,
    SubagentMessage,
    SubagentMessages,
    SubagentMessagesRequest,
    SubagentReceipt,
    SubagentRequest,
    Subagents,
)


class RpcRequests:
    """Sends a request and decodes the data of its answer."""

    async def ask(self, command: str, request: Struct, response: Any) -> Any:
        raise NotImplementedError


class ConversationMethods(RpcRequests):
    """Commands about the conversation."""

    async def prompt(
        self,
        message: str,
        images: list[ImageContent] | None = None,
        attachments: list[Attachment] | None = None,
        streaming_behavior: Literal["steer", "followUp"] | None = None,
    ) -> PromptAccepted:
        """Send a message; answered when it is accepted."""
        return await self.ask(
            "prompt",
            PromptRequest(
                message=message,
                images=images or [],
                attachments=attachments or [],
                streaming_behavior=streaming_behavior,
            ),
            PromptAccepted,
        )

    async def steer(self, message: str, images: list[ImageContent] | None = None) -> PromptAccepted:
        """Send a message between turns of the current run, or start one."""
        return await self.ask("steer", MessageRequest(message=message, images=images or []), PromptAccepted)

    async def follow_up(self, message: str, images: list[ImageContent] | None = None) -> PromptAccepted:
        """Queue a message for the end of the current run, or start one."""
        return await self.ask(
            "follow_up", MessageRequest(message=message, images=images or []), PromptAccepted
        )

    async def abort(self) -> None:
        """Stop the agent; answered when it is idle. Queued messages stay."""
        await self.ask("abort", NoFields(), None)

    async def abort_and_prompt(
        self, message: str, images: list[ImageContent] | None = None
    ) -> PromptAccepted:
        """Stop the agent, then send a message."""
        return await self.ask(
            "abort_and_prompt", MessageRequest(message=message, images=images or []), PromptAccepted
        )

    async def clear_queue(self) -> ClearedQueue:
        """Remove queued messages and return their texts."""
        return await self.ask("clear_queue", NoFields(), ClearedQueue)

    async def bash(self, command: str, exclude_from_context: bool = False) -> BashResult:
        """Run a shell command and add it to the conversation."""
        return await self.ask(
            "bash", BashRequest(command=command, exclude_from_context=exclude_from_context), BashResult
        )

    async def abort_bash(self) -> None:
        """Stop running shell commands."""
        await self.ask("abort_bash", NoFields(), None)

    async def compact(self, custom_instructions: str = "") -> CompactionResult:
        """Summarize older messages to free up context."""
        return await self.ask(
            "compact", InstructionsRequest(custom_instructions=custom_instructions), CompactionResult
        )

    async def handoff(self, custom_instructions: str = "") -> HandoffResult:
        """Write a summary and continue with it in a new session."""
        return await self.ask(
            "handoff", InstructionsRequest(custom_instructions=custom_instructions), HandoffResult
        )

    async def set_steering_mode(self, mode: Literal["one-at-a-time", "all"]) -> None:
        """Send queued steering messages one per turn, or all at once."""
        await self.ask("set_steering_mode", TakeModeRequest(mode=mode), None)

    async def set_follow_up_mode(self, mode: Literal["one-at-a-time", "all"]) -> None:
        """Send queued follow-ups one per run, or all at once."""
        await self.ask("set_follow_up_mode", TakeModeRequest(mode=mode), None)

    async def set_interrupt_mode(self, mode: Literal["immediate", "wait"]) -> None:
        """Let steering interrupt the calls of a turn, or wait for its end."""
        await self.ask("set_interrupt_mode", InterruptModeRequest(mode=mode), None)

    async def set_auto_compaction(self, enabled: bool) -> None:
        """Turn automatic compaction on or off."""
        await self.ask("set_auto_compaction", EnabledRequest(enabled=enabled), None)

    async def set_auto_retry(self, enabled: bool) -> None:
        """Turn automatic retries on or off."""
        await self.ask("set_auto_retry", EnabledRequest(enabled=enabled), None)

    async def abort_retry(self) -> None:
        """Stop waiting for a retry; the run ends with its error."""
        await self.ask("abort_retry", NoFields(), None)


class SessionMethods(RpcRequests):
    """Commands about sessions."""

    async def new_session(self, parent_session: str | None = None) -> SessionSwitched:
        """Start an empty session with the same model."""
        return await self.ask(
            "new_session", NewSessionRequest(parent_session=parent_session), SessionSwitched
        )

    async def switch_session(self, session_path: str) -> SessionSwitched:
        """Open a stored session."""
        return await self.ask(
            "switch_session", SwitchSessionRequest(session_path=session_path), SessionSwitched
        )

    async def fork(self, entry_id: str) -> Branched:
        """Continue in a copy that ends before a user message."""
        return await self.ask("fork", EntryRequest(entry_id=entry_id), Branched)

    async def clone(self) -> SessionSwitched:
        """Continue in a copy of the current branch."""
        return await self.ask("clone", NoFields(), SessionSwitched)

    async def branch(self, entry_id: str) -> Branched:
        """Go back to before a user message, in the same session."""
        return await self.ask("branch", EntryRequest(entry_id=entry_id), Branched)

    async def get_branch_messages(self) -> MessagePlaces:
        """List the user messages that a branch can start from."""
        return await self.ask("get_branch_messages", NoFields(), MessagePlaces)

    async def get_fork_messages(self) -> MessagePlaces:
        """List the user messages that a fork can start from."""
        return await self.ask("get_fork_messages", NoFields(), MessagePlaces)

    async def set_session_name(self, name: str) -> None:
        """Name the session; an empty name removes it."""
        await self.ask("set_session_name", NameRequest(name=name), None)

    async def export_html(self, output_path: str | None = None) -> ExportedFile:
        """Write the session to an HTML page, with secrets masked."""
        return await self.ask("export_html", ExportRequest(output_path=output_path), ExportedFile)

    async def get_messages(self) -> MessageList:
        """Return the whole conversation."""
        return await self.ask("get_messages", NoFields(), MessageList)

    async def get_messages_page(self, cursor: str | None = None, limit: int = 100) -> MessagePage:
        """Return a part of the conversation."""
        return await self.ask("get_messages_page", PageRequest(cursor=cursor, limit=limit), MessagePage)

    async def get_entries(self, since: str | None = None) -> EntryList:
        """Return the entries of the session file, or those after one."""
        return await self.ask("get_entries", EntriesRequest(since=since), EntryList)

    async def get_tree(self) -> EntryTree:
        """Return the session as a tree of entries."""
        return await self.ask("get_tree", NoFields(), EntryTree)

    async def get_last_assistant_text(self) -> LastText:
        """Return the text of the last answer."""
        return await self.ask("get_last_assistant_text", NoFields(), LastText)


class ModelMethods(RpcRequests):
    """Commands about models and thinking."""

    async def set_model(self, provider: str, model_id: str) -> ModelInfo:
        """Switch to this model from the next request on."""
        return await self.ask("set_model", SetModelRequest(provider=provider, model_id=model_id), ModelInfo)

    async def cycle_model(self) -> CycledModel | None:
        """Switch to the next usable model; null if there is no other."""
        return await self.ask("cycle_model", NoFields(), CycledModel | None)

    async def get_available_models(self) -> AvailableModels:
        """List the models that can be used now."""
        return await self.ask("get_available_models", NoFields(), AvailableModels)

    async def set_thinking_level(
        self, level: Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
    ) -> None:
        """Set how much the model thinks."""
        await self.ask("set_thinking_level", ThinkingRequest(level=level), None)

    async def cycle_thinking_level(self) -> ThinkingRequest | None:
        """Go to the next thinking level; null if the model has only one."""
        return await self.ask("cycle_thinking_level", NoFields(), ThinkingRequest | None)

    async def get_available_thinking_levels(self) -> AvailableLevels:
        """List the thinking levels of the model."""
        return await self.ask("get_available_thinking_levels", NoFields(), AvailableLevels)


class StateMethods(RpcRequests):
    """Commands about the state of the session, its todo list and its permissions."""

    async def get_state(self) -> SessionState:
        """Return the state of the session."""
        return await self.ask("get_state", NoFields(), SessionState)

    async def get_session_stats(self) -> StatsWithContext:
        """Return message counts, tokens and cost."""
        return await self.ask("get_session_stats", NoFields(), StatsWithContext)

    async def set_todos(self, phases: tuple[TodoPhase, ...]) -> TodoState:
        """Replace the todo list."""
        return await self.ask("set_todos", TodosRequest(phases=phases), TodoState)

    async def set_approval_mode(self, mode: Literal["ask", "workspace", "plan", "yolo"]) -> None:
        """Change what runs without approval."""
        await self.ask("set_approval_mode", ApprovalModeRequest(mode=mode), None)

    async def get_commands(self) -> AvailableCommands:
        """List the commands of files and extensions."""
        return await self.ask("get_commands", NoFields(), AvailableCommands)

    async def get_available_commands(self) -> AvailableCommands:
        """List the commands of files and extensions."""
        return await self.ask("get_available_commands", NoFields(), AvailableCommands)


class SubagentsMethods(RpcRequests):
    """Commands about subagents."""

    async def set_subagent_subscription(self, level: Literal["off", "progress", "events"]) -> SubagentLevel:
        """Choose which events of subagents to receive."""
        return await self.ask("set_subagent_subscription", SubagentLevel(level=level), SubagentLevel)

    async def get_subagents(self) -> Subagents:
        """List the subagents."""
        return await self.ask("get_subagents", NoFields(), Subagents)

    async def get_subagent_messages(
        self, subagent_id: str = "", session_file: str = "", from_byte: int = 0
    ) -> SubagentMessages:
        """Return messages of a subagent."""
        return await self.ask(
            "get_subagent_messages",
            SubagentMessagesRequest(subagent_id=subagent_id, session_file=session_file, from_byte=from_byte),
            SubagentMessages,
        )

    async def stop_subagent(self, subagent_id: str) -> StoppedSubagents:
        """Stop a subagent."""
        return await self.ask("stop_subagent", SubagentRequest(subagent_id=subagent_id), StoppedSubagents)

    async def message_subagent(self, subagent_id: str, message: str) -> SubagentReceipt:
        """Send a message to a subagent."""
        return await self.ask(
            "message_subagent", SubagentMessage(subagent_id=subagent_id, message=message), SubagentReceipt
        )


class LoginMethods(RpcRequests):
    """Commands about logins to providers and their keys."""

    async def get_login_providers(self) -> LoginProviders:
        """List the providers with a login."""
        return await self.ask("get_login_providers", NoFields(), LoginProviders)

    async def login(
        self,
        provider_id: str,
        method: Literal["browser", "device", "key"] = "browser",
        key: str = "",
        client_id: str = "",
    ) -> LoggedIn:
        """Log in to a provider: sends the page as `open_url`, answers when done; or store a key."""
        return await self.ask(
            "login",
            LoginRequest(provider_id=provider_id, method=method, key=key, client_id=client_id),
            LoggedIn,
        )


class ServerMethods(RpcRequests):
    """Commands about MCP servers."""

    async def mcp(self, words: list[str] | None = None) -> McpAnswer:
        """List, add, test and call MCP servers, with the words of tau mcp."""
        return await self.ask("mcp", McpRequest(words=words or []), McpAnswer)


class HostMethods(RpcRequests):
    """Commands with which the driving program offers its own tools and URL schemes."""

    async def set_host_tools(self, tools: list[HostTool]) -> HostToolNames:
        """Offer these tools of the driving program, instead of earlier ones."""
        return await self.ask("set_host_tools", HostToolsRequest(tools=tools), HostToolNames)

    async def set_host_uri_schemes(self, schemes: list[HostScheme]) -> HostSchemeNames:
        """Offer these URL schemes of the driving program, instead of earlier ones."""
        return await self.ask("set_host_uri_schemes", HostSchemesRequest(schemes=schemes), HostSchemeNames)
