"""Events: facts about a run. The tag is the name on the wire; consumers `match` on the class."""

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType, field

from tau.ai.stream_events import AssistantMessageEvent
from tau.ai.wire import (
    AppMessage,
    AssistantMessage,
    BashExecutionMessage,
    ToolResultMessage,
    UserContent,
    text_of,
)


class AgentStart(Struct, frozen=True, rename="camel", tag_field="type", tag="agent_start"):
    """A run of the model begins."""


class AgentEnd(Struct, frozen=True, rename="camel", tag_field="type", tag="agent_end"):
    """The run ended; these messages are new."""

    messages: list[AppMessage]


class RunError(Struct, frozen=True, rename="camel"):
    """Why a run failed. `kind` is that of a provider's error, or `other`."""

    kind: str
    message: str
    retry_after_ms: int | UnsetType = UNSET


class AgentSettled(Struct, frozen=True, rename="camel", tag_field="type", tag="agent_settled"):
    """The prompt is done: no retry, compaction or queued message continues it."""

    aborted: bool = False
    error: RunError | UnsetType = UNSET


class TurnStart(Struct, frozen=True, rename="camel", tag_field="type", tag="turn_start"):
    """A turn begins: one answer of the model and its tool calls."""


class TurnEnd(Struct, frozen=True, rename="camel", tag_field="type", tag="turn_end"):
    """The answer of the turn, and the results of its tool calls."""

    message: AssistantMessage
    tool_results: list[ToolResultMessage]


class MessageStart(Struct, frozen=True, rename="camel", tag_field="type", tag="message_start"):
    """A message begins: of the user, of the model or with the result of a tool call."""

    message: AppMessage


class MessageUpdate(Struct, frozen=True, rename="camel", tag_field="type", tag="message_update", gc=False):
    """A piece of the answer arrived. Programs also get the message so far."""

    assistant_message_event: AssistantMessageEvent


class MessageEnd(Struct, frozen=True, rename="camel", tag_field="type", tag="message_end"):
    """The message is complete and recorded."""

    message: AppMessage


class ToolResult(Struct, frozen=True, rename="camel"):
    """A tool's output as the protocol shows it."""

    content: list[UserContent]
    details: Any = UNSET


class ToolStart(Struct, frozen=True, rename="camel", tag_field="type", tag="tool_execution_start"):
    """A tool call begins."""

    tool_call_id: str
    tool_name: str
    args: dict[str, Any]


class ToolUpdate(Struct, frozen=True, rename="camel", tag_field="type", tag="tool_execution_update"):
    """Output of a running tool call so far."""

    tool_call_id: str
    tool_name: str
    args: dict[str, Any]
    partial_result: ToolResult


class ToolEnd(Struct, frozen=True, rename="camel", tag_field="type", tag="tool_execution_end"):
    """A tool call ended. Here `result` is text if it failed without details; programs get an object."""

    tool_call_id: str
    tool_name: str
    result: ToolResult | str
    is_error: bool

    @property
    def text(self) -> str:
        return self.result if isinstance(self.result, str) else text_of(self.result.content)


class RetryStart(Struct, frozen=True, rename="camel", tag_field="type", tag="auto_retry_start"):
    """A request failed and is sent again after the delay."""

    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


class RetryEnd(Struct, frozen=True, rename="camel", tag_field="type", tag="auto_retry_end"):
    """The last of the retries succeeded or failed."""

    success: bool
    attempt: int
    final_error: str | UnsetType = UNSET


class FallbackApplied(Struct, frozen=True, rename="camel", tag_field="type", tag="retry_fallback_applied"):
    """Another model steps in; models are written `provider/id`."""

    from_: str = field(name="from")
    to: str
    role: str


class FallbackSucceeded(
    Struct, frozen=True, rename="camel", tag_field="type", tag="retry_fallback_succeeded"
):
    """The model that stepped in has answered."""

    model: str
    role: str


class CompactionResult(Struct, frozen=True, rename="camel"):
    """Both token counts use the same measure: the server's, as far as it has counted."""

    summary: str
    first_kept_entry_id: str
    tokens_before: int
    tokens_after: int
    details: Any = UNSET


class CompactionStart(Struct, frozen=True, rename="camel", tag_field="type", tag="auto_compaction_start"):
    """The conversation is being shortened automatically."""

    reason: Literal["threshold", "overflow", "idle", "incomplete"]
    action: Literal["context-full", "handoff", "shake"]


class CompactionEnd(Struct, frozen=True, rename="camel", tag_field="type", tag="auto_compaction_end"):
    """An automatic compaction ended; `result` is null if nothing was summarized."""

    action: Literal["context-full", "handoff", "shake"]
    result: CompactionResult | None
    aborted: bool
    will_retry: bool
    error_message: str | UnsetType = UNSET
    skipped: bool | UnsetType = UNSET


class Compacted(Struct, frozen=True, rename="camel", tag_field="type", tag="compaction"):
    """The conversation was summarized; `auto` is set only if the user did not ask for it."""

    summary: str
    tokens_before: int
    tokens_after: int
    auto: bool | UnsetType = UNSET


class ThinkingLevelChanged(
    Struct, frozen=True, rename="camel", tag_field="type", tag="thinking_level_changed"
):
    """Requests use this thinking level from now on."""

    thinking_level: str


class ModelChanged(Struct, frozen=True, rename="camel", tag_field="type", tag="model_changed"):
    """Requests go to this model from now on."""

    provider: str
    model_id: str


class SessionInfoChanged(Struct, frozen=True, rename="camel", tag_field="type", tag="session_info_changed"):
    """The session's name changed; without `name`, it was removed."""

    name: str | UnsetType = UNSET


class EntryAppended(Struct, frozen=True, rename="camel", tag_field="type", tag="entry_appended"):
    """The log has a new entry that no other event reports."""

    entry: Any


class PermissionsChanged(Struct, frozen=True, rename="camel", tag_field="type", tag="permissions_changed"):
    """The mode and the rules that decisions use from now on."""

    mode: str
    allow: list[str]
    ask: list[str]
    deny: list[str]


class QueueChanged(Struct, frozen=True, rename="camel", tag_field="type", tag="queue_update"):
    """The texts in the queue now."""

    steering: list[str]
    follow_up: list[str]


class JobChanged(Struct, frozen=True, rename="camel", tag_field="type", tag="job_update"):
    """A background job has started or ended, or its result is now `queued` for the model."""

    id: str
    status: str
    label: str
    duration_ms: int
    queued: bool = False


class TriggeredRule(Struct, frozen=True, rename="camel"):
    name: str
    path: str
    content: str


class RulesTriggered(Struct, frozen=True, rename="camel", tag_field="type", tag="ttsr_triggered"):
    """Stream rules matched: the answer is interrupted, or the model reads them afterwards."""

    rules: list[TriggeredRule]
    interrupted: bool


class ExtensionFault(Struct, frozen=True, rename="camel", tag_field="type", tag="extension_error"):
    """The code of an extension failed; `event` is what it was called for."""

    extension_path: str
    event: str
    error: str


class BashEnd(Struct, frozen=True, rename="camel", tag_field="type", tag="bash_end"):
    """A shell command of the user ended."""

    message: BashExecutionMessage


class TodoReminder(Struct, frozen=True, rename="camel", tag_field="type", tag="todo_reminder"):
    """The model stopped with these tasks open and was reminded."""

    todos: list[Any]
    attempt: int
    max_attempts: int


class TodoAutoClear(Struct, frozen=True, rename="camel", tag_field="type", tag="todo_auto_clear"):
    """Tasks that were closed a while ago were removed from the list."""


class Notice(Struct, frozen=True, rename="camel", tag_field="type", tag="notice"):
    """Something people should know."""

    level: Literal["info", "warning", "error"]
    message: str
    source: str | UnsetType = UNSET


class ServerState(Struct, frozen=True, rename="camel"):
    """An MCP server: its state, and what is wrong."""

    name: str
    state: str
    why: str = ""
    tools: int = 0


class ServersChanged(Struct, frozen=True, rename="camel", tag_field="type", tag="mcp_servers_changed"):
    """The state of an MCP server has changed; all of them are listed."""

    servers: list[ServerState]


AgentEvent: TypeAlias = (
    AgentStart
    | AgentEnd
    | AgentSettled
    | TurnStart
    | TurnEnd
    | MessageStart
    | MessageUpdate
    | MessageEnd
    | ToolStart
    | ToolUpdate
    | ToolEnd
    | RetryStart
    | RetryEnd
    | FallbackApplied
    | FallbackSucceeded
    | CompactionStart
    | CompactionEnd
    | Compacted
    | ThinkingLevelChanged
    | ModelChanged
    | SessionInfoChanged
    | EntryAppended
    | PermissionsChanged
    | QueueChanged
    | JobChanged
    | TodoReminder
    | TodoAutoClear
    | RulesTriggered
    | ServersChanged
    | ExtensionFault
    | BashEnd
    | Notice
)
