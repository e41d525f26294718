"""What handlers get and may answer, besides the events of a session (`tau.agent.events`)."""

from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from tau.agent import events as e
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.ai.dialect import Request
from tau.ai.model import Model
from tau.ai.wire import AppMessage, ToolCall, UserMessage

StartReason = Literal["startup", "new", "resume", "fork", "reload"]
StopReason = Literal["quit", "switch", "reload"]


class Deny(Struct, frozen=True):
    """The answer that refuses: a tool call, a message, a command, a compaction, another session."""

    reason: str = ""


class SessionStart(Struct, frozen=True):
    reason: StartReason
    previous: str = ""  # the file of the session before, if known


class SessionShutdown(Struct, frozen=True):
    reason: StopReason


class TreeMoved(Struct, frozen=True):
    """The session continues from another entry of its tree."""

    old_leaf: str | None
    new_leaf: str | None


class UserInput(Struct, frozen=True):
    """Return a text to replace it, or a Deny."""

    text: str
    message: UserMessage


class BeforeAgentStart(Struct, frozen=True):
    prompt: str
    system_prompt: str


class RunSetup(Struct, frozen=True, kw_only=True):
    """`system_prompt` replaces it for this run; `note` is a message to the model, before the user's."""

    system_prompt: str | None = None
    note: str | None = None


class ContextEvent(Struct, frozen=True):
    """The history of a request; return another list to replace it."""

    messages: list[AppMessage]


class BeforeProviderRequest(Struct, frozen=True):
    """Return another Request to replace it."""

    request: Request


class BeforeProviderHeaders(Struct, frozen=True):
    """Return headers to add."""

    model: Model
    headers: dict[str, str]


class ProviderResponse(Struct, frozen=True):
    """A server has accepted a request and answers."""

    model: Model
    status: int
    headers: dict[str, str]


class ToolCallEvent(Struct, frozen=True):
    """A call that is about to run; return a Deny to refuse it."""

    call: ToolCall
    tool: Tool[Any]

    @property
    def name(self) -> str:
        return self.call.name

    @property
    def arguments(self) -> dict[str, Any]:
        return self.call.arguments


class ToolResultEvent(Struct, frozen=True):
    """Return a ToolOutput to replace it, or a text."""

    call: ToolCall
    output: ToolOutput


class BeforeCompact(Struct, frozen=True):
    """Return a Deny to refuse it, or a CompactionReply."""

    messages: list[AppMessage]


class CompactionReply(Struct, frozen=True, kw_only=True):
    """`summary` is used instead of asking a model; `focus` tells the model what to keep."""

    summary: str = ""
    focus: str = ""


class BeforeLeave(Struct, frozen=True):
    """Another session replaces this one; return a Deny to stay."""

    kind: Literal["new", "resume", "fork"]
    target: str


class BeforeTree(Struct, frozen=True):
    target: str


class UserCode(Struct, frozen=True):
    """A line of the user's, for the shell or for Python. Return a text to run instead, or a Deny."""

    code: str


class ProjectTrust(Struct, frozen=True):
    """Return False to keep a trusted repository's code from running this time."""

    root: Path


class ResourcesDiscover(Struct, frozen=True):
    """Return ResourcePaths."""

    cwd: Path


class ResourcePaths(Struct, frozen=True, kw_only=True):
    """More folders: of skills (`NAME/SKILL.md`), of commands (`NAME.md`)."""

    skills: tuple[Path, ...] = ()
    commands: tuple[Path, ...] = ()


class CredentialDisabled(Struct, frozen=True):
    """A server refused a stored key, which is not used anymore."""

    provider: str
    reason: str


class GoalUpdated(Struct, frozen=True):
    """The goal of the session changed."""

    goal: str


FACTS: dict[type, tuple[str, ...]] = {
    e.AgentStart: ("agent_start",),
    e.AgentEnd: ("agent_end",),
    e.AgentSettled: ("agent_settled",),
    e.TurnStart: ("turn_start",),
    e.TurnEnd: ("turn_end",),
    e.MessageStart: ("message_start",),
    e.MessageUpdate: ("message_update",),
    e.MessageEnd: ("message_end",),
    e.ToolStart: ("tool_execution_start",),
    e.ToolUpdate: ("tool_execution_update",),
    e.ToolEnd: ("tool_execution_end",),
    e.RetryStart: ("auto_retry_start",),
    e.RetryEnd: ("auto_retry_end",),
    e.CompactionStart: ("auto_compaction_start",),
    e.CompactionEnd: ("auto_compaction_end",),
    e.Compacted: ("session_compact",),
    e.TodoReminder: ("todo_reminder",),
    e.RulesTriggered: ("ttsr_triggered",),
    e.ModelChanged: ("model_select",),
    e.ThinkingLevelChanged: ("thinking_level_select",),
}
"""The events of a session that handlers may ask for, by their names for extensions."""

OWN_FACTS: dict[str, type] = {
    "session_start": SessionStart,
    "session_shutdown": SessionShutdown,
    "session_switch": SessionStart,
    "session_branch": SessionStart,
    "session_tree": TreeMoved,
    "after_provider_response": ProviderResponse,
    "credential_disabled": CredentialDisabled,
    "goal_updated": GoalUpdated,
}
QUESTIONS: dict[str, tuple[type, tuple[type, ...]]] = {
    "input": (UserInput, (str, Deny)),
    "before_agent_start": (BeforeAgentStart, (RunSetup,)),
    "context": (ContextEvent, (list,)),
    "before_provider_request": (BeforeProviderRequest, (Request,)),
    "before_provider_headers": (BeforeProviderHeaders, (dict,)),
    "tool_call": (ToolCallEvent, (Deny,)),
    "tool_result": (ToolResultEvent, (ToolOutput, str)),
    "session_before_compact": (BeforeCompact, (Deny, CompactionReply)),
    "session.compacting": (BeforeCompact, (CompactionReply,)),
    "session_before_switch": (BeforeLeave, (Deny,)),
    "session_before_branch": (BeforeLeave, (Deny,)),
    "session_before_tree": (BeforeTree, (Deny,)),
    "user_bash": (UserCode, (str, Deny)),
    "user_python": (UserCode, (str, Deny)),
    "project_trust": (ProjectTrust, (bool,)),
    "resources_discover": (ResourcesDiscover, (ResourcePaths,)),
}
"""What handlers get, and may return besides None."""
EVENT_NAMES = frozenset((*(name for names in FACTS.values() for name in names), *OWN_FACTS, *QUESTIONS))


def wrong_answer(event: str, answer: object) -> str:
    wanted = " or ".join(["None", *(one.__name__ for one in QUESTIONS[event][1])])
    return f"it returned {type(answer).__name__}, not {wanted}"
