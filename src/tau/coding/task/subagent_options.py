"""What a session of an agent gets from the team that starts it, instead of making it itself."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from tau.agent.events import AgentEvent
from tau.agent.hooks import Hooks
from tau.agent.loop_owner import StreamFunction
from tau.agent.tool import Tool
from tau.agent.ui import Ui
from tau.ai.model import Model, ThinkingLevel
from tau.base.run import Runner
from tau.coding.approval.session_permissions import SessionPermissions
from tau.coding.artifacts import FolderArtifacts
from tau.coding.plan.mode import PlanMode
from tau.coding.ports import CodingDialogs
from tau.coding.session.storage.log import SessionLog

if TYPE_CHECKING:
    from tau.coding.session.session import Session
    from tau.coding.task.team import Team

OFF = ["async", "bash.autoBackground", "todo", "checkpoint", "titles"]
AGENT_SETTINGS: dict[str, Any] = {f"{name}.enabled": False for name in OFF}
"""An agent works in the foreground: what it starts ends with its call."""


class SubagentOptions(Struct, frozen=True, kw_only=True):
    """`kind` is the name of its definition; `log` opens its own log. `wrap_runner` and `workspace` are of an
    isolated agent.
    """

    id: str
    kind: str
    depth: int
    team: "Team"
    log: Callable[[], SessionLog]
    artifacts: FolderArtifacts
    cwd: Path
    model: Model
    thinking: ThinkingLevel
    tools: Sequence[str]
    add_tools: Sequence[Tool[Any]]
    system: str
    cache_key: str
    permissions: Callable[[PlanMode, SessionLog, Callable[[AgentEvent], None]], SessionPermissions]
    gate: Callable[[StreamFunction], StreamFunction]
    hooks: Hooks
    ui: Ui | None = None
    dialogs: CodingDialogs | None = None
    trusted: bool = False
    add_dirs: Sequence[Path] = ()
    settings: dict[str, Any] = {}
    wrap_runner: Callable[[Runner], Runner] | None = None


class AgentSessions(Protocol):
    """Opens the session of a subagent; passed in by the composition root, which nothing here imports."""

    def __call__(self, subagent: SubagentOptions) -> "AbstractAsyncContextManager[Session]": ...
