"""tau: a coding agent for the terminal and for programs. This is the public API."""

from tau.base.late import late
from tau.base.version import VERSION as __version__

TYPE_CHECKING = False
if TYPE_CHECKING:  # the same names for type checkers and editors; a test compares the two
    from tau.agent.abort import Aborted as Aborted
    from tau.agent.agent import Agent as Agent
    from tau.agent.call_context import World as World
    from tau.agent.effects import Effects as Effects
    from tau.agent.events import AgentEnd as AgentEnd
    from tau.agent.events import AgentEvent as AgentEvent
    from tau.agent.events import AgentSettled as AgentSettled
    from tau.agent.events import AgentStart as AgentStart
    from tau.agent.events import BashEnd as BashEnd
    from tau.agent.events import Compacted as Compacted
    from tau.agent.events import CompactionEnd as CompactionEnd
    from tau.agent.events import CompactionResult as CompactionResult
    from tau.agent.events import CompactionStart as CompactionStart
    from tau.agent.events import EntryAppended as EntryAppended
    from tau.agent.events import ExtensionFault as ExtensionFault
    from tau.agent.events import FallbackApplied as FallbackApplied
    from tau.agent.events import FallbackSucceeded as FallbackSucceeded
    from tau.agent.events import JobChanged as JobChanged
    from tau.agent.events import MessageEnd as MessageEnd
    from tau.agent.events import MessageStart as MessageStart
    from tau.agent.events import MessageUpdate as MessageUpdate
    from tau.agent.events import ModelChanged as ModelChanged
    from tau.agent.events import Notice as Notice
    from tau.agent.events import PermissionsChanged as PermissionsChanged
    from tau.agent.events import QueueChanged as QueueChanged
    from tau.agent.events import RetryEnd as RetryEnd
    from tau.agent.events import RetryStart as RetryStart
    from tau.agent.events import RulesTriggered as RulesTriggered
    from tau.agent.events import RunError as RunError
    from tau.agent.events import ServersChanged as ServersChanged
    from tau.agent.events import ServerState as ServerState
    from tau.agent.events import SessionInfoChanged as SessionInfoChanged
    from tau.agent.events import ThinkingLevelChanged as ThinkingLevelChanged
    from tau.agent.events import TodoAutoClear as TodoAutoClear
    from tau.agent.events import TodoReminder as TodoReminder
    from tau.agent.events import ToolEnd as ToolEnd
    from tau.agent.events import ToolResult as ToolResult
    from tau.agent.events import ToolStart as ToolStart
    from tau.agent.events import ToolUpdate as ToolUpdate
    from tau.agent.events import TriggeredRule as TriggeredRule
    from tau.agent.events import TurnEnd as TurnEnd
    from tau.agent.events import TurnStart as TurnStart
    from tau.agent.hooks import CallReview as CallReview
    from tau.agent.hooks import Hooks as Hooks
    from tau.agent.hooks import Refusal as Refusal
    from tau.agent.hooks import ToolQuestion as ToolQuestion
    from tau.agent.loop import Outcome as Outcome
    from tau.agent.output import ToolOutput as ToolOutput
    from tau.agent.ports import ToolContext as ToolContext
    from tau.agent.queue import Queue as Queue
    from tau.agent.tool import Tool as Tool
    from tau.agent.ui import Ui as Ui
    from tau.ai.dialect import Request as Request
    from tau.ai.model import Model as Model
    from tau.ai.model import ThinkingLevel as ThinkingLevel
    from tau.ai.stream_events import AssistantMessageEvent as AssistantMessageEvent
    from tau.ai.stream_events import TextDelta as TextDelta
    from tau.ai.stream_events import TextEnd as TextEnd
    from tau.ai.stream_events import TextStart as TextStart
    from tau.ai.stream_events import ThinkingDelta as ThinkingDelta
    from tau.ai.stream_events import ThinkingEnd as ThinkingEnd
    from tau.ai.stream_events import ThinkingStart as ThinkingStart
    from tau.ai.stream_events import ToolCallDelta as ToolCallDelta
    from tau.ai.stream_events import ToolCallEnd as ToolCallEnd
    from tau.ai.stream_events import ToolCallStart as ToolCallStart
    from tau.ai.wire import AppMessage as AppMessage
    from tau.ai.wire import AssistantContent as AssistantContent
    from tau.ai.wire import AssistantMessage as AssistantMessage
    from tau.ai.wire import Attachment as Attachment
    from tau.ai.wire import BashExecutionMessage as BashExecutionMessage
    from tau.ai.wire import BranchSummaryMessage as BranchSummaryMessage
    from tau.ai.wire import CacheLifetimes as CacheLifetimes
    from tau.ai.wire import CacheMiss as CacheMiss
    from tau.ai.wire import CompactionSummaryMessage as CompactionSummaryMessage
    from tau.ai.wire import Cost as Cost
    from tau.ai.wire import CustomMessage as CustomMessage
    from tau.ai.wire import ImageContent as ImageContent
    from tau.ai.wire import Message as Message
    from tau.ai.wire import PythonExecutionMessage as PythonExecutionMessage
    from tau.ai.wire import StopReason as StopReason
    from tau.ai.wire import TextContent as TextContent
    from tau.ai.wire import ThinkingContent as ThinkingContent
    from tau.ai.wire import ToolCall as ToolCall
    from tau.ai.wire import ToolResultMessage as ToolResultMessage
    from tau.ai.wire import Usage as Usage
    from tau.ai.wire import UserContent as UserContent
    from tau.ai.wire import UserMessage as UserMessage
    from tau.base.errors import ConfigError as ConfigError
    from tau.base.errors import ExtensionError as ExtensionError
    from tau.base.errors import ProviderError as ProviderError
    from tau.base.errors import SessionError as SessionError
    from tau.base.errors import TauError as TauError
    from tau.base.errors import ToolError as ToolError
    from tau.base.errors import UsageError as UsageError
    from tau.coding.ports import CodingContext as CodingContext
    from tau.coding.session.entries import CustomEntry as CustomEntry
    from tau.coding.session.entries import CustomMessageEntry as CustomMessageEntry
    from tau.coding.session.entries import KnownEntry as KnownEntry
    from tau.coding.session.entries import MessageEntry as MessageEntry
    from tau.coding.session.session import Session as Session
    from tau.coding.session.storage.line_storage import SessionLocked as SessionLocked
    from tau.coding.session.storage.log import SessionLog as SessionLog
    from tau.coding.session.storage.session_store import SessionStore as SessionStore
    from tau.coding.session.tree_navigation import Move as Move
    from tau.modes.batch.python_api import batch as batch
    from tau.modes.batch.run_folder import BatchResult as BatchResult
    from tau.modes.batch.task import BatchTask as BatchTask
    from tau.modes.rpc.client import RpcClient as RpcClient
    from tau.modes.rpc.connection import RpcError as RpcError
    from tau.sdk import Connection as Connection
    from tau.sdk import SessionOptions as SessionOptions
    from tau.sdk import call_tool as call_tool
    from tau.sdk import connect as connect
    from tau.sdk import create_session as create_session
    from tau.sdk import run_sync as run_sync
    from tau.sdk import session_store as session_store

_HOMES = {
    late("tau.modes.batch.python_api"): "batch",
    late("tau.modes.batch.run_folder"): "BatchResult",
    late("tau.modes.batch.task"): "BatchTask",
    late("tau.modes.rpc.client"): "RpcClient",
    late("tau.modes.rpc.connection"): "RpcError",
    late("tau.sdk"): "Connection SessionOptions call_tool connect create_session run_sync session_store",
    late("tau.coding.session.session"): "Session",
    late("tau.coding.session.storage.log"): "SessionLog",
    late("tau.coding.session.storage.session_store"): "SessionStore",
    late("tau.coding.session.tree_navigation"): "Move",
    late("tau.coding.session.entries"): "CustomEntry CustomMessageEntry KnownEntry MessageEntry",
    late("tau.agent.agent"): "Agent",
    late("tau.agent.loop"): "Outcome",
    late("tau.agent.queue"): "Queue",
    late("tau.agent.call_context"): "World",
    late("tau.agent.abort"): "Aborted",
    late("tau.agent.tool"): "Tool",
    late("tau.agent.output"): "ToolOutput",
    late("tau.agent.effects"): "Effects",
    late("tau.agent.ports"): "ToolContext",
    late("tau.coding.ports"): "CodingContext",
    late("tau.agent.hooks"): "CallReview Hooks Refusal ToolQuestion",
    late("tau.agent.ui"): "Ui",
    late("tau.ai.dialect"): "Request",
    late("tau.ai.model"): "Model ThinkingLevel",
    late("tau.base.errors"): (
        "ConfigError ExtensionError ProviderError SessionError TauError ToolError UsageError"
    ),
    late("tau.coding.session.storage.line_storage"): "SessionLocked",
    late("tau.agent.events"): (
        "AgentEnd AgentEvent AgentSettled AgentStart BashEnd Compacted CompactionEnd CompactionResult "
        "CompactionStart EntryAppended ExtensionFault FallbackApplied FallbackSucceeded JobChanged "
        "MessageEnd MessageStart MessageUpdate ModelChanged Notice PermissionsChanged QueueChanged RetryEnd "
        "RetryStart RulesTriggered RunError ServersChanged ServerState SessionInfoChanged "
        "ThinkingLevelChanged TodoAutoClear TodoReminder "
        "ToolEnd ToolResult ToolStart ToolUpdate TriggeredRule TurnEnd TurnStart"
    ),
    late("tau.ai.stream_events"): (
        "AssistantMessageEvent TextDelta TextEnd TextStart ThinkingDelta ThinkingEnd ThinkingStart "
        "ToolCallDelta ToolCallEnd ToolCallStart"
    ),
    late("tau.ai.wire"): (
        "AppMessage AssistantContent AssistantMessage Attachment BashExecutionMessage BranchSummaryMessage "
        "CacheLifetimes CacheMiss CompactionSummaryMessage Cost CustomMessage ImageContent Message "
        "PythonExecutionMessage StopReason TextContent ThinkingContent ToolCall ToolResultMessage Usage "
        "UserContent UserMessage"
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = ["__version__", *_HOME_OF]


def __getattr__(name: str) -> object:
    """Load each name at first use, to keep the command line fast."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'tau' has no attribute {name!r}")
    value: object = getattr(_HOME_OF[name], name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
