"""The type of `tau.on`: for each event, what its handlers get and may return."""

from collections.abc import Awaitable, Callable
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, overload
from typing import Literal as L

from tau.agent import events as e
from tau.agent.output import ToolOutput
from tau.ai.dialect import Request
from tau.ai.wire import AppMessage
from tau.ext.extensions import events as x
from tau.ext.extensions.context import ExtensionContext

E = TypeVar("E")
R = TypeVar("R")
EventFunction: TypeAlias = Callable[[E, ExtensionContext], R | Awaitable[R | None] | None]


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


On: TypeAlias = EventFunction[E, None] | None
Sub: TypeAlias = Subscription[E, None]
Ask: TypeAlias = EventFunction[E, R] | None


class EventRegistrar(Protocol):
    """An overload for each event, or for several of one type."""

    @overload
    def __call__(self, name: L["agent_start"], f: On[e.AgentStart] = ..., /) -> Sub[e.AgentStart]: ...
    @overload
    def __call__(self, name: L["agent_end"], f: On[e.AgentEnd] = ..., /) -> Sub[e.AgentEnd]: ...
    @overload
    def __call__(self, name: L["agent_settled"], f: On[e.AgentSettled] = ..., /) -> Sub[e.AgentSettled]: ...
    @overload
    def __call__(self, name: L["turn_start"], f: On[e.TurnStart] = ..., /) -> Sub[e.TurnStart]: ...
    @overload
    def __call__(self, name: L["turn_end"], f: On[e.TurnEnd] = ..., /) -> Sub[e.TurnEnd]: ...
    @overload
    def __call__(self, name: L["message_start"], f: On[e.MessageStart] = ..., /) -> Sub[e.MessageStart]: ...
    @overload
    def __call__(
        self, name: L["message_update"], f: On[e.MessageUpdate] = ..., /
    ) -> Sub[e.MessageUpdate]: ...
    @overload
    def __call__(self, name: L["message_end"], f: On[e.MessageEnd] = ..., /) -> Sub[e.MessageEnd]: ...
    @overload
    def __call__(self, name: L["tool_execution_start"], f: On[e.ToolStart] = ..., /) -> Sub[e.ToolStart]: ...
    @overload
    def __call__(
        self, name: L["tool_execution_update"], f: On[e.ToolUpdate] = ..., /
    ) -> Sub[e.ToolUpdate]: ...
    @overload
    def __call__(self, name: L["tool_execution_end"], f: On[e.ToolEnd] = ..., /) -> Sub[e.ToolEnd]: ...
    @overload
    def __call__(self, name: L["auto_retry_start"], f: On[e.RetryStart] = ..., /) -> Sub[e.RetryStart]: ...
    @overload
    def __call__(self, name: L["auto_retry_end"], f: On[e.RetryEnd] = ..., /) -> Sub[e.RetryEnd]: ...
    @overload
    def __call__(
        self, name: L["auto_compaction_start"], f: On[e.CompactionStart] = ..., /
    ) -> Sub[e.CompactionStart]: ...
    @overload
    def __call__(
        self, name: L["auto_compaction_end"], f: On[e.CompactionEnd] = ..., /
    ) -> Sub[e.CompactionEnd]: ...
    @overload
    def __call__(self, name: L["session_compact"], f: On[e.Compacted] = ..., /) -> Sub[e.Compacted]: ...
    @overload
    def __call__(self, name: L["todo_reminder"], f: On[e.TodoReminder] = ..., /) -> Sub[e.TodoReminder]: ...
    @overload
    def __call__(
        self, name: L["ttsr_triggered"], f: On[e.RulesTriggered] = ..., /
    ) -> Sub[e.RulesTriggered]: ...
    @overload
    def __call__(self, name: L["model_select"], f: On[e.ModelChanged] = ..., /) -> Sub[e.ModelChanged]: ...
    @overload
    def __call__(
        self, name: L["thinking_level_select"], f: On[e.ThinkingLevelChanged] = ..., /
    ) -> Sub[e.ThinkingLevelChanged]: ...
    @overload
    def __call__(
        self, name: L["session_start", "session_switch", "session_branch"], f: On[x.SessionStart] = ..., /
    ) -> Sub[x.SessionStart]: ...
    @overload
    def __call__(
        self, name: L["session_shutdown"], f: On[x.SessionShutdown] = ..., /
    ) -> Sub[x.SessionShutdown]: ...
    @overload
    def __call__(self, name: L["session_tree"], f: On[x.TreeMoved] = ..., /) -> Sub[x.TreeMoved]: ...
    @overload
    def __call__(
        self, name: L["after_provider_response"], f: On[x.ProviderResponse] = ..., /
    ) -> Sub[x.ProviderResponse]: ...
    @overload
    def __call__(
        self, name: L["credential_disabled"], f: On[x.CredentialDisabled] = ..., /
    ) -> Sub[x.CredentialDisabled]: ...
    @overload
    def __call__(self, name: L["goal_updated"], f: On[x.GoalUpdated] = ..., /) -> Sub[x.GoalUpdated]: ...
    @overload
    def __call__(
        self, name: L["input"], f: Ask[x.UserInput, str | x.Deny] = ..., /
    ) -> Subscription[x.UserInput, str | x.Deny]: ...
    @overload
    def __call__(
        self, name: L["before_agent_start"], f: Ask[x.BeforeAgentStart, x.RunSetup] = ..., /
    ) -> Subscription[x.BeforeAgentStart, x.RunSetup]: ...
    @overload
    def __call__(
        self, name: L["context"], f: Ask[x.ContextEvent, list[AppMessage]] = ..., /
    ) -> Subscription[x.ContextEvent, list[AppMessage]]: ...
    @overload
    def __call__(
        self, name: L["before_provider_request"], f: Ask[x.BeforeProviderRequest, Request] = ..., /
    ) -> Subscription[x.BeforeProviderRequest, Request]: ...
    @overload
    def __call__(
        self, name: L["before_provider_headers"], f: Ask[x.BeforeProviderHeaders, dict[str, str]] = ..., /
    ) -> Subscription[x.BeforeProviderHeaders, dict[str, str]]: ...
    @overload
    def __call__(
        self, name: L["tool_call"], f: Ask[x.ToolCallEvent, x.Deny] = ..., /
    ) -> Subscription[x.ToolCallEvent, x.Deny]: ...
    @overload
    def __call__(
        self, name: L["tool_result"], f: Ask[x.ToolResultEvent, ToolOutput | str] = ..., /
    ) -> Subscription[x.ToolResultEvent, ToolOutput | str]: ...
    @overload
    def __call__(
        self, name: L["session_before_compact"], f: Ask[x.BeforeCompact, x.Deny | x.CompactionReply] = ..., /
    ) -> Subscription[x.BeforeCompact, x.Deny | x.CompactionReply]: ...
    @overload
    def __call__(
        self, name: L["session.compacting"], f: Ask[x.BeforeCompact, x.CompactionReply] = ..., /
    ) -> Subscription[x.BeforeCompact, x.CompactionReply]: ...
    @overload
    def __call__(
        self,
        name: L["session_before_switch", "session_before_branch"],
        f: Ask[x.BeforeLeave, x.Deny] = ...,
        /,
    ) -> Subscription[x.BeforeLeave, x.Deny]: ...
    @overload
    def __call__(
        self, name: L["session_before_tree"], f: Ask[x.BeforeTree, x.Deny] = ..., /
    ) -> Subscription[x.BeforeTree, x.Deny]: ...
    @overload
    def __call__(
        self, name: L["user_bash", "user_python"], f: Ask[x.UserCode, str | x.Deny] = ..., /
    ) -> Subscription[x.UserCode, str | x.Deny]: ...
    @overload
    def __call__(
        self, name: L["project_trust"], f: Ask[x.ProjectTrust, bool] = ..., /
    ) -> Subscription[x.ProjectTrust, bool]: ...
    @overload
    def __call__(
        self, name: L["resources_discover"], f: Ask[x.ResourcesDiscover, x.ResourcePaths] = ..., /
    ) -> Subscription[x.ResourcesDiscover, x.ResourcePaths]: ...
