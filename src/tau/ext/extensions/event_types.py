"""The type of `tau.on`: for each event, what its handlers get and may return."""

from collections.abc import Awaitable, Callable
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar, overload

from tau.agent import events as e
from tau.agent.output import ToolOutput
from tau.ai.dialect import Request
from tau.ai.wire import AppMessage
from tau.ext.extensions import events as x
from tau.ext.extensions.context import ExtensionContext

E = TypeVar("E")
R = TypeVar("R")
EventFunction: TypeAlias = Callable[[E, ExtensionContext], R | Awaitable[R | None] | None]
F = TypeVar("F", bound=Callable[..., Any])


class Subscription(Generic[E, R]):
    """Call it with a function to have that called (`@tau.on("turn_end")`), without one to unsubscribe."""

    def __init__(
        self, add: Callable[[Any], Callable[[], None]], function: "EventFunction[E, R] | None"
    ) -> None:
        self._add = add
        self._stop: list[Callable[[], None]] = []
        if function is not None:
            self._stop.append(add(function))

    @overload
    def __call__(self) -> None: ...
    @overload
    def __call__(self, function: EventFunction[E, R]) -> EventFunction[E, R]: ...
    def __call__(self, function: EventFunction[E, R] | None = None) -> EventFunction[E, R] | None:
        if function is not None:
            self._stop.append(self._add(function))
            return function
        while self._stop:
            self._stop.pop()()
        return None


class EventRegistrar(Protocol):
    @overload
    def __call__(
        self, event: Literal["agent_start"], call: EventFunction[e.AgentStart, None] | None = None, /
    ) -> Subscription[e.AgentStart, None]: ...
    @overload
    def __call__(
        self, event: Literal["agent_end"], call: EventFunction[e.AgentEnd, None] | None = None, /
    ) -> Subscription[e.AgentEnd, None]: ...
    @overload
    def __call__(
        self, event: Literal["agent_settled"], call: EventFunction[e.AgentSettled, None] | None = None, /
    ) -> Subscription[e.AgentSettled, None]: ...
    @overload
    def __call__(
        self, event: Literal["turn_start"], call: EventFunction[e.TurnStart, None] | None = None, /
    ) -> Subscription[e.TurnStart, None]: ...
    @overload
    def __call__(
        self, event: Literal["turn_end"], call: EventFunction[e.TurnEnd, None] | None = None, /
    ) -> Subscription[e.TurnEnd, None]: ...
    @overload
    def __call__(
        self, event: Literal["message_start"], call: EventFunction[e.MessageStart, None] | None = None, /
    ) -> Subscription[e.MessageStart, None]: ...
    @overload
    def __call__(
        self, event: Literal["message_update"], call: EventFunction[e.MessageUpdate, None] | None = None, /
    ) -> Subscription[e.MessageUpdate, None]: ...
    @overload
    def __call__(
        self, event: Literal["message_end"], call: EventFunction[e.MessageEnd, None] | None = None, /
    ) -> Subscription[e.MessageEnd, None]: ...
    @overload
    def __call__(
        self, event: Literal["tool_execution_start"], call: EventFunction[e.ToolStart, None] | None = None, /
    ) -> Subscription[e.ToolStart, None]: ...
    @overload
    def __call__(
        self,
        event: Literal["tool_execution_update"],
        call: EventFunction[e.ToolUpdate, None] | None = None,
        /,
    ) -> Subscription[e.ToolUpdate, None]: ...
    @overload
    def __call__(
        self, event: Literal["tool_execution_end"], call: EventFunction[e.ToolEnd, None] | None = None, /
    ) -> Subscription[e.ToolEnd, None]: ...
    @overload
    def __call__(
        self, event: Literal["auto_retry_start"], call: EventFunction[e.RetryStart, None] | None = None, /
    ) -> Subscription[e.RetryStart, None]: ...
    @overload
    def __call__(
        self, event: Literal["auto_retry_end"], call: EventFunction[e.RetryEnd, None] | None = None, /
    ) -> Subscription[e.RetryEnd, None]: ...
    @overload
    def __call__(
        self,
        event: Literal["auto_compaction_start"],
        call: EventFunction[e.CompactionStart, None] | None = None,
        /,
    ) -> Subscription[e.CompactionStart, None]: ...
    @overload
    def __call__(
        self,
        event: Literal["auto_compaction_end"],
        call: EventFunction[e.CompactionEnd, None] | None = None,
        /,
    ) -> Subscription[e.CompactionEnd, None]: ...
    @overload
    def __call__(
        self, event: Literal["session_compact"], call: EventFunction[e.Compacted, None] | None = None, /
    ) -> Subscription[e.Compacted, None]: ...
    @overload
    def __call__(
        self, event: Literal["todo_reminder"], call: EventFunction[e.TodoReminder, None] | None = None, /
    ) -> Subscription[e.TodoReminder, None]: ...
    @overload
    def __call__(
        self, event: Literal["ttsr_triggered"], call: EventFunction[e.RulesTriggered, None] | None = None, /
    ) -> Subscription[e.RulesTriggered, None]: ...
    @overload
    def __call__(
        self, event: Literal["model_select"], call: EventFunction[e.ModelChanged, None] | None = None, /
    ) -> Subscription[e.ModelChanged, None]: ...
    @overload
    def __call__(
        self,
        event: Literal["thinking_level_select"],
        call: EventFunction[e.ThinkingLevelChanged, None] | None = None,
        /,
    ) -> Subscription[e.ThinkingLevelChanged, None]: ...
    @overload
    def __call__(
        self, event: Literal["session_start"], call: EventFunction[x.SessionStart, None] | None = None, /
    ) -> Subscription[x.SessionStart, None]: ...
    @overload
    def __call__(
        self,
        event: Literal["session_shutdown"],
        call: EventFunction[x.SessionShutdown, None] | None = None,
        /,
    ) -> Subscription[x.SessionShutdown, None]: ...
    @overload
    def __call__(
        self, event: Literal["session_switch"], call: EventFunction[x.SessionStart, None] | None = None, /
    ) -> Subscription[x.SessionStart, None]: ...
    @overload
    def __call__(
        self, event: Literal["session_branch"], call: EventFunction[x.SessionStart, None] | None = None, /
    ) -> Subscription[x.SessionStart, None]: ...
    @overload
    def __call__(
        self, event: Literal["session_tree"], call: EventFunction[x.TreeMoved, None] | None = None, /
    ) -> Subscription[x.TreeMoved, None]: ...
    @overload
    def __call__(
        self,
        event: Literal["after_provider_response"],
        call: EventFunction[x.ProviderResponse, None] | None = None,
        /,
    ) -> Subscription[x.ProviderResponse, None]: ...
    @overload
    def __call__(
        self,
        event: Literal["credential_disabled"],
        call: EventFunction[x.CredentialDisabled, None] | None = None,
        /,
    ) -> Subscription[x.CredentialDisabled, None]: ...
    @overload
    def __call__(
        self, event: Literal["goal_updated"], call: EventFunction[x.GoalUpdated, None] | None = None, /
    ) -> Subscription[x.GoalUpdated, None]: ...
    @overload
    def __call__(
        self, event: Literal["input"], call: EventFunction[x.UserInput, str | x.Deny] | None = None, /
    ) -> Subscription[x.UserInput, str | x.Deny]: ...
    @overload
    def __call__(
        self,
        event: Literal["before_agent_start"],
        call: EventFunction[x.BeforeAgentStart, x.RunSetup] | None = None,
        /,
    ) -> Subscription[x.BeforeAgentStart, x.RunSetup]: ...
    @overload
    def __call__(
        self,
        event: Literal["context"],
        call: EventFunction[x.ContextEvent, list[AppMessage]] | None = None,
        /,
    ) -> Subscription[x.ContextEvent, list[AppMessage]]: ...
    @overload
    def __call__(
        self,
        event: Literal["before_provider_request"],
        call: EventFunction[x.BeforeProviderRequest, Request] | None = None,
        /,
    ) -> Subscription[x.BeforeProviderRequest, Request]: ...
    @overload
    def __call__(
        self,
        event: Literal["before_provider_headers"],
        call: EventFunction[x.BeforeProviderHeaders, dict[str, str]] | None = None,
        /,
    ) -> Subscription[x.BeforeProviderHeaders, dict[str, str]]: ...
    @overload
    def __call__(
        self, event: Literal["tool_call"], call: EventFunction[x.ToolCallEvent, x.Deny] | None = None, /
    ) -> Subscription[x.ToolCallEvent, x.Deny]: ...
    @overload
    def __call__(
        self,
        event: Literal["tool_result"],
        call: EventFunction[x.ToolResultEvent, ToolOutput | str] | None = None,
        /,
    ) -> Subscription[x.ToolResultEvent, ToolOutput | str]: ...
    @overload
    def __call__(
        self,
        event: Literal["session_before_compact"],
        call: EventFunction[x.BeforeCompact, x.Deny | x.CompactionReply] | None = None,
        /,
    ) -> Subscription[x.BeforeCompact, x.Deny | x.CompactionReply]: ...
    @overload
    def __call__(
        self,
        event: Literal["session.compacting"],
        call: EventFunction[x.BeforeCompact, x.CompactionReply] | None = None,
        /,
    ) -> Subscription[x.BeforeCompact, x.CompactionReply]: ...
    @overload
    def __call__(
        self,
        event: Literal["session_before_switch"],
        call: EventFunction[x.BeforeLeave, x.Deny] | None = None,
        /,
    ) -> Subscription[x.BeforeLeave, x.Deny]: ...
    @overload
    def __call__(
        self,
        event: Literal["session_before_branch"],
        call: EventFunction[x.BeforeLeave, x.Deny] | None = None,
        /,
    ) -> Subscription[x.BeforeLeave, x.Deny]: ...
    @overload
    def __call__(
        self,
        event: Literal["session_before_tree"],
        call: EventFunction[x.BeforeTree, x.Deny] | None = None,
        /,
    ) -> Subscription[x.BeforeTree, x.Deny]: ...
    @overload
    def __call__(
        self, event: Literal["user_bash"], call: EventFunction[x.UserCode, str | x.Deny] | None = None, /
    ) -> Subscription[x.UserCode, str | x.Deny]: ...
    @overload
    def __call__(
        self, event: Literal["user_python"], call: EventFunction[x.UserCode, str | x.Deny] | None = None, /
    ) -> Subscription[x.UserCode, str | x.Deny]: ...
    @overload
    def __call__(
        self, event: Literal["project_trust"], call: EventFunction[x.ProjectTrust, bool] | None = None, /
    ) -> Subscription[x.ProjectTrust, bool]: ...
    @overload
    def __call__(
        self,
        event: Literal["resources_discover"],
        call: EventFunction[x.ResourcesDiscover, x.ResourcePaths] | None = None,
        /,
    ) -> Subscription[x.ResourcesDiscover, x.ResourcePaths]: ...
