"""The copy of a repository that an isolated agent works in."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tau.base.errors import ToolError
from tau.base.run import Runner

if TYPE_CHECKING:
    from tau.coding.task.results import AgentOutcome
    from tau.coding.task.subagent import Subagent
    from tau.coding.task.team import Team


async def require_repository(cwd: Path) -> None:
    raise ToolError("Isolated task execution requires a git repository.")


class AgentWorkspace:
    usable = False
    wrap_runner: Callable[[Runner], Runner] | None = None

    def __init__(self, team: "Team", agent: "Subagent") -> None:
        self.cwd = Path(agent.record.cwd)

    async def finish(self, agent: "Subagent", outcome: "AgentOutcome") -> dict[str, Any]:
        return {}

    async def apply(self) -> str:
        return ""

    async def discard(self) -> str:
        return ""

    async def diff(self) -> str:
        return ""
